#include "experiments/run/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/number_words.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::scenarios {

namespace {

/// What one thing takes.
struct Bill {
  double memory_bytes = 0, duration_s = 0;
  double events = 0;        ///< lines of events.jsonl
  double events_bytes = 0;  ///< of events.jsonl
  double always_bytes = 0;  ///< jobs.csv and decisions.csv
  double curves_bytes = 0, stages_bytes = 0, predictions_bytes = 0, utilization_bytes = 0, nodes_bytes = 0;
};

// Measured: the release build on one core of a two-core virtual machine, differences between runs of 100, 1,000, 10,000 and
// 100,000 things, at most two digits.
//   kProcess       `run` of one rigid job: max_rss_bytes and run_cpu_s of timing.json
//   kTrainedJob    {"generate": "mixed-cnn-rnn"} at 4 an hour on 20 p3.2xlarge, policy manual
//   kRigidJob      a trace of jobs of one GPU and 600 s, one a second, on 1,000 p3.2xlarge
//   kNodeEvent     1,000 nodes that fail every 100 s or 1,000 s under one job of 100,000 s
//   kNode          a pool of 1,000,000 nodes under one job
constexpr Bill kProcess{.memory_bytes = 27e6, .duration_s = 0.02};
constexpr Bill kTrainedJob{.memory_bytes = 7.8e3,
                           .duration_s = 6.6e-5,
                           .events = 4,
                           .events_bytes = 510,
                           .always_bytes = 480,
                           .curves_bytes = 3700,
                           .stages_bytes = 200,
                           .predictions_bytes = 230,
                           .utilization_bytes = 210,
                           .nodes_bytes = 70};
constexpr Bill kRigidJob{.memory_bytes = 400,
                         .duration_s = 8e-6,
                         .events = 4,
                         .events_bytes = 450,
                         .always_bytes = 150,
                         .utilization_bytes = 210,
                         .nodes_bytes = 60};
constexpr Bill kNodeEvent{.duration_s = 1.4e-6, .events = 1, .events_bytes = 100, .utilization_bytes = 73};
constexpr Bill kNode{.memory_bytes = 12, .duration_s = 1.3e-7};

/// Seconds that a strategy takes for each job and pool; kTrainedJob's run with each policy, 100 and 400 jobs.
struct Deciding {
  std::string_view configure;
  double job_s;
};
constexpr Deciding kDeciding[] = {{"manual", 0},
                                  {"resource-only", 1e-4},
                                  {"batch-only", 1.3e-4},
                                  {"random-search", 1.5e-4},
                                  {"random-feasible", 2e-4},
                                  {"median-feasible", 2e-4},
                                  {"ernest", 3e-4},
                                  {"static-isotonic", 4e-4},
                                  {"bayes-opt", 5e-4},
                                  {"nearest-run", 6e-4},
                                  {"monotone-boosting", 6e-4},
                                  {"oracle", 7e-4},
                                  {"staged-rl", 7e-4},
                                  {"staged-greedy", 2.4e-3},
                                  {"staged-random", 2.6e-3},
                                  {"staged-mpc", 2e-2},
                                  {"least-energy", 2e-2},
                                  {"staged-oracle", 3.2e-2}};
constexpr double kOtherJob_s = 6e-4;  // of a strategy that is not listed

constexpr double kLargeBytes = 1e9, kLarge_s = 600;

double deciding_s(const policies::PolicySpec& policy) {
  for (const Deciding& one : kDeciding)
    if (one.configure == policy.configure.name) return one.job_s;
  return kOtherJob_s;
}

/// How much of a thing there is.
struct Counts {
  double trained = 0, rigid = 0, node_events = 0, nodes = 0;
};

/// Until the last job has ended, if all devices were always busy and every job had one. Training without a bound on it counts for
/// its deadline, or nothing.
double span_s(const Scenario& scenario) {
  double devices = 0, work_s = 0, last_s = 0;
  for (std::size_t p = 0; p < scenario.cluster.pools.size(); ++p)
    devices += static_cast<double>(scenario.cluster.pools[p].nodes) *
               sim::workers_per_node(scenario.cluster, static_cast<sim::PoolId>(p));
  for (const sim::Job& job : scenario.jobs) {
    const double alone_s = job.duration_s > 0 ? job.duration_s : std::isfinite(job.deadline_s) ? job.deadline_s : 0;
    work_s += alone_s * std::max(1, job.gpus);
    last_s = std::max(last_s, job.submit_s + alone_s);
  }
  for (const workloads::GeneratorSettings& generator : scenario.generators)
    last_s = std::max(last_s, generator.first_submit_s + generator.count / generator.arrivals_per_hour * 3600);
  return std::max(last_s, work_s / std::max(1.0, devices));
}

/// Changes a second that happen to a node of the pool: each comes and goes.
double changes_per_s(const Scenario& scenario, const sim::Pool& pool) {
  const sim::NodeRules& rules = scenario.nodes;
  double rate = 2 / (rules.slow.between_s + rules.slow.lasts_s);
  if (rules.outages.law != sim::FailureLaw::none) rate += 2 / (rules.outages.mtbf_s + rules.outages.repair_s);
  if (pool.spot) rate += 3 / (pool.spot->mean_up_s + pool.spot->down_s);  // the warning is one more
  return rate;
}

Counts counts_of(const Scenario& scenario) {
  Counts counts;
  for (const sim::Job& job : scenario.jobs) (job.work == sim::Work::rigid ? counts.rigid : counts.trained) += 1;
  for (const workloads::GeneratorSettings& generator : scenario.generators) counts.trained += generator.count;
  const double span = span_s(scenario);
  for (const sim::Pool& pool : scenario.cluster.pools) {
    counts.nodes += pool.nodes;
    counts.node_events += span * pool.nodes * changes_per_s(scenario, pool);
  }
  for (const sim::Maintenance& window : scenario.nodes.maintenance) counts.node_events += 3 * span / window.every_s + 3;
  return counts;
}

double written_bytes(const Scenario& scenario, const Bill& bill) {
  const OutputSettings& out = scenario.output;
  const double each = bill.always_bytes + out.curves * bill.curves_bytes + out.stages * bill.stages_bytes +
                      out.predictions * bill.predictions_bytes + out.utilization * bill.utilization_bytes +
                      out.nodes * bill.nodes_bytes;
  const double of_events = out.events == Events::all ? scenario.repetitions : out.events == Events::first ? 1 : 0;
  return scenario.repetitions * each + of_events * bill.events_bytes;
}

}  // namespace

RunEstimate estimate_run(const Scenario& scenario, int processes, double points) {
  const Counts counts = counts_of(scenario);
  const auto sum = [&](double Bill::*what) {
    return counts.trained * kTrainedJob.*what + counts.rigid * kRigidJob.*what + counts.node_events * kNodeEvent.*what +
           counts.nodes * kNode.*what;
  };
  const auto policies = static_cast<double>(scenario.policies.size());
  const double runs = policies * scenario.repetitions * std::max(1.0, points);
  const double at_once = std::min(runs, static_cast<double>(std::max(1, processes)));
  double seconds = policies * (kProcess.duration_s + sum(&Bill::duration_s));
  for (const policies::PolicySpec& policy : scenario.policies)
    seconds += counts.trained * deciding_s(policy) * static_cast<double>(scenario.cluster.pools.size());
  RunEstimate estimate{.jobs = counts.trained + counts.rigid, .events = sum(&Bill::events)};
  estimate.memory_bytes = at_once * (kProcess.memory_bytes + sum(&Bill::memory_bytes));
  estimate.duration_s = seconds * runs / policies / std::max(1.0, at_once);
  if (points == 0)
    estimate.written_bytes =
        policies * (counts.trained * written_bytes(scenario, kTrainedJob) + counts.rigid * written_bytes(scenario, kRigidJob) +
                    counts.node_events * written_bytes(scenario, kNodeEvent));
  return estimate;
}

std::string to_string(const RunEstimate& e) {
  // No more digits than such figures have; jobs are known.
  const auto rough = [](double number) { return number < 1 ? number : std::stod(fmt::format("{:.1e}", number)); };
  const auto bytes = [&](double b) { return sim::figure(rough(b < 1e9 ? b / 1e6 : b / 1e9), 2) + (b < 1e9 ? " MB" : " GB"); };
  return fmt::format("{} and about {} a run; in all about {} of memory, {} of files, {}", sim::counted(e.jobs, "job"),
                     sim::counted(std::round(rough(e.events)), "event"), bytes(e.memory_bytes), bytes(e.written_bytes),
                     sim::time_words(rough(e.duration_s)));
}

bool is_large(const RunEstimate& e) {
  return e.memory_bytes > kLargeBytes || e.written_bytes > kLargeBytes || e.duration_s > kLarge_s;
}

}  // namespace rehearse::scenarios
