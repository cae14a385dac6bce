#include "scenarios/read/study_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/jobs/checkpoints.hpp"
#include "sim/nodes/node_events.hpp"

namespace rehearse::scenarios {

namespace {

using policies::PolicySpec;
using policies::StrategyChoice;

bool same(const StrategyChoice& a, const StrategyChoice& b) {
  const auto same_partition = [](const policies::Partition& x, const policies::Partition& y) {
    return x.name == y.name && x.users == y.users && x.quota == y.quota;
  };
  return a.name == b.name && a.parameters == b.parameters && a.network == b.network && a.outside == b.outside &&
         std::equal(a.partitions.begin(), a.partitions.end(), b.partitions.begin(), b.partitions.end(), same_partition);
}

/// Do all policies have this in common?
template <class Same>
bool shared(const Scenario& scenario, Same&& same_as) {
  return std::all_of(scenario.policies.begin(), scenario.policies.end(),
                     [&](const PolicySpec& spec) { return same_as(spec, scenario.policies.front()); });
}

bool all_rigid(const Scenario& scenario) {
  return scenario.generators.empty() && !scenario.jobs.empty() &&
         std::all_of(scenario.jobs.begin(), scenario.jobs.end(),
                     [](const sim::Job& job) { return job.work == sim::Work::rigid; });
}

bool writes_checkpoints(const Scenario& scenario) {
  return scenario.checkpoints.young_daly || scenario.checkpoints.interval_s != sim::kNever ||
         std::any_of(scenario.jobs.begin(), scenario.jobs.end(),
                     [](const sim::Job& job) { return job.checkpoint_interval_s > 0; });
}

}  // namespace

report::StudyKinds kinds_of(const Scenario& scenario) {
  const bool rigid = all_rigid(scenario);
  const bool one_configure = shared(
      scenario, [](const PolicySpec& a, const PolicySpec& b) { return same(a.configure, b.configure) && a.free == b.free; });
  const bool one_queue = shared(scenario, [](const PolicySpec& a, const PolicySpec& b) { return same(a.queue, b.queue); });
  const bool one_plan = shared(
      scenario, [](const PolicySpec& a, const PolicySpec& b) { return same(a.place, b.place) && same(a.threads, b.threads); });
  return {.queue = rigid || one_configure || !one_queue,
          .configuration = !rigid && (!one_configure || !one_plan || scenario.policies.size() < 2),
          .nodes = sim::has_node_events(scenario.cluster, scenario.nodes) || writes_checkpoints(scenario)};
}

void warn_of_free_preemption(sim::ObjectReader& in, Scenario& scenario) {
  const auto switching = in.has("switching") ? in.child("switching") : std::nullopt;
  if (switching && switching->is_object())
    for (const sim::JsonMember& member : switching->members())
      if (member.key.text() == kRigidJobsSwitch) return;
  if (std::none_of(scenario.jobs.begin(), scenario.jobs.end(), [](const sim::Job& job) { return job.work == sim::Work::rigid; }))
    return;
  std::vector<std::string> names;
  for (const PolicySpec& spec : scenario.policies)
    if (policies::may_preempt(spec.queue)) names.push_back(spec.name);
  if (names.empty()) return;
  scenario.warnings.push_back(fmt::format(
      "{} may stop rigid jobs, and that costs nothing: with \"switching\": {{\"{}\": true}} it takes them start_s and "
      "checkpoint_s, as it does other jobs; false says that it is meant",
      fmt::join(names, ", "), kRigidJobsSwitch));
}

}  // namespace rehearse::scenarios
