#include <fmt/format.h>
#include <sys/resource.h>

#include <Eigen/Core>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "cli/bundle.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/jobs.hpp"
#include "cli/leaderboard.hpp"
#include "cli/options.hpp"
#include "cli/planned_files.hpp"
#include "cli/plot.hpp"
#include "cli/regress.hpp"
#include "cli/rent.hpp"
#include "cli/say.hpp"
#include "experiments/run/run.hpp"
#include "policies/registry/registry.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"
#include "sim/base/version.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/disk.hpp"

namespace rehearse::cli {

void add_scenario_arguments(Command command, ScenarioArguments& arguments) {
  command.option("scenario", arguments.path, "the scenario's JSON file").required();
  command.option("--set", arguments.sets, "override a value: /pointer=value, for instance --set /seed=3; may be repeated")
      .repeated();
  command.option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated").repeated();
}

namespace {

struct Arguments {
  RunArguments run;
  SweepArguments sweep;
  TrainArguments train;
  ScenarioArguments check;
  std::string what, which;
  bool as_json = false;
  ExplainArguments explain;
  CompareArguments compare;
  HelpArguments help;
  CompletionArguments completion;
  ImportArguments import;
  ImportJobsArguments import_jobs;
  ExportArguments export_;
  DescribeArguments describe;
  ValidateArguments validate;
  CalibrateArguments calibrate;
  GraphArguments graph;
  ProfileArguments profile;
  PlanArguments plan;
  RentArguments rent;
  CataloguePricesArguments catalogue_prices;
  SplitArguments split;
  RateArguments rate;
  ReportArguments report;
  RegressArguments regress;
  LeaderboardArguments leaderboard;
  PlotArguments plot;
  BundleArguments bundle;
  ReproduceArguments reproduce;
};

void add_train_command(Command app, TrainArguments& arguments) {
  Command train = app.subcommand("train", "train the agent of a strategy on a scenario's jobs, or its graphs to place");
  train.option("strategy", arguments.strategy, "whose agent").required().choices({"staged-rl", "staged-shared", "rl-transfer"});
  add_scenario_arguments(train, arguments.scenario);
  train.output("-o,--out", arguments.out, "the agent's file; its learning curve goes beside it, as .csv").required();
  train.option("--resume", arguments.resume, "go on from this agent's file");
  train.option("--iterations", arguments.iterations, "steps of the optimiser").range(0, 1000000);
}

void add_measurement_commands(Command app, Arguments& arguments) {
  Command import = app.subcommand("import", "turn other people's files into ours");
  import.require_subcommand();
  const auto add_import = [&](const char* name, const char* help, const std::vector<std::string>& formats) {
    Command kind = import.subcommand(name, help);
    kind.option("format", arguments.import.format, "whose files").required().choices(formats);
    kind.option("file", arguments.import.path, "the file").required();
    kind.output("-o,--out", arguments.import.out, "the CSV file to write").required();
    return kind;
  };
  Command steps = add_import("measurements", "measured step times, as CSV for validate and calibrate", import_formats());
  steps.option("--device", arguments.import.device, "what it was measured on, where it is not what the format assumes");
  steps.option("--instance", arguments.import.instance, "likewise; with --device alone none is named");
  steps.option("--precision", arguments.import.precision, "likewise")
      .choices({traces::precision_names().begin(), traces::precision_names().end()});
  add_import("history", "past training runs, as CSV for a scenario's history and the study measured-runs",
             import_history_formats())
      .when_read([&arguments] { arguments.import.history = true; });
  Command trainings = import.subcommand("convergence", "measured accuracies of trainings, as CSV for validate and calibrate");
  trainings.option("format", arguments.import.format, "whose files").required().choices(import_convergence_formats());
  trainings.option("files", arguments.import.paths, "the files, or folders of them").required();
  trainings.output("-o,--out", arguments.import.out, "the CSV file to write").required();
  Command throughputs = import.subcommand("throughputs", "measured throughputs of types of jobs, as CSV for a scenario");
  throughputs.option("format", arguments.import.format, "whose files").required().choices(import_throughput_formats());
  throughputs.option("files", arguments.import.paths, "the files").required();
  throughputs.output("-o,--out", arguments.import.out, "the CSV file to write").required();
  throughputs.when_read([&arguments] { arguments.import.throughputs = true; });
  Command jobs = import.subcommand("jobs", "job traces, as CSV for a scenario's jobs");
  jobs.option("format", arguments.import_jobs.trace.format, "whose files (docs/guide/traces.md)")
      .required()
      .choices(trace_format_names());
  jobs.option("file", arguments.import_jobs.trace.path, "the file").required();
  jobs.output("-o,--out", arguments.import_jobs.out, "the CSV file to write").required();
  add_trace_options(jobs, arguments.import_jobs.trace);
  jobs.option("--count", arguments.import_jobs.count, "the first so many of the jobs that are kept (default: all)")
      .range(1, 1'000'000'000);
  Command validate = app.subcommand("validate", "how far predicted step times are from measured ones");
  validate.option("measurements", arguments.validate.measured.path, "CSV file of measurements");
  validate.option("--catalogue", arguments.validate.measured.catalogues, "a file of devices and instances; may be repeated")
      .repeated();
  validate.flag("--columns", arguments.validate.columns, "say which columns a file of measurements has, with an example a kind");
  validate.option("--hold-out", arguments.validate.hold_out, "calibrate each device without these, and predict them")
      .choices({"nothing", "batches", "models", "limits", "devices", "stacks"});
  validate.option(
      "--stack", arguments.validate.stack,
      "the software of devices that nobody has measured: named, as each row's source says; NAME, of rows that name none "
      "as well (rehearse list stacks); default none");
  validate.option("--recipe", arguments.validate.recipe, "of measured trainings: by which they were (rehearse list recipes)");
  validate.output("--rows", arguments.validate.rows, "write each row's predictions to this CSV file");
  Command calibrate = app.subcommand("calibrate", "fit devices to measurements, and write them as a catalogue file");
  calibrate.option("measurements", arguments.calibrate.measured.path, "CSV file of measurements").required();
  calibrate.option("--catalogue", arguments.calibrate.measured.catalogues, "a file of devices and instances; may be repeated")
      .repeated();
  calibrate.output("-o,--out", arguments.calibrate.out, "the catalogue file to write").required();
}

void add_graph_command(Command app, GraphArguments& arguments) {
  Command graph = app.subcommand(
      "graph", "a network's layers as they are read, and one training step's operations: work, memory, groups to place");
  graph
      .option("model", arguments.model,
              "a model (rehearse list models), a network's file (ONNX, Keras, PyTorch or layers), a graph of our own, or a file "
              "of --format")
      .required();
  graph.option("--format", arguments.format, "whose file: native, pipedream or dnn-partitioning")
      .choices({"native", "pipedream", "dnn-partitioning"});
  graph.option("--dataset", arguments.dataset, "of the model (default: the publication's)");
  graph.option("--batch", arguments.batch, "samples (default 64)").between(1, 1e9);
  graph.flag("--unroll", arguments.unroll, "every time step of recurrent layers by itself");
  graph
      .option("--granularity", arguments.granularity, "what an operation is: of layers (default), or of tensorflow 1.x, unrolled")
      .choices({"layers", "tensorflow"});
  graph.option("--layers", arguments.layers, "of rnnlm or nmt in tensorflow's operations (default 2)").range(1, 64);
  graph.option("--hidden", arguments.hidden, "likewise: units of a layer (default 2048 and 1024)").range(1, 65536);
  graph.option("--steps", arguments.steps, "likewise: time steps (default 40)").range(1, 1000);
  graph.option("--vocabulary", arguments.vocabulary, "likewise: words (default 10000 and 30000)").range(1, 10000000);
  graph.flag("--dropout", arguments.dropout, "likewise: rnnlm with dropout before and behind each layer");
  graph.option("--device", arguments.device, "that times are for (default k80)");
  graph.option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated").repeated();
  graph.option("--groups", arguments.groups, "coarsen the groups to this number").range(1, 1000000);
  graph.output("--dot", arguments.dot, "write a Graphviz file, a node for each group");
  graph.output("--json", arguments.json, "write the graph as JSON (docs/guide/graphs.md)");
}

void add_profile_command(Command app, ProfileArguments& arguments) {
  Command profile = app.subcommand("profile", "run a benchmark sweep of generated networks on the simulated devices");
  profile.option("--sweep", arguments.sweep, "what is generated: cnn or rnn").required().choices({"cnn", "rnn"});
  profile.output("-o,--out", arguments.out, "the CSV file to write, a row for each network, device and batch").required();
  profile.option("--networks", arguments.networks, "how many (default 80)").range(5, 100000);
  profile.option("--noise", arguments.noise, "deviation of a measured time's logarithm (default 0.03)").between(0, 1);
  profile.option("--seed", arguments.seed, "of the networks and the noise (default 1)").range(0, 2000000000);
  profile.option("--device", arguments.devices, "a device (rehearse list devices); may be repeated").repeated();
  profile.option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated").repeated();
}

void add_plan_command(Command app, PlanArguments& arguments) {
  Command plan = app.subcommand(
      "plan", "recommend resources, batch and power limit for a job: the least energy under its limits (docs/guide/harness.md)");
  plan.option("job", arguments.job, "the job's JSON file").required();
  plan.option("--cluster", arguments.cluster, "the cluster's JSON file: its pools, and what of them is free").required();
  plan.option("--stack", arguments.stack,
              "the software (rehearse list stacks), or none (default: as the cluster says, else none)");
  plan.option("--precision", arguments.precision, "of products and convolutions (default: the stack's, else fp32)")
      .choices({traces::precision_names().begin(), traces::precision_names().end()});
  plan.option("--export", arguments.export_to,
              "a folder for the files to run the recommended with: code, Docker, Kubernetes, Slurm");
  plan.option("--framework", arguments.framework, "of the code: keras (with Horovod; the default) or pytorch")
      .choices(kFrameworks);
}

void add_split_command(Command app, SplitArguments& arguments) {
  Command split = app.subcommand("split", "divide a global batch over unlike GPUs, and say whether the slow ones pay");
  split.option("model", arguments.model, "a model (rehearse list models)").required();
  split
      .option("--workers", arguments.workers, "NAME=COUNT of each GPU (its smallest instance), or of each of the cluster's pools")
      .required();
  split.option("--batch", arguments.batch, "global").required().range(1, 1000000);
  split.option("--dataset", arguments.dataset, "of the model (default: the publication's)");
  Option cluster = split.option("--cluster", arguments.cluster, "a cluster's JSON file, as plan has it");
  split.option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated")
      .repeated()
      .excludes(cluster);
}

void add_rate_command(Command app, RateArguments& arguments) {
  Command rate = app.subcommand("rate", "find a learning rate: by a simulated ramp of rates, or by one of your own");
  Option model = rate.option("model", arguments.model, "a model whose accuracy is modelled (rehearse list models)");
  rate.option("--dataset", arguments.dataset, "of the model (default: the publication's)");
  rate.option("--batch", arguments.batch, "global (default: the reference batch)").between(1, 1e9);
  rate.option("--noise", arguments.noise, "deviation of a reading (default 0.003)").between(0, 1);
  rate.option("--seed", arguments.seed, "of the noise (default 1)").range(0, 2000000000);
  rate.option("--csv", arguments.csv, "a ramp: columns rate and loss, or rate and accuracy; rates rising by one factor")
      .excludes(model);
}

void add_report_command(Command app, ReportArguments& arguments) {
  Command report = app.subcommand("report", "make the HTML report of earlier results, as run does (docs/guide/report.md)");
  report.option("results", arguments.folders, "results folders").required();
  report.output("-o,--out", arguments.out, "the file to write (default: report.html in the folder)");
  report.flag("--timing", arguments.timing, "also show how long policies took, which differs from run to run");
}

void add_explain_command(Command app, ExplainArguments& arguments) {
  Command explain = app.subcommand(
      "explain", "why a job of earlier results got what it got: its candidates, what spoke against them, what happened then");
  explain.option("results", arguments.folder, "the results folder").required();
  explain.option("job", arguments.job, "the job's name").required();
  explain.option("--policy", arguments.policy, "under this policy alone");
  explain.option("--repetition", arguments.repetition, "which (default 0)").range(0, 1000000);
  explain.option("--inputs", arguments.inputs,
                 "folder of the files that the scenario names by relative paths (default: the current one, then the results')");
  explain.flag("--all", arguments.all, "list every candidate");
}

void add_compare_command(Command app, CompareArguments& arguments) {
  Command compare = app.subcommand("compare", "results side by side, paired over repetitions where their seeds agree");
  compare.option("results", arguments.folders, "two results folders or more; differences are from the first").required();
  compare.option("--metric", arguments.metrics, "a column of repetitions.csv (docs/reference/metrics.md); may be repeated")
      .repeated();
}

/// For every command that reads or simulates.
void add_max_memory(Command app, std::uint64_t& bytes) {
  for (Command command : app.subcommands()) {
    if (command.name() == "list" || command.name() == "help" || command.name() == "completion") continue;
    if (command.subcommands().empty())
      command.option("--max-memory", bytes, "memory of all processes together, as 4GB or 500MB (default: 80 % of all)")
          .size_between(50'000'000, std::uint64_t{1} << 60);
    else
      add_max_memory(command, bytes);
  }
}

/// For every command that writes names from files into tables.
void add_csv_safe(Command app, bool& safe) {
  static const std::set<std::string> kWriters{"run",     "sweep",       "reproduce",  "jobs",    "measurements",
                                              "history", "convergence", "synthesize", "profile", "validate"};
  for (Command command : app.subcommands()) {
    if (command.subcommands().empty() && kWriters.contains(command.name()))
      command.flag("--csv-safe", safe, "put a quote before texts in CSV files that a spreadsheet takes for a formula (= + - @)");
    add_csv_safe(command, safe);
  }
}

int guarded(Command program, const Arguments& arguments) {
  try {
    sim::break_disk(std::getenv("REHEARSE_TEST_FAIL_IO"));
    policies::check_registry();
    if (program.chose("run")) return run_command(arguments.run);
    if (program.chose("sweep")) return sweep_command(arguments.sweep);
    if (program.chose("train")) return train_command(arguments.train);
    if (program.chose("report")) return report_command(arguments.report);
    if (program.chose("check")) return check_command(arguments.check);
    if (program.chose("explain")) return explain_command(arguments.explain);
    if (program.chose("compare")) return compare_command(arguments.compare);
    if (program.chose("help")) return help_command(program, arguments.help);
    if (program.chose("completion")) return completion_command(program, arguments.completion);
    if (!arguments.import_jobs.out.empty()) return import_jobs_command(arguments.import_jobs);
    if (arguments.import.throughputs) return import_throughputs(arguments.import);
    if (program.chose("import"))
      return arguments.import.paths.empty() ? import_command(arguments.import) : import_convergence(arguments.import);
    if (program.chose("export")) return export_command(arguments.export_);
    if (program.chose("describe")) return describe_command(arguments.describe);
    if (program.chose("synthesize")) return synthesize_command(arguments.describe);
    if (program.chose("bundle")) return bundle_command(arguments.bundle);
    if (program.chose("reproduce")) return reproduce_command(arguments.reproduce);
    if (program.chose("plot")) return plot_command(arguments.plot);
    if (program.chose("leaderboard")) return leaderboard_command(arguments.leaderboard);
    if (program.chose("regress")) return regress_command(arguments.regress);
    if (program.chose("rate")) return rate_command(arguments.rate);
    if (program.chose("split")) return split_command(arguments.split);
    if (program.chose("plan")) return plan_command(arguments.plan);
    if (program.chose("rent")) return rent_command(arguments.rent);
    if (program.chose("catalogue")) return catalogue_prices_command(arguments.catalogue_prices);
    if (program.chose("profile")) return profile_command(arguments.profile);
    if (program.chose("graph")) return graph_command(arguments.graph);
    if (program.chose("validate")) return validate_command(arguments.validate);
    if (program.chose("calibrate")) return calibrate_command(arguments.calibrate);
    return list_command(arguments.what, arguments.which, arguments.as_json);
  } catch (const sim::InputError& error) {
    say(stderr, "{}\n", error.what());
    return kInvalidInput;
  } catch (const sim::PolicyError& error) {  // outside of runs, where it is a row: of a training, say
    say(stderr, "{}\n", error.what());
    return kPolicyFailed;
  } catch (const scenarios::Interrupted& left) {
    say(stderr, "interrupted; {}\n", left.what());
    return kInterrupted;
  } catch (const sim::MemoryExhausted& error) {
    say(stderr, "{}\n", error.what());
    return kInvalidInput;
  } catch (const std::bad_alloc&) {
    say(stderr, "{}\n", sim::memory_exhausted_text());
    return kInvalidInput;
  } catch (const std::exception& error) {
    say(stderr, "this is a bug of rehearse, please report it: {}\n", error.what());
    return kBug;
  }
}

/// What every command needs of the system, where the shell may have set less: raised as far as it lets us, else refused. Not in
/// main, whose own variables need more than the least stacks.
int check_limits() {
  struct Need {
    int resource;
    rlim_t least;
    const char *what, *command;
    rlim_t unit;
  };
  constexpr Need kNeeds[] = {{RLIMIT_NOFILE, 32, "open files", "ulimit -n 1024", 1},
                             {RLIMIT_STACK, 1 << 20, "KiB of stack", "ulimit -s 8192", 1024}};
  for (const Need& need : kNeeds) {
    rlimit limit{};
    if (getrlimit(need.resource, &limit) != 0 || limit.rlim_cur >= need.least) continue;
    const rlim_t given = limit.rlim_cur;
    limit.rlim_cur = std::min(limit.rlim_max, need.least);
    if (limit.rlim_cur >= need.least && setrlimit(need.resource, &limit) == 0) continue;
    std::fprintf(
        stderr,
        "rehearse needs at least %llu %s, and this shell allows %llu: start it after \"%s\" in a shell that may raise that\n",
        static_cast<unsigned long long>(need.least / need.unit), need.what, static_cast<unsigned long long>(given / need.unit),
        need.command);
    return kInvalidInput;
  }
  return kOk;
}

[[gnu::noinline]] int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that the system lets grow no further is told by whoever writes it
  CommandLine line(
      "Rehearse a training cluster before you pay for it: replays CNN and RNN training jobs against modelled CPU and GPU pools "
      "and compares what resource policies would have cost.",
      "rehearse", std::string(sim::program_version()));
  Command app = line.program();
  Arguments arguments;
  Command run = app.subcommand("run", "run a scenario: every policy on the same jobs, side by side");
  add_scenario_arguments(run, arguments.run.scenario);
  run.option("--out", arguments.run.out, "results folder (default: results/<scenario's name>)").not_empty();
  run.flag("--certify", arguments.run.certify,
           "also say how much the model error, the load, prices and switching times may change before the verdict does");
  const Option replace =
      run.flag("--replace", arguments.run.replace,
               "let the results take the place of another scenario's, and begin anew where an interrupted run has left some");
  run.flag("--resume", arguments.run.resume, "go on with the finished repetitions of an interrupted run").excludes(replace);
  run.option("--processes", arguments.run.processes, "runs at once (default: as many as there are processors)").range(1, 4096);
  run.flag("--watch", arguments.run.watch,
           "show meanwhile what each run's cluster is doing: date, jobs, queue, devices held, cost so far");
  add_sweep_command(app, arguments.sweep);
  add_train_command(app, arguments.train);
  Command check = app.subcommand("check", "read a scenario and report all mistakes at once, without running it");
  add_scenario_arguments(check, arguments.check);
  add_explain_command(app, arguments.explain);
  add_compare_command(app, arguments.compare);
  add_measurement_commands(app, arguments);
  add_export_command(app, arguments.export_);
  add_describe_commands(app, arguments.describe);
  add_graph_command(app, arguments.graph);
  add_profile_command(app, arguments.profile);
  add_rent_command(app, arguments.rent);
  add_plan_command(app, arguments.plan);
  add_catalogue_command(app, arguments.catalogue_prices);
  add_split_command(app, arguments.split);
  add_rate_command(app, arguments.rate);
  add_report_command(app, arguments.report);
  add_regress_command(app, arguments.regress);
  add_leaderboard_command(app, arguments.leaderboard);
  add_plot_command(app, arguments.plot);
  add_bundle_commands(app, arguments.bundle, arguments.reproduce);
  Command list = app.subcommand(
      "list", "what the program knows: models, devices, instances, stacks, recipes, policies, strategies, studies, formats");
  list.option("what", arguments.what, "what to list").required().choices(listable());
  list.option("which", arguments.which, "of strategies: a kind (configure, place, ...) or the name of one");
  list.flag("--json", arguments.as_json, "for programs: a list of objects, of strategies one for each option");
  add_help_commands(app, arguments.help, arguments.completion);
  std::uint64_t max_memory_bytes = 0;
  add_max_memory(app, max_memory_bytes);
  bool csv_safe = false;
  add_csv_safe(app, csv_safe);
  add_examples(app);
  try {
    const Parsed parsed = line.parse(argc, argv, scenario_keys);
    if (parsed != Parsed::to_do) return parsed == Parsed::told ? kOk : kUsage;
  } catch (const sim::InputError& error) {  // of an output that cannot be written
    say(stderr, "{}\n", error.what());
    return kInvalidInput;
  }
  Eigen::setCpuCacheSizes(32768, 262144, 2097152);  // matrix products block by these: the same bytes on every machine
  sim::limit_memory(max_memory_bytes > 0 ? static_cast<double>(max_memory_bytes) : 0.8 * sim::machine_memory_bytes());
  if (max_memory_bytes > 0) arguments.sweep.max_memory = std::to_string(max_memory_bytes);
  sim::set_csv_safe(csv_safe);
  errno = 0;
  const int status = guarded(app, arguments);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  say(stderr, "standard output cannot be written{}\n", errno == ENOSPC ? fmt::format(": {}", std::strerror(errno)) : "");
  return status == kOk ? kInvalidInput : status;
}

}  // namespace

}  // namespace rehearse::cli

int main(int argc, char** argv) {
  if (const int status = rehearse::cli::check_limits(); status != 0) return status;
  return rehearse::cli::main(argc, argv);
}
