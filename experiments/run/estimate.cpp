#include "experiments/run/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/text.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::scenarios {

namespace {

/// What one thing takes, but for what is written of it.
struct Bill {
  double memory_bytes = 0, duration_s = 0;
  double events = 0;  ///< lines of events.jsonl
};

// Measured: the release build on one core of a two-core virtual machine, differences between runs of 100, 1,000, 10,000 and
// 100,000 things, at most two digits.
//   kProcess       `run` of one rigid job: max_rss_bytes and run_cpu_s of timing.json
//   kTrainedJob    {"generate": "mixed-cnn-rnn"} at 4 an hour on 20 p3.2xlarge, policy manual
//   kRigidJob      a trace of jobs of one GPU and 600 s, one a second, on 1,000 p3.2xlarge
//   kNodeEvent     1,000 nodes that fail every 100 s or 1,000 s under one job of 100,000 s
//   kNode          a pool of 1,000,000 nodes under one job
constexpr Bill kProcess{.memory_bytes = 27e6, .duration_s = 0.02};
constexpr Bill kTrainedJob{.memory_bytes = 7.8e3, .duration_s = 6.6e-5, .events = 4};
constexpr Bill kRigidJob{.memory_bytes = 400, .duration_s = 8e-6, .events = 4};
constexpr Bill kNodeEvent{.duration_s = 1.4e-6, .events = 1};
constexpr Bill kNode{.memory_bytes = 12, .duration_s = 1.3e-7};

/// Rows of one repetition of one policy: how long they are, and how many a job of each kind has. Of kTrainedJob's and kRigidJob's
/// runs, with each policy and with one pool and three.
struct Written {
  const char* file;
  Record OutputSettings::*record;
  double trained_row_bytes, rigid_row_bytes;
  double trained_rows, rigid_rows;
  double rows_a_pool = 0;         ///< more, for each pool
  double staged = 1;              ///< so many times the rows under a staged policy
  double node_event_bytes = 0;    ///< of what happens to nodes
  double trained_epoch_rows = 0;  ///< for each epoch
};
constexpr Written kWritten[] = {
    {"jobs.csv", &OutputSettings::jobs, 235, 90, 1, 1},
    {"decisions.csv", &OutputSettings::decisions, 125, 60, 4, 1, 0, 4},
    {"events.jsonl", &OutputSettings::events, 130, 113, 4, 4, 0, 2.3, 100},
    {"stages.csv", &OutputSettings::stages, 205, 55, 1, 1, 0, 4.5},
    {"curves.csv", &OutputSettings::curves, 110, 0, 0, 0, 0, 1, 0, 1},
    {"predictions.csv", &OutputSettings::predictions, 60, 36, 4, 2},
    {"utilization.csv", &OutputSettings::utilization, 70, 55, 1, 1, 2, 3, 73},
    {"nodes.csv", &OutputSettings::nodes, 75, 37, 1, 1, 0, 4.5},
};
constexpr double kGeneratedEpochs = 36;  ///< of a generated job; jobs of a list are looked at

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
                                  {"static-isotonic-shared", 4e-4},
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

/// Queues that take next to nothing for each event. Others solve programmes, or go through all that waits.
constexpr std::array<std::string_view, 9> kQuickQueues{"fifo", "priority",   "sjf",         "srtf",      "edf",
                                                       "las",  "oracle-sjf", "oracle-srtf", "fair-share"};

/// Whether deciding_s, or nothing, is what the policy takes to decide.
bool is_counted(const policies::PolicySpec& policy) {
  const bool is_process = policy.configure.outside || policy.place.outside || policy.threads.outside || policy.queue.outside;
  const auto is_quick = [](const std::string& name) {
    return std::find(kQuickQueues.begin(), kQuickQueues.end(), name) != kQuickQueues.end();
  };
  return !is_process && is_quick(policy.queue.name) && policy.place.name == "data-parallel" &&
         policy.threads.name == "recommended";
}

constexpr double kLargeBytes = 1e9, kLarge_s = 600;

double deciding_s(const policies::PolicySpec& policy) {
  for (const Deciding& one : kDeciding)
    if (one.configure == policy.configure.name) return one.job_s;
  return kOtherJob_s;
}

/// How much of a thing there is.
struct Counts {
  double trained = 0, rigid = 0, node_events = 0, nodes = 0;
  double epochs = 0;  ///< of all trained jobs
};

double epochs_of(const Scenario& scenario, const sim::Job& job);

/// Until the last job has ended, if all devices were always busy and every job had one. Training without a bound on it counts for
/// its deadline, or nothing.
double span_s(const Scenario& scenario) {
  double devices = 0, work_s = 0, last_s = 0;
  for (std::size_t p = 0; p < scenario.cluster.pools.size(); ++p)
    devices += static_cast<double>(scenario.cluster.pools[p].nodes) *
               sim::workers_per_node(scenario.cluster, static_cast<sim::PoolId>(p));
  for (const sim::Job& job : scenario.jobs) {
    const double alone_s = job.duration_s > 0 ? job.duration_s : std::isfinite(job.deadline_s) ? job.deadline_s : 0;
    work_s += alone_s * std::max(1, job.gpus) * job.gpu_fraction;
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
  for (const sim::Job& job : scenario.jobs) {
    (job.work == sim::Work::rigid ? counts.rigid : counts.trained) += 1;
    counts.epochs += epochs_of(scenario, job);
  }
  for (const workloads::GeneratorSettings& generator : scenario.generators) {
    counts.trained += generator.count;
    counts.epochs += generator.count * kGeneratedEpochs;
  }
  const double span = span_s(scenario);
  for (const sim::Pool& pool : scenario.cluster.pools) {
    counts.nodes += pool.nodes;
    counts.node_events += span * pool.nodes * changes_per_s(scenario, pool);
  }
  for (const sim::Maintenance& window : scenario.nodes.maintenance) counts.node_events += 3 * span / window.every_s + 3;
  return counts;
}

/// Of one policy in all repetitions, by file.
std::vector<FileEstimate> written_by(const Scenario& scenario, const policies::PolicySpec& policy, const Counts& counts) {
  const bool is_staged = policy.configure.name.starts_with("staged-");
  const auto pools = static_cast<double>(scenario.cluster.pools.size());
  std::vector<FileEstimate> files;
  for (const Written& w : kWritten) {
    const Record record = scenario.output.*w.record;
    const double repetitions = record == Record::all ? scenario.repetitions : record == Record::first ? 1 : 0;
    const double more = w.rows_a_pool * pools;
    const double trained =
        (counts.trained * (w.trained_rows + more) * (is_staged ? w.staged : 1) + counts.epochs * w.trained_epoch_rows) *
        w.trained_row_bytes;
    const double rigid = counts.rigid * (w.rigid_rows + more) * w.rigid_row_bytes;
    files.push_back({w.file, repetitions * (trained + rigid + counts.node_events * w.node_event_bytes)});
  }
  return files;
}

/// Until which it trains at most where nothing reaches its target earlier, or the model's own number.
double epochs_of(const Scenario& scenario, const sim::Job& job) {
  if (job.work == sim::Work::rigid || job.profile == nullptr) return 0;
  if (job.epochs > 0 && !job.has_target()) return job.epochs;
  const workloads::ProfileModel& model = scenario.profile_models.of(*job.profile);
  const double usual = model.convergence ? model.convergence->reference_epochs : 1;
  return job.epochs > 0 ? std::min(job.epochs, usual) : usual;
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
  std::vector<std::string> undecided;
  for (const policies::PolicySpec& policy : scenario.policies)
    if (!is_counted(policy)) undecided.push_back(policy.name);
  for (const policies::PolicySpec& policy : scenario.policies)
    seconds += counts.trained * deciding_s(policy) * static_cast<double>(scenario.cluster.pools.size());
  RunEstimate estimate{
      .jobs = counts.trained + counts.rigid, .events = sum(&Bill::events), .undecided_time = std::move(undecided)};
  estimate.memory_bytes = at_once * (kProcess.memory_bytes + sum(&Bill::memory_bytes));
  estimate.duration_s = seconds * runs / policies / std::max(1.0, at_once);
  if (points > 0) return estimate;
  for (const policies::PolicySpec& policy : scenario.policies) {
    const std::vector<FileEstimate> files = written_by(scenario, policy, counts);
    estimate.files.resize(files.size());
    for (std::size_t f = 0; f < files.size(); ++f) {
      estimate.files[f].name = files[f].name;
      estimate.files[f].bytes += files[f].bytes;
      estimate.written_bytes += files[f].bytes;
    }
  }
  return estimate;
}

std::string to_string(const RunEstimate& e) {
  // No more digits than such figures have; jobs are known.
  const auto rough = [](double number) { return number < 1 ? number : std::stod(fmt::format("{:.1e}", number)); };
  const auto bytes = [&](double b) { return sim::figure(rough(b < 1e9 ? b / 1e6 : b / 1e9), 2) + (b < 1e9 ? " MB" : " GB"); };
  std::string most;
  const auto largest = std::max_element(e.files.begin(), e.files.end(),
                                        [](const FileEstimate& a, const FileEstimate& b) { return a.bytes < b.bytes; });
  if (e.written_bytes > kLargeBytes && largest != e.files.end())
    most = fmt::format(" (of which {} {}; \"output\" in the scenario chooses what is written)", largest->name,
                       bytes(largest->bytes));
  std::string more;
  constexpr std::size_t kMostNamed = 4;
  for (std::size_t p = 0; p < std::min(kMostNamed, e.undecided_time.size()); ++p)
    more += (p == 0 ? "; what " : ", ") + sim::printable(e.undecided_time[p]);
  if (e.undecided_time.size() > kMostNamed) more += fmt::format(" and {} more", e.undecided_time.size() - kMostNamed);
  if (!more.empty()) more += fmt::format(" {} to decide comes on top", e.undecided_time.size() == 1 ? "takes" : "take");
  return fmt::format("{} and about {} a run; in all about {} of memory, {} of files{}, {}{}", sim::counted(e.jobs, "job"),
                     sim::counted(std::round(rough(e.events)), "event"), bytes(e.memory_bytes), bytes(e.written_bytes), most,
                     sim::time_words(rough(e.duration_s)), more);
}

EstimatedStrategies estimated_strategies() {
  EstimatedStrategies known{.configure = {}, .queue = {kQuickQueues.begin(), kQuickQueues.end()}};
  for (const Deciding& one : kDeciding) known.configure.emplace_back(one.configure);
  return known;
}

bool is_large(const RunEstimate& e) {
  return e.memory_bytes > kLargeBytes || e.written_bytes > kLargeBytes || e.duration_s > kLarge_s;
}

}  // namespace rehearse::scenarios
