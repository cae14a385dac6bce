#include "experiments/studies/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/io/file.hpp"

namespace rehearse::scenarios {

std::vector<double> powers_of_two(int from, int to) {
  std::vector<double> powers;
  for (int i = from; i <= to; ++i) powers.push_back(std::exp2(i));
  return powers;
}

void require_listed_jobs_with_floors(sim::ObjectReader& in, const Scenario& scenario, sim::Mistakes& mistakes) {
  const bool all = std::all_of(scenario.jobs.begin(), scenario.jobs.end(),
                               [](const sim::Job& job) { return job.work == sim::Work::train && job.has_target(); });
  if (!all || !scenario.generators.empty())
    in.value().refuse("\"jobs\" without generators, each with a \"target_accuracy\"", mistakes);
}

std::string file_name(std::string_view name) {
  std::string safe;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    safe += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  if (safe.size() <= kLongestFileNamePart) return safe;
  const std::string fingerprint = sim::sha256_of_text(name).substr(0, 16);  // two long names stay two
  return safe.substr(0, kLongestFileNamePart - fingerprint.size() - 1) + "-" + fingerprint;
}

}  // namespace rehearse::scenarios
