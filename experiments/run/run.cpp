#include "experiments/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "experiments/process/policy_process.hpp"
#include "experiments/run/certify.hpp"
#include "experiments/run/chance.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/run/progress.hpp"
#include "experiments/run/results_folder.hpp"
#include "experiments/run/retiming.hpp"
#include "report/comparison.hpp"
#include "report/html_report.hpp"
#include "scenarios/read/catalogue.hpp"
#include "scenarios/read/study_kinds.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"
#include "sim/base/text.hpp"

namespace rehearse::scenarios {

namespace {

void join_files(const Scenario& scenario, const PolicyRuns& runs, const ResultsFolder& folder) {
  using namespace report;
  for (const RecordFile* file :
       {scenario.cluster.carbon_g_per_kwh ? &kJobsFileWithCarbon : &kJobsFile, &kDecisionsFile, &kEventsFile, &kStagesFile,
        &kCurvesFile, &kPredictionsFile, &kUtilizationFile, &kLifeFile, &kNodesFile}) {
    std::vector<std::string> parts;
    for (const RunTask& task : runs.tasks)
      if (runs.results[task.policy].ok) parts.push_back(task.folder.file(file->name));
    folder.join(std::string(file->name), file->header, parts);
  }
}

/// What processes of policies wrote on standard error: logs/POLICY-REPETITION-DECISION.txt.
void keep_logs(const PolicyRuns& runs, const ResultsFolder& folder) {
  namespace fs = std::filesystem;
  bool is_made = false;
  for (std::size_t t = 0; t < runs.tasks.size(); ++t) {
    for (const auto& entry : fs::directory_iterator(runs.tasks[t].folder.path())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(kLogPrefix)) continue;
      if (!is_made) folder.make_subfolder("logs");
      is_made = true;
      folder.link(entry.path(), fmt::format("logs/{}-{}.txt", runs.subfolders[t], name.substr(kLogPrefix.size())));
    }
  }
}

std::vector<report::PoolFacts> pool_facts(const sim::Cluster& cluster) {
  std::vector<report::PoolFacts> pools;
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const sim::Pool& pool = cluster.pools[p];
    const sim::Instance& instance = cluster.instances[static_cast<std::size_t>(pool.instance)];
    pools.push_back({.name = pool.name,
                     .instance = instance.name,
                     .nodes = pool.nodes,
                     .devices_per_node = sim::workers_per_node(cluster, static_cast<sim::PoolId>(p)),
                     .price_usd_per_hour = instance.price_usd_per_hour,
                     .price_date = instance.price_date});
  }
  return pools;
}

/// When the catalogue's prices of these pools held; a pool with prices of its own over time takes none of it.
std::string dates_of_prices(const sim::Cluster& cluster) {
  std::vector<std::string> dates;
  for (const sim::Pool& pool : cluster.pools)
    if (!pool.prices_usd_per_hour) dates.push_back(cluster.instances[static_cast<std::size_t>(pool.instance)].price_date);
  // Of hardware of the scenario's own nobody knows a date, nor asks for one.
  const bool is_any_said = std::ranges::any_of(dates, [](const std::string& date) { return !date.empty(); });
  return is_any_said ? date_range(dates) : "";
}

report::Summary run_into(Scenario& scenario, const RunOptions& options, const HeldInterrupts& interrupts, ResultsFolder& folder) {
  const PolicyRuns runs = run_policies(scenario, options, folder);
  join_files(scenario, runs, folder);
  keep_logs(runs, folder);
  report::Summary summary{.scenario = scenario.name,
                          .seed = scenario.seed,
                          .repetitions = scenario.repetitions,
                          .baseline = scenario.baseline,
                          .billing = scenario.costs.billing,
                          .minimum_node_s = scenario.costs.minimum_node_s,
                          .kinds = kinds_of(scenario),
                          .replays_recorded = std::any_of(scenario.jobs.begin(), scenario.jobs.end(),
                                                          [](const sim::Job& job) { return job.work == sim::Work::rigid; }),
                          .warnings = scenario.warnings,
                          .inputs = scenario.inputs,
                          .rows = report::compare(runs.results, scenario.baseline),
                          .measure = scenario.measure,
                          .pools = pool_facts(scenario.cluster),
                          .price_dates = dates_of_prices(scenario.cluster),
                          .origin_s = scenario.origin_s};
  const bool any_ended =
      std::any_of(summary.rows.begin(), summary.rows.end(), [](const report::SummaryRow& row) { return row.ok; });
  const report::VerdictTerms terms = verdict_terms(scenario, any_ended);
  summary.population = terms.population;
  const report::VerdictInput figures = verdict_input(runs.results, terms);
  summary.verdict = judge_twice(figures);
  if (options.certify) summary.certificate = certify(scenario, options, folder, figures, summary.verdict.drawn);
  folder.write("scenario.json", scenario.resolved);
  folder.write(report::kRepetitionsFile, repetitions_csv(runs.results, summary.rows));
  folder.write("timing.json", timing_json(summary));
  folder.write("summary.json", summary_json(summary));
  if (scenario.output.report && !options.report_page.empty())
    folder.write("report.html", report::html_report({.folder = folder.part(), .page = options.report_page}));
  if (interrupts.take()) throw Interrupted();
  for (const std::string& name : runs.subfolders) folder.drop_subfolder(name);
  folder.publish();
  return summary;
}

}  // namespace

report::Summary run_scenario(Scenario& scenario, const RunOptions& options) {
  const HeldInterrupts interrupts;  // before the folder: when it lets go, nothing half-written is left
  ResultsPlace place = place_of(scenario, options);
  if (options.keep_finished)
    place.run = {.version = this_program(),
                 .scenario = scenario.resolved,
                 .repetitions = scenario.repetitions * static_cast<int>(scenario.policies.size())};
  place.resume = options.resume;
  ResultsFolder folder(std::move(place));
  try {
    return run_into(scenario, options, interrupts, folder);
  } catch (const Interrupted&) {
    const std::string left = folder.left_behind();
    if (left.empty()) throw;
    throw Interrupted(left);
  } catch (...) {
    if (const std::string left = folder.left_behind(); !left.empty()) options.tell(left);
    throw;
  }
}

namespace {

/// In the child: whatever goes wrong becomes a status and a reason.
int guarded_run(const std::function<void()>& run, const std::function<void(const char*)>& tell) {
  try {
    run();
    return kOk;
  } catch (const sim::PolicyError& error) {
    tell(error.what());
    return kPolicyFailed;
  } catch (const sim::InputError& error) {
    tell(error.what());
    return kInvalid;
  } catch (const sim::MemoryExhausted& error) {
    tell(error.what());
    return kPolicyFailed;
  } catch (const std::bad_alloc&) {
    tell(sim::memory_exhausted_text().c_str());
    return kPolicyFailed;
  } catch (const std::exception& error) {
    tell(error.what());
    return kBug;
  }
}

class Runner {
 public:
  Runner(const Scenario& scenario, const RunOptions& options, const ResultsFolder& folder)
      : scenario_(scenario), options_(options), folder_(folder) {
    for (std::size_t p = 0; p < scenario.policies.size(); ++p) {
      runs_.results.push_back(
          {.policy = scenario.policies[p].name, .is_yardstick = policies::is_yardstick(scenario.policies[p])});
      for (int r = 0; r < scenario.repetitions; ++r) {
        runs_.subfolders.push_back(fmt::format("{}-{}", scenario.policies[p].name, r));
        const std::string& name = runs_.subfolders.back();
        const auto cost = folder.finished(name);
        if (cost)
          add_cost(runs_.results.back(), *cost);
        else
          waiting_.push_back(static_cast<int>(runs_.tasks.size()));
        runs_.tasks.push_back(
            {.policy = p, .repetition = r, .folder = cost ? folder.part() + "/" + name : folder.make_subfolder(name)});
      }
    }
  }

  PolicyRuns run() {
    run_all();
    collect();
    return std::move(runs_);
  }

 private:
  void run_all() {
    std::size_t jobs = scenario_.jobs.size();
    for (const workloads::GeneratorSettings& generator : scenario_.generators) jobs += static_cast<std::size_t>(generator.count);
    const auto name = [&](std::size_t index) {
      const RunTask& task = runs_.tasks[index];
      return scenario_.repetitions > 1 ? fmt::format("{} {}", scenario_.policies[task.policy].name, task.repetition)
                                       : scenario_.policies[task.policy].name;
    };
    ProgressBar bar({.wanted = options_.progress && !options_.watch,
                     .tasks = runs_.tasks.size(),
                     .parts_a_task = jobs,
                     .name = name,
                     .kind = [&](std::size_t task) { return runs_.tasks[task].policy; },
                     .at_once = static_cast<std::size_t>(processes_of(options_))});
    WatchBoard board(options_.watch, runs_.tasks.size(), jobs, name);
    SlowAnswers slow({.tasks = runs_.tasks.size(),
                      .after_s = options_.slow_answer_s,
                      .name = [&](std::size_t task) { return fmt::format("policy \"{}\"", name(task)); },
                      .tell = options_.note});
    std::vector<bool> waits(runs_.tasks.size(), false);
    for (const int task : waiting_) waits[static_cast<std::size_t>(task)] = true;
    for (std::size_t task = 0; task < runs_.tasks.size(); ++task) {
      if (waits[task]) continue;
      bar.kept(task);
      board.ended(task);
    }
    const auto task_of = [&](int started) { return waiting_[static_cast<std::size_t>(started)]; };
    const bool whole = run_processes({.tasks = static_cast<int>(waiting_.size()),
                                      .processes = processes_of(options_),
                                      .work =
                                          [&](int started, const auto& tell) {
                                            const int index = task_of(started);
                                            RunTask task = runs_.tasks[static_cast<std::size_t>(index)];
                                            task.at_work = slow.of(static_cast<std::size_t>(index));
                                            return guarded_run([&] { options_.run(scenario_, task, tell); },
                                                               [&](const char* reason) { reasons_.tell(index, reason); });
                                          },
                                      .on_end =
                                          [&](ChildEnd end) {
                                            end.task = task_of(end.task);
                                            ended(end);
                                            bar.ended(static_cast<std::size_t>(end.task));
                                            board.ended(static_cast<std::size_t>(end.task));
                                          },
                                      .on_progress =
                                          [&](int started, const sim::ReplayProgress& progress) {
                                            const int task = task_of(started);
                                            bar.update(static_cast<std::size_t>(task), progress.jobs_ended, progress.time_s);
                                            board.update(static_cast<std::size_t>(task), progress);
                                          },
                                      .also_fd = reasons_.reading(),
                                      .on_also =
                                          [&] {
                                            reasons_.read();
                                            slow.look();
                                          }});
    if (!whole) throw Interrupted();
  }

  void ended(const ChildEnd& end) {
    const RunTask& task = runs_.tasks[static_cast<std::size_t>(end.task)];
    report::PolicyResult& result = runs_.results[task.policy];
    const RepetitionCost cost{.cpu_s = end.cpu_s, .max_rss_bytes = end.max_rss_bytes};
    add_cost(result, cost);
    // A policy that ends the process has no outcome, whatever its status.
    const bool whole = std::filesystem::exists(task.folder.file(kOutcomeFile));
    if (end.exit_status == kOk && whole) return folder_.mark_finished(runs_.subfolders[static_cast<std::size_t>(end.task)], cost);
    reasons_.read();  // it was told before the process ended
    std::string reason = reasons_.of(end.task);
    if (reason.empty())
      reason = end.signal != 0 ? fmt::format("killed by signal {} ({})", end.signal, strsignal(end.signal))
                               : fmt::format("ended with status {} and no result", end.exit_status);
    if (end.exit_status == kInvalid)
      throw sim::InputError({.pointer = fmt::format("policy \"{}\", repetition {}: {}", result.policy, task.repetition, reason)});
    // It says nothing against the other policies: they are compared all the same.
    if (end.exit_status == kBug) reason.insert(0, kOurBug);
    failures_.push_back(
        {.task = end.task,
         .reason = scenario_.repetitions > 1 ? fmt::format("repetition {}: {}", task.repetition, reason) : reason});
  }

  void collect() {
    // Whatever the order in which processes ended, the first repetition that failed gives the reason.
    for (const Failure& failure : failures_) {
      report::PolicyResult& result = runs_.results[runs_.tasks[static_cast<std::size_t>(failure.task)].policy];
      if (result.ok || failure.task < first_failure_[result.policy]) {
        result.ok = false;
        result.reason = failure.reason;
        first_failure_[result.policy] = failure.task;
      }
    }
    for (const RunTask& task : runs_.tasks)
      if (runs_.results[task.policy].ok)
        runs_.results[task.policy].repetitions.push_back(report::read_outcome(task.folder.file(kOutcomeFile)));
  }

  static void add_cost(report::PolicyResult& result, const RepetitionCost& cost) {
    result.run_cpu_s += cost.cpu_s;
    result.max_rss_bytes = std::max(result.max_rss_bytes, cost.max_rss_bytes);
  }

  struct Failure {
    int task;
    std::string reason;
  };
  const Scenario& scenario_;
  const RunOptions& options_;
  const ResultsFolder& folder_;
  std::vector<int> waiting_;  ///< tasks that are not finished
  PolicyRuns runs_;
  ReasonPipe reasons_;
  std::vector<Failure> failures_;
  std::map<std::string, int> first_failure_;
};

}  // namespace

void print_note(const std::string& text) {
  fmt::print(stderr, "{}{}\n", redraws() ? "\r\x1b[K" : "", sim::printable(text, sim::kWholeText));
}

void print_warning(const std::string& text) { fmt::print(stderr, "warning: {}\n", sim::printable(text, sim::kWholeText)); }

ResultsPlace place_of(const Scenario& scenario, const RunOptions& options) {
  const std::string by_default = "results/" + scenario.name;
  const std::string path = options.out.empty() ? by_default : options.out;
  // Whoever names a folder knows what is in it; by default two files of one name would meet in one.
  return {.path = path,
          .owner = {.scenario = scenario.name,
                    .file = scenario.file,
                    .path = path == by_default ? seen_from(path, scenario.path) : std::string()},
          .replace = options.replace,
          .tell = options.tell,
          .note = options.note};
}

int processes_of(const RunOptions& options) {
  return options.processes > 0 ? options.processes : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

PolicyRuns run_policies(const Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) {
  PolicyRuns runs = Runner(scenario, options, folder).run();
  time_again(scenario, runs.tasks, processes_of(options), folder);
  return runs;
}

}  // namespace rehearse::scenarios
