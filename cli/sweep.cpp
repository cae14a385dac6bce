#include "experiments/sweep/sweep.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/say.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/run/progress.hpp"
#include "experiments/run/run.hpp"
#include "experiments/sweep/findings.hpp"
#include "experiments/sweep/launchers.hpp"
#include "experiments/sweep/task_folder.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

namespace {

int status_of(const scenarios::SweepSummary& summary) {
  int status = kOk;
  for (const auto& count : summary.counts) {
    if (count.status == "bug") return kBug;
    if (count.status == "invalid") status = kInvalidInput;
    if (count.status != "ok" && status == kOk) status = kPolicyFailed;
  }
  return status;
}

/// Of this program and its children that have ended, from its start.
double cpu_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
  return seconds;
}

void print_summary(const scenarios::SweepPlan& plan, const scenarios::SweepSummary& summary, const SweepArguments& arguments) {
  const auto counted = [](std::size_t number, const char* one) { return sim::counted(static_cast<double>(number), one); };
  say("{}: {} at {}\n", plan.name(), counted(summary.planned, "row"), counted(plan.points(), "point"));
  for (const scenarios::SweepAxis& axis : plan.axes()) say("  {}: {}\n", axis.pointer, counted(axis.values.size(), "value"));
  for (const auto& count : summary.counts)
    say("{} {}{}\n", count.runs, count.status, count.reason.empty() ? "" : ", the first of them: " + count.reason);
  say("{}, {} of them were there{}\n", counted(summary.distinct, "run"), summary.there,
      summary.is_other_program ? "; earlier rows are of another build of this program" : "");
  if (summary.ran > 0 && arguments.launcher == "local") {
    const int processes = scenarios::processes_of({.out = {}, .processes = arguments.processes});
    say("{} in {:.1f} s by {} processes; outside the runs themselves: {:.1f} % of that, {:.1f} % of the CPU time\n",
        counted(summary.ran, "run"), summary.elapsed_s, processes, 100 * (1 - summary.run_s / (summary.elapsed_s * processes)),
        100 * (1 - summary.cpu_s / cpu_seconds()));
  }
}

/// The command that does again what has failed or is damaged.
std::string retry_command(const SweepArguments& arguments, const std::string& out) {
  std::string words = fmt::format("rehearse sweep {} --out {} --retry", arguments.scenario.path, out);
  for (const std::string& set : arguments.scenario.sets) words += fmt::format(" --set '{}'", set);
  for (const std::string& catalogue : arguments.scenario.catalogues) words += " --catalogue " + catalogue;
  return words;
}

int task_command(const scenarios::SweepPlan& plan, const SweepArguments& arguments) {
  const std::size_t slash = arguments.task.rfind('/');
  const int task = std::atoi(arguments.task.c_str() + (slash == arguments.task.npos ? 0 : slash + 1));
  return run_task(plan, arguments.task.substr(0, slash), task, std::max(1, arguments.processes)) ? kOk : kInterrupted;
}

/// What a task of this sweep is started with.
std::vector<std::string> task_words(const SweepArguments& arguments) {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(), "sweep", arguments.scenario.path,
                                 "--limit", std::to_string(arguments.limit)};
  for (const std::string& set : arguments.scenario.sets) words.insert(words.end(), {"--set", set});
  if (!arguments.max_memory.empty()) words.insert(words.end(), {"--max-memory", arguments.max_memory});
  for (const std::string& catalogue : arguments.scenario.catalogues) words.insert(words.end(), {"--catalogue", catalogue});
  return words;
}

/// How far a sweep is, on stderr.
class SweepProgress {
 public:
  explicit SweepProgress(const scenarios::SweepPlan& plan) : plan_(plan), what_(plan.name()) {}
  void done(std::size_t done, std::size_t of) {
    done_ = done;
    of_ = of;
    show();
  }
  void under_way(const scenarios::PlannedRun& run, double time_s, std::size_t others) {
    std::string name =
        plan_.points() > 1 ? fmt::format("point {} of {}, {}", run.point + 1, plan_.points(), run.policy_name) : run.policy_name;
    if (plan_.first().repetitions > 1) name += fmt::format(" {}", run.repetition);
    what_ = scenarios::under_way_text(name, time_s, others);
    show();
  }

 private:
  void show() {
    line_.show({.what = what_,
                .one_done = "run",
                .done = static_cast<double>(done_),
                .total = static_cast<double>(of_),
                .part = static_cast<double>(done_) / static_cast<double>(std::max<std::size_t>(1, of_))});
  }
  const scenarios::SweepPlan& plan_;
  scenarios::ProgressLine line_{true};
  std::string what_;  // that is under way
  std::size_t done_ = 0, of_ = 0;
};

scenarios::Launch launcher(const SweepArguments& arguments, const std::string& out, const std::string& name,
                           SweepProgress& progress) {
  if (arguments.launcher == "local")
    return [&](const auto& plan, auto runs, const auto& keep) {
      progress.done(0, runs.size());
      return run_here(
          plan, std::move(runs), arguments.processes, keep,
          [&](const scenarios::PlannedRun& run, double time_s, std::size_t others) { progress.under_way(run, time_s, others); });
    };
  const scenarios::TaskSettings settings{.folder = out + ".tasks",
                                         .command = task_words(arguments),
                                         .tasks = arguments.tasks,
                                         .processes = std::max(1, arguments.processes),
                                         .label = name,
                                         .hosts = arguments.hosts};
  return [settings, by = arguments.launcher == "slurm" ? scenarios::run_by_slurm : scenarios::run_by_parallel](
             const auto&, auto runs, const auto& keep) { return by(std::move(runs), settings, keep); };
}

/// Where points differ in what generated jobs get their deadlines from, rows beside each other are of other jobs.
void note_generated_deadlines(const scenarios::SweepPlan& plan) {
  if (plan.first().generators.empty()) return;
  for (const scenarios::SweepAxis& axis : plan.axes()) {
    const std::string& p = axis.pointer;
    const bool is_of_pool = p.starts_with("/cluster/pools") && (p.ends_with("/nodes") || p.ends_with("/instance"));
    if (is_of_pool || p.starts_with("/cluster/instances") || p.starts_with("/cluster/devices"))
      say(stderr, "{}",
          wrapped(fmt::format("note: generated jobs take their deadlines from the cluster, and may have others along {} "
                              "(docs/guide/results.md)",
                              p)));
  }
}

}  // namespace

void add_sweep_command(Command app, SweepArguments& arguments) {
  Command sweep = app.subcommand(
      "sweep", "run every policy with all combinations of the values that a scenario sweeps (docs/guide/sweep.md)");
  add_scenario_arguments(sweep, arguments.scenario);
  sweep.option("--out", arguments.out,
               "the database, which an earlier start may have begun (default: results/<scenario's name>.sqlite)");
  sweep.output("--csv", arguments.csv, "write the results to this CSV file as well");
  sweep.output("--report", arguments.report, "the page with its table and figures (default: the database's name with .html)");
  sweep.option("--processes", arguments.processes, "runs at once (default: as many as there are processors)").range(1, 4096);
  sweep.option("--limit", arguments.limit, "refuse more runs than this (default 1000000)").range(1, 100'000'000);
  sweep.flag("--retry", arguments.retry, "run those again that have failed or were killed, and repair a damaged database");
  sweep
      .option("--launcher", arguments.launcher,
              "who runs: local (default), slurm as a job array, parallel by GNU parallel over hosts")
      .choices({"local", "slurm", "parallel"});
  sweep.option("--tasks", arguments.tasks, "into how many tasks slurm and parallel divide the runs (default: 50 runs a task)")
      .range(1, 1'000'000);
  sweep.option("--hosts", arguments.hosts, "of parallel, as its --sshlogin: [JOBS/]HOST,... (default: this machine)");
  sweep.option("--task", arguments.task).hidden();  // what slurm and parallel start
}

int sweep_command(const SweepArguments& arguments) {
  const scenarios::HeldInterrupts interrupts;
  const scenarios::SweepPlan plan(arguments.scenario.path, load_options(arguments.scenario),
                                  static_cast<std::size_t>(arguments.limit));
  plan.refuse_study();
  if (!arguments.task.empty()) return task_command(plan, arguments);
  for (const std::string& warning : plan.first().warnings) say(stderr, "warning: {}\n", warning);
  note_generated_deadlines(plan);
  warn_of_size(estimate_run(plan.first(), scenarios::processes_of({.out = {}, .processes = arguments.processes}),
                            static_cast<double>(plan.points())));
  SweepProgress progress(plan);
  const std::string by_default = "results/" + plan.name() + ".sqlite";
  const std::string out = arguments.out.empty() ? by_default : arguments.out;
  const std::string page =
      arguments.report.empty() ? sim::without_link(std::filesystem::path(out).replace_extension(".html")) : arguments.report;
  const auto swept = [&] {
    return run_sweep(plan, {.database = out,
                            .scenario_path = out == by_default ? scenarios::seen_from("results", arguments.scenario.path) : "",
                            .csv = arguments.csv,
                            .page = page,
                            .retry = arguments.retry,
                            .is_local = arguments.launcher == "local",
                            .launch = launcher(arguments, out, plan.name(), progress),
                            .on_progress = [&](std::size_t done, std::size_t of) { progress.done(done, of); }});
  };
  scenarios::SweepSummary summary;
  try {
    summary = swept();
  } catch (const scenarios::DamagedDatabase& damage) {
    say(stderr, "{}\nThis command repairs it: {}\n", damage.what(), retry_command(arguments, out));
    return kDamaged;
  }
  if (!summary.repaired.empty()) say(stderr, "{}\n", summary.repaired);
  if (summary.interrupted) {
    say(stderr, "interrupted; {} of {} runs are in {}, and the same command goes on from there{}\n", summary.there + summary.ran,
        summary.distinct, out, arguments.launcher == "slurm" ? "; the job array goes on meanwhile" : "");
    return kInterrupted;
  }
  say("{}", table_text(summary.best, table_width()));
  if (plan.points() > scenarios::kMostShownPoints) say("(the first {} points)\n", scenarios::kMostShownPoints);
  print_summary(plan, summary, arguments);
  say("Results: {}\nReport: {}\n", out, page);
  if (!summary.figures_left_out.empty()) say("{}\n", summary.figures_left_out);
  const bool has_ended_badly = std::any_of(summary.counts.begin(), summary.counts.end(), [](const auto& count) {
    return count.status == "killed" || count.status == "failed";
  });
  if (has_ended_badly) say("This runs again what has not ended well: {}\n", retry_command(arguments, out));
  return status_of(summary);
}

}  // namespace rehearse::cli
