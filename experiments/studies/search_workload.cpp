#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "experiments/studies/search_parts.hpp"
#include "policies/registry/bundle.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/units.hpp"
#include "sim/replay/replay.hpp"
#include "traces/jobs/job_list.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kNan;

ClusterFigures figures_of(const ScheduleLog& log, const policies::SearchJobs& search,
                          const policies::SearchJobsSettings& settings, const sim::Cluster& cluster) {
  ClusterFigures f{.gpu_hours = search.device_s() / 3600, .cost_usd = search.usd(), .faults = faults_in(log.rows(), cluster)};
  const double lasted_s = search.evaluations().empty() ? 0 : search.evaluations().back().time_s;
  f.search_h = lasted_s / 3600;
  f.utilization = held_fraction(log.rows(), cluster, settings.submit_s, settings.submit_s + lasted_s);
  std::vector<double> waits, completions;
  for (const ScheduleLog::Ended& job : log.ended()) {
    f.preemptions += job.preemptions;
    if (job.user == settings.user) continue;
    if (!std::isnan(job.start_s)) waits.push_back((job.start_s - job.submit_s) / 3600);
    if (job.finished) completions.push_back((job.end_s - job.submit_s) / 3600);
  }
  f.others_wait_h = report::mean(waits);
  f.others_jct_h = report::mean(completions);
  f.others_finished = static_cast<double>(completions.size());
  return f;
}

/// Pointers to all numbers of the figures, for the way between processes.
std::vector<double*> numbers_of(ClusterFigures& f) {
  return {&f.search_h,      &f.gpu_hours,    &f.cost_usd,        &f.utilization,
          &f.others_wait_h, &f.others_jct_h, &f.others_finished, &f.preemptions};
}

/// In every repetition the hypervolume that all arms come to.
std::vector<double> common_volumes(const SearchQuestion& question, const SpaceOutcome& outcome) {
  std::vector<double> common;
  for (const auto& arm : outcome.searches)
    for (std::size_t r = 0; r < arm.size(); ++r) {
      const double volume = relative_volume(question, outcome.reference, arm[r]);
      if (common.size() <= r) common.push_back(volume);
      common[r] = std::min(common[r], volume);
    }
  return common;
}

/// Hours, by repetition.
std::vector<double> hours_to(const SearchQuestion& question, const SpaceOutcome& outcome, std::size_t arm,
                             const std::vector<double>& volumes) {
  std::vector<double> hours;
  for (std::size_t r = 0; r < volumes.size(); ++r) {
    // A hair less: the arm that sets the volume must not miss it by rounding.
    const policies::Evaluation* first =
        first_to_reach(question, outcome.reference, outcome.searches[arm][r], volumes[r] * (1 - 1e-12));
    hours.push_back(first != nullptr ? first->time_s / 3600 : kNan);
  }
  return hours;
}

}  // namespace

ClusterOutcome search_on_cluster(const Scenario& scenario, const ClusterSearch& search, policies::SearchMethod& method) {
  const std::vector<sim::Job> jobs = scenario.jobs_of(search.repetition);
  const workloads::Belief belief(scenario.cluster, scenario.profile_models);
  const workloads::World world(belief, scenario.world_errors, scenario.seed, search.repetition);
  const policies::RunHistory history;
  policies::Bundle bundle(*search.policy, {.cluster = &scenario.cluster,
                                           .costs = scenario.costs,
                                           .belief = &belief,
                                           .world = &world,
                                           .history = &history,
                                           .manual = &scenario.manual,
                                           .stage_rules = scenario.stages,
                                           .profiling_reuse_jobs = scenario.profiling_reuse_jobs,
                                           .policy_seed = scenario.policy_seed,
                                           .repetition = search.repetition});
  sim::Policy policy = bundle.policy();
  sim::AloneRunner truth(scenario.cluster, scenario.costs, world.models(), policy);
  policies::SearchJobs own({.cluster = &scenario.cluster,
                            .space = search.space,
                            .method = &method,
                            .goals = search.goals,
                            .truth = &truth,
                            .others = policy.configure},
                           search.settings);
  policies::SeeingQueue queue(*policy.queue, own);
  policy.configure = &own;
  // A queue that is told the truth is known to the replay by its type: it stays as it is.
  if (dynamic_cast<sim::OracleQueue*>(policy.queue) == nullptr) policy.queue = &queue;
  traces::VectorSource others(jobs);
  ScheduleLog log(scenario.profile_models);
  sim::NodeRules nodes = scenario.nodes;
  nodes.seed = scenario.seed;
  nodes.repetition = static_cast<std::uint64_t>(search.repetition);
  sim::replay({.cluster = &scenario.cluster,
               .costs = scenario.costs,
               .checkpoints = scenario.checkpoints,
               .nodes = nodes,
               .sharing = scenario.sharing,
               .models = world.models(),
               .policy = policy,
               .sources = {&others, &own},
               .recorder = &log,
               .infeasible = scenario.infeasible,
               .network_solver = scenario.network_solver});
  return {.figures = figures_of(log, own, search.settings, scenario.cluster), .evaluations = own.evaluations()};
}

std::string to_text(const ClusterOutcome& outcome) {
  ClusterFigures f = outcome.figures;
  std::string text = fmt::format("{} {} {}", f.faults.memory_overruns, f.faults.device_overruns, f.faults.priority_inversions);
  for (const double* number : numbers_of(f)) text += fmt::format(" {}", *number);
  return text + "\n" + to_text(outcome.evaluations);
}

ClusterOutcome cluster_outcome_of(const std::string& text) {
  ClusterOutcome outcome;
  const std::size_t line = text.find('\n');
  sim::check(line != std::string::npos, "a search's figures came back whole");
  std::istringstream in(text.substr(0, line));
  ScheduleFaults& faults = outcome.figures.faults;
  in >> faults.memory_overruns >> faults.device_overruns >> faults.priority_inversions;
  for (double* number : numbers_of(outcome.figures)) *number = read_number(in);
  outcome.evaluations = evaluations_of(text.substr(line + 1));
  return outcome;
}

std::vector<ArmFigures> compare_arms(const SearchQuestion& question, const SpaceOutcome& outcome,
                                     const std::vector<std::vector<ClusterFigures>>& figures) {
  const std::vector<double> common = common_volumes(question, outcome);
  const std::vector<double> baseline = hours_to(question, outcome, 0, common);
  std::vector<ArmFigures> arms;
  for (std::size_t arm = 0; arm < outcome.searches.size(); ++arm) {
    const std::vector<double> hours = hours_to(question, outcome, arm, common);
    std::vector<double> ratios, volumes, used;
    for (std::size_t r = 0; r < hours.size(); ++r) {
      ratios.push_back(baseline[r] / hours[r]);
      volumes.push_back(relative_volume(question, outcome.reference, outcome.searches[arm][r]));
      used.push_back(figures[arm][r].utilization);
    }
    arms.push_back({.hypervolume = report::mean(volumes),
                    .hours_to_same = report::mean(hours),
                    .times_faster = report::estimate(ratios),
                    .utilization = report::mean(used)});
    arms.back().utilization_gain_percent = 100 * (arms.back().utilization / arms[0].utilization - 1);
  }
  return arms;
}

report::Table cluster_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes,
                            const std::vector<std::vector<std::vector<ClusterFigures>>>& figures,
                            const std::vector<std::vector<ArmFigures>>& arms) {
  report::Table table{.name = "search-cluster",
                      .title = fmt::format("Searches on the cluster; the same hypervolume is what all come to, times faster "
                                           "and utilisation are held against {}",
                                           question.methods[0]),
                      .columns = {{"space", "space"},
                                  {"arm", "method / policy"},
                                  {"search_h", "hours", "{:.1f}"},
                                  {"gpu_hours", "GPU hours", "{:.1f}"},
                                  {"cost_usd", "$", "{:.0f}"},
                                  {"hypervolume", "hypervolume", "{:.4f}"},
                                  {"hours_to_same", "hours to the same", "{:.2f}"},
                                  {"times_faster", "times faster", "{:.1f}"},
                                  {"times_faster_ci95_low", "from", "{:.1f}"},
                                  {"times_faster_ci95_high", "to", "{:.1f}"},
                                  {"utilization_percent", "utilisation, %", "{:.1f}"},
                                  {"utilization_gain_percent", "gain, %", "{:+.1f}"},
                                  {"others_wait_h", "others wait, h", "{:.2f}"},
                                  {"others_jct_h", "others' JCT, h", "{:.2f}"},
                                  {"preemptions", "preemptions", "{:g}"},
                                  {"memory_overruns", "memory overruns", "{:g}"},
                                  {"device_overruns", "device overruns", "{:g}"},
                                  {"priority_inversions", "inversions", "{:g}"}}};
  for (std::size_t s = 0; s < outcomes.size(); ++s) {
    const auto mean = [&](std::size_t arm, const auto& field) {
      std::vector<double> values;
      for (const ClusterFigures& f : figures[s][arm]) values.push_back(static_cast<double>(field(f)));
      return report::mean(values);
    };
    for (std::size_t arm = 0; arm < question.methods.size(); ++arm) {
      const ArmFigures& all = arms[s][arm];
      table.rows.push_back({outcomes[s].space->name, question.methods[arm],
                            mean(arm, [](const ClusterFigures& f) { return f.search_h; }),
                            mean(arm, [](const ClusterFigures& f) { return f.gpu_hours; }),
                            mean(arm, [](const ClusterFigures& f) { return f.cost_usd; }), all.hypervolume, all.hours_to_same,
                            all.times_faster.mean, all.times_faster.ci95_low, all.times_faster.ci95_high, 100 * all.utilization,
                            all.utilization_gain_percent, mean(arm, [](const ClusterFigures& f) { return f.others_wait_h; }),
                            mean(arm, [](const ClusterFigures& f) { return f.others_jct_h; }),
                            mean(arm, [](const ClusterFigures& f) { return f.preemptions; }),
                            mean(arm, [](const ClusterFigures& f) { return f.faults.memory_overruns; }),
                            mean(arm, [](const ClusterFigures& f) { return f.faults.device_overruns; }),
                            mean(arm, [](const ClusterFigures& f) { return f.faults.priority_inversions; })});
    }
  }
  return table;
}

}  // namespace rehearse::scenarios
