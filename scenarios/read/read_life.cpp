// What jobs and nodes go through: checkpoints, failures, slow nodes, maintenance.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "sim/io/file.hpp"
#include "sim/jobs/job.hpp"
#include "traces/jobs/trace_job.hpp"
#include "traces/nodes/availability.hpp"

namespace rehearse::scenarios {

namespace {

using sim::between;
using traces::kDates;
using traces::kDurations;

const std::vector<std::string> kIntervals{"young-daly"};
const std::vector<std::string> kPreemption{"resume", "lose"};
const std::vector<std::string> kLaws{"exponential", "weibull"};
const std::vector<std::string> kRepairs{"exponential", "fixed"};
constexpr sim::NumberRange kSpeeds{.low = 1e-3, .high = 1};

void read_checkpoint(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("checkpoint");
  if (!value) return;
  sim::ObjectReader checkpoint(*value, mistakes);
  sim::CheckpointRules& rules = scenario.checkpoints;
  rules.interval_s =
      checkpoint.maybe_number("interval_s", between(sim::kLeastCheckpointInterval_s, traces::kLastDate_s)).value_or(sim::kNever);
  rules.young_daly = checkpoint.has("interval");
  if (rules.young_daly) checkpoint.choice("interval", kIntervals);
  rules.write_s = checkpoint.maybe_number("write_s", between(0, 1e6)).value_or(sim::kUnset);
  rules.preemption = static_cast<sim::Preemption>(checkpoint.choice("preemption", kPreemption, 0));
  checkpoint.finish();
  if (rules.young_daly && rules.interval_s != sim::kNever) value->refuse("one of interval_s and interval", mistakes);
  const double write_s = std::isnan(rules.write_s) ? scenario.costs.checkpoint_s : rules.write_s;
  if (rules.young_daly && write_s == 0)
    value->refuse("a write_s above 0 for the interval young-daly: checkpoints that take no time would never stop", mistakes);
}

void read_outages_file(sim::JsonValue value, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  const std::string path = paths.resolve(value, mistakes);
  if (path.empty()) return;
  try {
    scenario.nodes.measured = traces::read_outages(path, scenario.cluster);
    scenario.sha256_of_file[std::string(value.text())] = sim::sha256_of_file(path);
  } catch (const sim::InputError& error) {
    add_at(value, error, mistakes);
  }
}

void read_failures(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("failures");
  if (!value) return;
  sim::ObjectReader failures(*value, mistakes);
  sim::Outages& outages = scenario.nodes.outages;
  const bool weibull = failures.choice("law", kLaws, 0) == 1;
  outages.mtbf_s = failures.maybe_number("mtbf_s", {.low = 1, .high = traces::kLastDate_s}).value_or(sim::kNever);
  outages.shape = failures.number("shape", between(0.1, 100), outages.shape);
  outages.repair = static_cast<sim::RepairLaw>(failures.choice("repair", kRepairs, 0));
  outages.repair_s = failures.number("repair_s", {.low = 1, .high = traces::kLastDate_s}, 3600.0);
  if (outages.mtbf_s != sim::kNever) outages.law = weibull ? sim::FailureLaw::weibull : sim::FailureLaw::exponential;
  scenario.nodes.max_restarts = static_cast<int>(failures.integer("max_restarts", between(0, 1e6), scenario.nodes.max_restarts));
  if (const auto file = failures.child("file")) read_outages_file(*file, paths, scenario, mistakes);
  failures.finish();
  if (!failures.has("mtbf_s") && !failures.has("file")) value->refuse("mtbf_s, a file of measured failures, or both", mistakes);
  if (failures.has("shape") && !weibull) value->refuse("law weibull for the shape", mistakes);
}

void read_stragglers(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("stragglers");
  if (!value) return;
  sim::ObjectReader stragglers(*value, mistakes);
  scenario.nodes.slow = {.between_s = stragglers.number("between_s", {.low = 1, .high = traces::kLastDate_s}),
                         .lasts_s = stragglers.number("lasts_s", {.low = 1, .high = traces::kLastDate_s}),
                         .speed = stragglers.number("speed", kSpeeds)};
  stragglers.finish();
}

void read_window(sim::JsonValue value, Scenario& scenario, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Maintenance window;
  const std::vector<std::string> pools = pool_names(scenario.cluster);
  const std::string name = in.text("pool");
  const auto pool = std::find(pools.begin(), pools.end(), name);
  const int nodes = pool == pools.end() ? 1 : scenario.cluster.pools[static_cast<std::size_t>(pool - pools.begin())].nodes;
  if (pool == pools.end() && !name.empty()) known_name(*in.child("pool"), name, pools, "pool", mistakes);
  window.pool = pool == pools.end() ? 0 : static_cast<int>(pool - pools.begin());
  window.first_node = static_cast<int>(in.integer("first_node", between(0, 1e6), 0));
  window.nodes = static_cast<int>(in.integer("nodes", between(1, 1e6), std::max(1, nodes - window.first_node)));
  window.start_s = in.number("start_s", kDates);
  window.duration_s = in.number("duration_s", kDurations);
  window.announced_s = in.number("announced_s", kDates, 0.0);
  window.every_s = in.maybe_number("every_s", kDurations).value_or(sim::kNever);
  in.finish();
  if (pool != pools.end() && window.first_node + window.nodes > nodes)
    value.refuse(fmt::format("nodes among the {} of the pool, from 0", nodes), mistakes);
  if (window.every_s <= window.announced_s + window.duration_s)
    value.refuse("an every_s above announced_s + duration_s", mistakes);
  scenario.nodes.maintenance.push_back(window);
}

bool fails_sometimes(const Scenario& scenario) {
  const std::vector<sim::Pool>& pools = scenario.cluster.pools;
  for (std::size_t p = 0; p < pools.size(); ++p)
    if (sim::failure_rate(scenario.cluster, scenario.nodes, static_cast<sim::PoolId>(p)) > 0) return true;
  return false;
}

}  // namespace

void read_life(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  read_checkpoint(in, scenario, mistakes);
  read_failures(in, paths, scenario, mistakes);
  read_stragglers(in, scenario, mistakes);
  for (const sim::JsonValue window : in.list("maintenance")) read_window(window, scenario, mistakes);
  if (scenario.checkpoints.young_daly && !fails_sometimes(scenario))
    scenario.warnings.push_back("checkpoint.interval is young-daly, but no node fails: there are no periodic checkpoints");
}

// How jobs that share a GPU slow each other down.

namespace {

constexpr sim::NumberRange kSlowdowns{.low = 1, .high = 1000};

/// Two elements of a list, each read by `read`; a mistake when there are not two.
template <class T, class Read>
std::array<T, 2> read_pair(sim::ObjectReader& in, std::string_view key, std::string_view expected, sim::Mistakes& mistakes,
                           Read&& read) {
  std::array<T, 2> pair{};
  const auto value = in.required(key, expected);
  if (!value) return pair;
  if (value->is_array() && value->size() != 2) {
    value->refuse(std::string(expected), mistakes);
    return pair;
  }
  std::size_t i = 0;
  for (const sim::JsonValue element : sim::read_list(*value, mistakes)) pair[i++] = read(element);
  return pair;
}

void read_interference(sim::JsonValue value, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const auto models = read_pair<std::string>(in, "models", "the names of two models", mistakes, [&](sim::JsonValue name) {
    const std::string text(sim::read_text(name, mistakes));
    if (!text.empty()) known_name(name, text, model_names(own), "model", mistakes);
    return text;
  });
  const auto slowdown = read_pair<double>(in, "slowdown", "two numbers, one for each of the models", mistakes,
                                          [&](sim::JsonValue number) { return sim::read_number(number, kSlowdowns, mistakes); });
  in.finish();
  scenario.sharing.set(models[0], models[1], slowdown[0]);
  if (models[0] != models[1])
    scenario.sharing.set(models[1], models[0], slowdown[1]);
  else if (slowdown[0] != slowdown[1])
    value.refuse("the same slowdown twice for two jobs of one model", mistakes);
}

}  // namespace

void read_sharing(sim::ObjectReader& in, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("sharing");
  if (!value) return;
  sim::ObjectReader sharing(*value, mistakes);
  sim::SharingRules& rules = scenario.sharing;
  rules.default_slowdown = sharing.number("default_slowdown", kSlowdowns, rules.default_slowdown);
  for (const sim::JsonValue pair : sharing.list("interference")) read_interference(pair, own, scenario, mistakes);
  sharing.finish();
}

}  // namespace rehearse::scenarios
