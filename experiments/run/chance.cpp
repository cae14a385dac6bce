#include "experiments/run/chance.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace rehearse::scenarios {

bool trains(const Scenario& scenario) {
  return !scenario.generators.empty() || std::any_of(scenario.jobs.begin(), scenario.jobs.end(),
                                                     [](const sim::Job& job) { return job.work != sim::Work::rigid; });
}

namespace {

/// Largest share of the jobs that count of one model, and of jobs of fixed length of one block of arrivals.
double largest_unit_share(const Scenario& scenario, const std::vector<sim::Job>& jobs) {
  constexpr double kDay_s = 86400;
  const double block_s = scenario.resampling.blocks ? scenario.resampling.block_s : kDay_s;
  std::map<const sim::Profile*, double> models;
  std::map<double, double> blocks;
  double all = 0;
  for (const sim::Job& job : jobs) {
    if (scenario.measure && !scenario.measure->has(job.submit_s)) continue;
    ++all;
    const bool trains_model = job.work != sim::Work::rigid;
    if (trains_model) ++models[job.profile];
    // Blocks that are drawn move whatever arrives in them.
    if (!trains_model || scenario.resampling.blocks) ++blocks[std::floor(job.submit_s / block_s)];
  }
  double most = 0;
  for (const auto& [model, count] : models) most = std::max(most, count);
  for (const auto& [block, count] : blocks) most = std::max(most, count);
  return all > 0 ? most / all : 1;
}

/// Whatever a repetition draws: generated jobs have a deadline and a floor, nodes may fail once too often, memory may not
/// suffice.
bool has_limits(const Scenario& scenario) {
  return !scenario.generators.empty() || sim::has_node_events(scenario.cluster, scenario.nodes) ||
         (scenario.world_errors.memory_error > 0 && trains(scenario)) ||
         std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [](const sim::Job& job) {
           return job.has_deadline() || job.has_target() || job.has_cost_limit() || job.has_walltime();
         });
}

}  // namespace

bool has_noise(const Scenario& scenario) {
  const bool has_errors = !scenario.world_errors.none();
  sim::NodeRules drawn = scenario.nodes;  // measured outages and maintenance are the same in every repetition
  drawn.measured.clear();
  drawn.maintenance.clear();
  return (has_errors && trains(scenario)) || sim::has_node_events(scenario.cluster, drawn);
}

report::VerdictTerms verdict_terms(const Scenario& scenario, bool any_ended) {
  const bool noise = has_noise(scenario), workload = scenario.redraws_jobs();
  report::VerdictTerms terms{.reference = scenario.reference,
                             .population = noise && workload ? report::Population::both
                                           : noise           ? report::Population::noise
                                           : workload        ? report::Population::workload
                                                             : report::Population::none,
                             .is_exact = !noise && (!workload || scenario.repetitions == 1),
                             .limits_margin = scenario.limits_margin};
  if (!any_ended) return terms;
  terms.has_limits = has_limits(scenario);
  if (!terms.is_exact) terms.unit_share = largest_unit_share(scenario, workload ? scenario.jobs_of(0) : scenario.jobs);
  return terms;
}

}  // namespace rehearse::scenarios
