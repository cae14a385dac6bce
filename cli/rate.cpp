#include <fmt/format.h>

#include <cmath>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "policies/harness/rate_finder.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/io/csv.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

/// Throws InputError for what is no ramp.
std::vector<policies::RampPoint> read_ramp(const std::string& path) {
  sim::CsvReader reader(path, {.required = {"rate"}, .optional = {"loss", "accuracy"}});
  const bool has_loss = reader.has_column("loss");
  if (has_loss == reader.has_column("accuracy"))
    throw sim::InputError({.file = path, .line = 1, .expected = "a column loss or a column accuracy", .found = "both or none"});
  std::vector<policies::RampPoint> ramp;
  sim::Mistakes mistakes;
  while (sim::CsvRow* row = reader.next()) {
    const double rate = row->number("rate", sim::above(0));
    const double value = has_loss ? -row->number("loss") : row->number("accuracy", sim::between(0, 1));
    if (row->mistakes().empty() && !ramp.empty() && rate <= ramp.back().rate) row->refuse("rate", "a rate above the one before");
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    if (row->mistakes().empty()) ramp.push_back({rate, value});
  }
  mistakes.throw_if_any();
  return ramp;
}

const workloads::ConvergenceParameters& convergence_of(const RateArguments& arguments) {
  const workloads::ZooEntry& entry = workloads::zoo_entry(arguments.model);
  const std::string dataset = arguments.dataset.empty() ? std::string(entry.dataset) : arguments.dataset;
  const auto* found = workloads::find_convergence(arguments.model, dataset);
  if (found == nullptr)
    throw sim::InputError(sim::Mistake{.expected = "a model and a dataset whose accuracy is modelled (rehearse list models)",
                                       .found = arguments.model + " on " + dataset});
  return *found;
}

void print(const std::optional<policies::FoundRate>& found, const std::string& where) {
  if (!found)
    throw sim::InputError({.file = where,
                           .expected = "a ramp of at least 12 readings that rises by more than chance before it diverges",
                           .found = "none"});
  say("learning rate {:.4g}: the middle of {:.4g} to {:.4g}, where the curve is at least half as steep as anywhere\n",
      found->rate, found->low, found->high);
}

}  // namespace

int rate_command(const RateArguments& arguments) {
  if (!arguments.csv.empty()) {
    print(policies::find_rate(read_ramp(arguments.csv)), arguments.csv);
    return kOk;
  }
  const workloads::ConvergenceParameters& convergence = convergence_of(arguments);
  const double batch = arguments.batch > 0 ? arguments.batch : convergence.reference_batch;
  const double best = most_useful_rate(convergence, {}, 0, batch);
  policies::RampSettings settings{.batch = batch, .noise = arguments.noise};
  settings.first_rate = best * 1e-3;  // the ramp must cross it; where it lies, the finder is not told
  settings.last_rate = best * 10;
  settings.random_key = sim::stream_key(static_cast<std::uint64_t>(arguments.seed), 0, "rate finder", convergence.model);
  const std::vector<policies::RampPoint> ramp = simulated_ramp(convergence, settings);
  say("{} on {}, batch {}: {} readings from {:.3g} to {:.3g}\n", convergence.model, convergence.dataset, batch, ramp.size(),
      ramp.front().rate, ramp.back().rate);
  print(policies::find_rate(ramp), convergence.model);
  say("most useful by the simulated training's own equations: {:.4g}\n", best);
  return kOk;
}

}  // namespace rehearse::cli
