#include "scenarios/run.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <thread>

#include "scenarios/process_pool.hpp"
#include "scenarios/progress_bar.hpp"
#include "scenarios/results_folder.hpp"
#include "scenarios/run_one.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

namespace {

enum ChildStatus : int { kOk = 0, kBug = 1, kInvalid = 3, kPolicyFailed = 5 };

void write_reason(const std::string& folder, const std::string& reason) { std::ofstream(folder + "/" + kReasonFile) << reason; }

std::string read_reason(const std::string& folder) {
  std::ostringstream text;
  text << std::ifstream(folder + "/" + kReasonFile).rdbuf();
  return text.str();
}

/// In the child: whatever goes wrong becomes a status and a reason.
int guarded_run(const std::function<void()>& run, const std::string& folder) {
  try {
    run();
    return kOk;
  } catch (const sim::PolicyError& error) {
    write_reason(folder, error.what());
    return kPolicyFailed;
  } catch (const sim::InputError& error) {
    write_reason(folder, error.what());
    return kInvalid;
  } catch (const std::exception& error) {
    write_reason(folder, error.what());
    return kBug;
  }
}

/// All runs of a scenario: tasks in the order of policies, then repetitions.
class ScenarioRun {
 public:
  ScenarioRun(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario), options_(options), folder_(options.out.empty() ? "results/" + scenario.name : options.out) {
    for (std::size_t p = 0; p < scenario.policies.size(); ++p) {
      results_.push_back({.policy = scenario.policies[p].name});
      for (int r = 0; r < scenario.repetitions; ++r) {
        names_.push_back(fmt::format("{}-{}", scenario.policies[p].name, r));
        tasks_.push_back({.policy = p, .repetition = r, .folder = folder_.make_subfolder(names_.back())});
      }
    }
  }

  report::Summary run() {
    run_all();
    collect();
    join_files();
    report::Summary summary{.scenario = scenario_.name,
                            .seed = scenario_.seed,
                            .repetitions = scenario_.repetitions,
                            .baseline = scenario_.baseline,
                            .inputs = scenario_.inputs,
                            .rows = report::compare(results_, scenario_.baseline),
                            .origin_s = scenario_.origin_s};
    for (const std::string& name : names_) folder_.drop_subfolder(name);
    folder_.write("scenario.json", scenario_.resolved);
    folder_.write("timing.json", timing_json(summary));
    folder_.write("summary.json", summary_json(summary));
    if (interrupts_.take()) throw Interrupted();
    folder_.publish();
    return summary;
  }

 private:
  void run_all() {
    std::size_t jobs = scenario_.jobs.size();
    for (const workloads::GeneratorSettings& generator : scenario_.generators) jobs += static_cast<std::size_t>(generator.count);
    ProgressBar bar(options_.progress, tasks_.size(), jobs);
    const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const bool whole =
        run_processes({.tasks = static_cast<int>(tasks_.size()),
                       .processes = options_.processes > 0 ? options_.processes : processors,
                       .work =
                           [&](int index, const auto& tell) {
                             const RunTask& task = tasks_[static_cast<std::size_t>(index)];
                             return guarded_run([&] { options_.run(scenario_, task, tell); }, task.folder);
                           },
                       .on_end = [&](const ChildEnd& end) { ended(end), bar.ended(static_cast<std::size_t>(end.task)); },
                       .on_progress = [&](int task, std::uint64_t done) { bar.update(static_cast<std::size_t>(task), done); }});
    if (!whole) throw Interrupted();
  }

  void ended(const ChildEnd& end) {
    const RunTask& task = tasks_[static_cast<std::size_t>(end.task)];
    report::PolicyResult& result = results_[task.policy];
    result.run_cpu_s += end.cpu_s;
    result.max_rss_bytes = std::max(result.max_rss_bytes, end.max_rss_bytes);
    // A policy that ends the process has no outcome, whatever its status.
    const bool whole = std::filesystem::exists(task.folder + "/" + kOutcomeFile);
    if (end.exit_status == kOk && whole) return;
    std::string reason = read_reason(task.folder);
    if (reason.empty())
      reason = end.signal != 0 ? fmt::format("killed by signal {} ({})", end.signal, strsignal(end.signal))
                               : fmt::format("ended with status {} and no result", end.exit_status);
    if (end.exit_status == kInvalid) throw sim::InputError({.found = reason});
    if (end.exit_status == kBug)
      throw sim::CheckFailed(fmt::format("policy \"{}\", repetition {}: {}", result.policy, task.repetition, reason));
    failures_.push_back(
        {.task = end.task,
         .reason = scenario_.repetitions > 1 ? fmt::format("repetition {}: {}", task.repetition, reason) : reason});
  }

  void collect() {
    // Whatever the order in which processes ended, the first repetition that failed gives the reason.
    for (const Failure& failure : failures_) {
      report::PolicyResult& result = results_[tasks_[static_cast<std::size_t>(failure.task)].policy];
      if (result.ok || failure.task < first_failure_[result.policy]) {
        result.ok = false;
        result.reason = failure.reason;
        first_failure_[result.policy] = failure.task;
      }
    }
    for (const RunTask& task : tasks_)
      if (results_[task.policy].ok)
        results_[task.policy].repetitions.push_back(report::read_outcome(task.folder + "/" + kOutcomeFile));
  }

  void join_files() {
    using namespace report;
    for (const RecordFile* file :
         {&kJobsFile, &kDecisionsFile, &kEventsFile, &kStagesFile, &kCurvesFile, &kPredictionsFile, &kUtilizationFile}) {
      std::vector<std::string> parts;
      for (const RunTask& task : tasks_)
        if (results_[task.policy].ok) parts.push_back(task.folder + "/" + std::string(file->name));
      folder_.join(std::string(file->name), file->header, parts);
    }
  }

  struct Failure {
    int task;
    std::string reason;
  };
  const Scenario& scenario_;
  const RunOptions& options_;
  HeldInterrupts interrupts_;  // before the folder: when it lets go, nothing half-written is left
  ResultsFolder folder_;
  std::vector<std::string> names_;
  std::vector<RunTask> tasks_;
  std::vector<report::PolicyResult> results_;
  std::vector<Failure> failures_;
  std::map<std::string, int> first_failure_;
};

}  // namespace

report::Summary run_scenario(const Scenario& scenario, const RunOptions& options) { return ScenarioRun(scenario, options).run(); }

}  // namespace rehearse::scenarios
