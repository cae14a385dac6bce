// Arrival blocks drawn anew for each repetition: the block bootstrap (Kuensch, Annals of Statistics 17(3), 1989) with blocks that
// do not overlap, so that what arrives within a day (its peak, its bursts) stays together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "traces/jobs/job_list.hpp"

namespace rehearse::scenarios {

namespace {

constexpr double kLongestBlock_s = 366 * 24 * sim::kSecondsPerHour;

/// Of jobs by date: the first of each block, and their number at the end.
std::vector<std::size_t> block_starts(const std::vector<sim::Job>& jobs, double block_s) {
  std::vector<std::size_t> starts;
  const double first_s = jobs.front().submit_s;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    while (jobs[j].submit_s - first_s >= static_cast<double>(starts.size()) * block_s) starts.push_back(j);
  starts.push_back(jobs.size());
  return starts;
}

}  // namespace

void read_resampling(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  static const std::vector<std::string> kResample{"none", "blocks"};
  Resampling& rules = scenario.resampling;
  rules.blocks = in.choice("resample", kResample, 0) == 1;
  rules.block_s = in.number("resample_block_s", sim::between(sim::kSecondsPerHour, kLongestBlock_s), rules.block_s);
  if (!rules.blocks && in.has("resample_block_s"))
    in.child("resample_block_s")->refuse("\"resample\": \"blocks\" beside it", mistakes);
  if (!rules.blocks || scenario.jobs.empty()) return;
  const auto refuse = [&](std::string expected) { in.child("resample")->refuse(std::move(expected), mistakes); };
  const auto waits = [](const sim::Job& job) { return !job.after.empty(); };
  if (std::any_of(scenario.jobs.begin(), scenario.jobs.end(), waits))
    refuse("no jobs that wait for others: a block may be drawn without the one that they wait for");
  const double span_s = scenario.jobs.back().submit_s - scenario.jobs.front().submit_s;
  if (span_s < rules.block_s)
    refuse(fmt::format("jobs over more than one block: these arrive within {:.6g} s, and resample_block_s is {:.6g}", span_s,
                       rules.block_s));
}

std::vector<sim::Job> resampled(const std::vector<sim::Job>& jobs, double block_s, std::uint64_t seed, int repetition) {
  if (jobs.empty()) return {};
  const std::vector<std::size_t> starts = block_starts(jobs, block_s);
  const std::size_t blocks = starts.size() - 1;
  sim::Random random(sim::stream_key(seed, static_cast<std::uint64_t>(repetition), "resample", "blocks"));
  std::vector<sim::Job> drawn;
  for (std::size_t place = 0; place < blocks || drawn.empty(); ++place) {  // on, should all be blocks without a job
    const std::size_t block = random.below(blocks);
    const double later_s = (static_cast<double>(place) - static_cast<double>(block)) * block_s;
    for (std::size_t j = starts[block]; j < starts[block + 1]; ++j) {
      sim::Job job = jobs[j];
      job.name += fmt::format("@{}", place);
      job.submit_s = sim::on_date_grid(job.submit_s + later_s);
      drawn.push_back(std::move(job));
    }
  }
  traces::sort_by_date(drawn);
  return drawn;
}

}  // namespace rehearse::scenarios
