#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/commands.hpp"
#include "cli/jobs.hpp"
#include "cli/number_option.hpp"
#include "cli/output_option.hpp"
#include "cli/plot.hpp"
#include "cli/regress.hpp"
#include "cli/say.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory_limit.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

namespace rehearse::cli {

void add_scenario_arguments(CLI::App& command, ScenarioArguments& arguments) {
  command.add_option("scenario", arguments.path, "the scenario's JSON file")->required();
  command.add_option("--set", arguments.sets, "override a value: /pointer=value, for instance --set /seed=3; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
}

namespace {

/// CLI11 knows no "did you mean".
void suggest_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> commands{"test"};  // the launcher's
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  if (argc < 2 || argv[1][0] == '-' || std::find(commands.begin(), commands.end(), argv[1]) != commands.end()) return;
  const std::string nearest = sim::nearest_name(argv[1], commands);
  if (!nearest.empty()) say(stderr, "did you mean \"{}\"?\n", nearest);
}

struct Arguments {
  RunArguments run;
  SweepArguments sweep;
  TrainArguments train;
  ScenarioArguments check;
  std::string what;
  ImportArguments import;
  ImportJobsArguments import_jobs;
  ExportArguments export_;
  DescribeArguments describe;
  ValidateArguments validate;
  CalibrateArguments calibrate;
  GraphArguments graph;
  ProfileArguments profile;
  PlanArguments plan;
  SplitArguments split;
  RateArguments rate;
  ReportArguments report;
  RegressArguments regress;
  PlotArguments plot;
};

void add_train_command(CLI::App& app, TrainArguments& arguments) {
  CLI::App* train = app.add_subcommand("train", "train the agent of a strategy on a scenario's jobs, or its graphs to place");
  train->add_option("strategy", arguments.strategy, "whose agent")
      ->required()
      ->check(CLI::IsMember({"staged-rl", "rl-transfer"}));
  add_scenario_arguments(*train, arguments.scenario);
  add_output_option(*train, "-o,--out", arguments.out, "the agent's file; its learning curve goes beside it, as .csv")
      ->required();
  train->add_option("--resume", arguments.resume, "go on from this agent's file");
  train->add_option("--iterations", arguments.iterations, "steps of the optimiser")->check(CLI::Range(0, 1000000));
}

void add_measurement_commands(CLI::App& app, Arguments& arguments) {
  CLI::App* import = app.add_subcommand("import", "turn other people's files into ours");
  import->require_subcommand(1);
  const auto add_import = [&](const char* name, const char* help, const std::vector<std::string>& formats) {
    CLI::App* kind = import->add_subcommand(name, help);
    kind->add_option("format", arguments.import.format, "whose files")->required()->check(CLI::IsMember(formats));
    kind->add_option("file", arguments.import.path, "the file")->required();
    add_output_option(*kind, "-o,--out", arguments.import.out, "the CSV file to write")->required();
    return kind;
  };
  add_import("measurements", "measured step times, as CSV for validate and calibrate", import_formats());
  add_import("history", "past training runs, as CSV for a scenario's history and the study measured-runs",
             import_history_formats())
      ->parse_complete_callback([&arguments] { arguments.import.history = true; });
  CLI::App* trainings =
      import->add_subcommand("convergence", "measured accuracies of trainings, as CSV for validate and calibrate");
  trainings->add_option("format", arguments.import.format, "whose files")
      ->required()
      ->check(CLI::IsMember(import_convergence_formats()));
  trainings->add_option("files", arguments.import.paths, "the files, or folders of them")->required();
  add_output_option(*trainings, "-o,--out", arguments.import.out, "the CSV file to write")->required();
  CLI::App* jobs = import->add_subcommand("jobs", "job traces, as CSV for a scenario's jobs");
  jobs->add_option("format", arguments.import_jobs.trace.format, "whose files (docs/guide/traces.md)")
      ->required()
      ->check(CLI::IsMember(trace_format_names()));
  jobs->add_option("file", arguments.import_jobs.trace.path, "the file")->required();
  add_output_option(*jobs, "-o,--out", arguments.import_jobs.out, "the CSV file to write")->required();
  add_trace_options(*jobs, arguments.import_jobs.trace);
  const auto measured = [](CLI::App& command, MeasuredArguments& into) {
    command.add_option("measurements", into.path, "CSV file of measurements")->required();
    command.add_option("--catalogue", into.catalogues, "a file of devices and instances; may be repeated")
        ->take_all()
        ->allow_extra_args(false);
  };
  CLI::App* validate = app.add_subcommand("validate", "how far predicted step times are from measured ones");
  measured(*validate, arguments.validate.measured);
  validate->add_option("--hold-out", arguments.validate.hold_out, "calibrate each device without these, and predict them")
      ->check(CLI::IsMember({"nothing", "batches", "models", "limits"}));
  add_output_option(*validate, "--rows", arguments.validate.rows, "write each row's predictions to this CSV file");
  CLI::App* calibrate = app.add_subcommand("calibrate", "fit devices to measurements, and write them as a catalogue file");
  measured(*calibrate, arguments.calibrate.measured);
  add_output_option(*calibrate, "-o,--out", arguments.calibrate.out, "the catalogue file to write")->required();
}

void add_graph_command(CLI::App& app, GraphArguments& arguments) {
  CLI::App* graph = app.add_subcommand("graph", "one training step's operations: work, memory, critical path, groups to place");
  graph
      ->add_option("model", arguments.model,
                   "a model (rehearse list models), a graph of our own (FILE.json), or a file of --format")
      ->required();
  graph->add_option("--format", arguments.format, "whose file: native, pipedream or dnn-partitioning")
      ->check(CLI::IsMember({"native", "pipedream", "dnn-partitioning"}));
  graph->add_option("--dataset", arguments.dataset, "of the model (default: the publication's)");
  graph->add_option("--batch", arguments.batch, "samples (default 64)")->check(number_between(1, 1e9));
  graph->add_flag("--unroll", arguments.unroll, "every time step of recurrent layers by itself");
  graph->add_option("--device", arguments.device, "that times are for (default k80)");
  graph->add_option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  graph->add_option("--groups", arguments.groups, "coarsen the groups to this number")->check(CLI::Range(1, 1000000));
  add_output_option(*graph, "--dot", arguments.dot, "write a Graphviz file, a node for each group");
  add_output_option(*graph, "--json", arguments.json, "write the graph as JSON (docs/guide/graphs.md)");
}

void add_profile_command(CLI::App& app, ProfileArguments& arguments) {
  CLI::App* profile = app.add_subcommand("profile", "run a benchmark sweep of generated networks on the simulated devices");
  profile->add_option("--sweep", arguments.sweep, "what is generated: cnn or rnn")
      ->required()
      ->check(CLI::IsMember({"cnn", "rnn"}));
  add_output_option(*profile, "-o,--out", arguments.out, "the CSV file to write, a row for each network, device and batch")
      ->required();
  profile->add_option("--networks", arguments.networks, "how many (default 80)")->check(CLI::Range(5, 100000));
  profile->add_option("--noise", arguments.noise, "deviation of a measured time's logarithm (default 0.03)")
      ->check(number_between(0, 1));
  profile->add_option("--seed", arguments.seed, "of the networks and the noise (default 1)")->check(CLI::Range(0, 2000000000));
  profile->add_option("--device", arguments.devices, "a device (rehearse list devices); may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  profile->add_option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
}

void add_plan_command(CLI::App& app, PlanArguments& arguments) {
  CLI::App* plan = app.add_subcommand(
      "plan", "recommend resources, batch and power limit for a job: the least energy under its limits (docs/guide/harness.md)");
  plan->add_option("job", arguments.job, "the job's JSON file")->required();
  plan->add_option("--cluster", arguments.cluster, "the cluster's JSON file: its pools, and what of them is free")->required();
  plan->add_option("--export", arguments.export_to,
                   "a folder for the files to run the recommended with: TensorFlow and Horovod code, Docker, Kubernetes, Slurm");
}

void add_split_command(CLI::App& app, SplitArguments& arguments) {
  CLI::App* split = app.add_subcommand("split", "divide a global batch over unlike GPUs, and say whether the slow ones pay");
  split->add_option("model", arguments.model, "a model (rehearse list models)")->required();
  split
      ->add_option("--workers", arguments.workers,
                   "NAME=COUNT of each GPU (its smallest instance), or of each of the cluster's pools")
      ->required();
  split->add_option("--batch", arguments.batch, "global")->required()->check(CLI::Range(1, 1000000));
  split->add_option("--dataset", arguments.dataset, "of the model (default: the publication's)");
  CLI::Option* cluster = split->add_option("--cluster", arguments.cluster, "a cluster's JSON file, as plan has it");
  split->add_option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->excludes(cluster);
}

void add_rate_command(CLI::App& app, RateArguments& arguments) {
  CLI::App* rate = app.add_subcommand("rate", "find a learning rate: by a simulated ramp of rates, or by one of your own");
  CLI::Option* model = rate->add_option("model", arguments.model, "a model whose accuracy is modelled (rehearse list models)");
  rate->add_option("--dataset", arguments.dataset, "of the model (default: the publication's)");
  rate->add_option("--batch", arguments.batch, "global (default: the reference batch)")->check(number_between(1, 1e9));
  rate->add_option("--noise", arguments.noise, "deviation of a reading (default 0.003)")->check(number_between(0, 1));
  rate->add_option("--seed", arguments.seed, "of the noise (default 1)")->check(CLI::Range(0, 2000000000));
  rate->add_option("--csv", arguments.csv, "a ramp: columns rate and loss, or rate and accuracy; rates rising by one factor")
      ->excludes(model);
}

void add_report_command(CLI::App& app, ReportArguments& arguments) {
  CLI::App* report = app.add_subcommand("report", "make the HTML report of earlier results, as run does (docs/guide/report.md)");
  report->add_option("results", arguments.folders, "results folders")->required();
  add_output_option(*report, "-o,--out", arguments.out, "the file to write (default: report.html in the folder)");
  report->add_flag("--timing", arguments.timing, "also show how long policies took, which differs from run to run");
}

/// For every command: each reads or simulates.
void add_max_memory(CLI::App& app, std::uint64_t& bytes) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == "list") continue;
    if (command->get_subcommands([](const CLI::App*) { return true; }).empty())
      command
          ->add_option("--max-memory", bytes,
                       "memory that all processes together may take, for instance 4GB or 500MB (default: 80 % of the machine's)")
          ->transform(CLI::AsSizeValue(true))
          ->check(CLI::Range(std::uint64_t{50'000'000}, std::uint64_t{1} << 60));
    else
      add_max_memory(*command, bytes);
  }
}

int guarded(const CLI::App& app, const Arguments& arguments) {
  try {
    if (app.got_subcommand("run")) return run_command(arguments.run);
    if (app.got_subcommand("sweep")) return sweep_command(arguments.sweep);
    if (app.got_subcommand("train")) return train_command(arguments.train);
    if (app.got_subcommand("report")) return report_command(arguments.report);
    if (app.got_subcommand("check")) return check_command(arguments.check);
    if (!arguments.import_jobs.out.empty()) return import_jobs_command(arguments.import_jobs);
    if (app.got_subcommand("import"))
      return arguments.import.paths.empty() ? import_command(arguments.import) : import_convergence(arguments.import);
    if (app.got_subcommand("export")) return export_command(arguments.export_);
    if (app.got_subcommand("describe")) return describe_command(arguments.describe);
    if (app.got_subcommand("synthesize")) return synthesize_command(arguments.describe);
    if (app.got_subcommand("plot")) return plot_command(arguments.plot);
    if (app.got_subcommand("regress")) return regress_command(arguments.regress);
    if (app.got_subcommand("rate")) return rate_command(arguments.rate);
    if (app.got_subcommand("split")) return split_command(arguments.split);
    if (app.got_subcommand("plan")) return plan_command(arguments.plan);
    if (app.got_subcommand("profile")) return profile_command(arguments.profile);
    if (app.got_subcommand("graph")) return graph_command(arguments.graph);
    if (app.got_subcommand("validate")) return validate_command(arguments.validate);
    if (app.got_subcommand("calibrate")) return calibrate_command(arguments.calibrate);
    return list_command(arguments.what);
  } catch (const sim::InputError& error) {
    say(stderr, "{}\n", error.what());
    return kInvalidInput;
  } catch (const scenarios::Interrupted&) {
    say(stderr, "interrupted; nothing was written\n");
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

int main(int argc, char** argv) {
  CLI::App app(
      "Rehearse a training cluster before you pay for it: replays CNN and RNN training jobs against modelled CPU and GPU pools "
      "and compares\nwhat resource policies would have cost.",
      "rehearse");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(sim::program_version()));
  app.footer(
      "Exit status: 0 ok, 1 a bug of ours, 2 wrong usage, 3 invalid input, 4 a policy got worse, 5 a policy failed, 130 "
      "interrupted.\n`./rehearse "
      "test` builds and runs every test.");
  Arguments arguments;
  CLI::App* run = app.add_subcommand("run", "run a scenario: every policy on the same jobs, side by side");
  add_scenario_arguments(*run, arguments.run.scenario);
  run->add_option("--out", arguments.run.out, "results folder (default: results/<scenario's name>)");
  run->add_flag("--replace", arguments.run.replace, "let the results take the place of another scenario's");
  run->add_option("--processes", arguments.run.processes, "runs at once (default: as many as there are processors)")
      ->check(CLI::Range(1, 4096));
  run->add_flag("--watch", arguments.run.watch,
                "show meanwhile what each run's cluster is doing: date, jobs, queue, devices held, cost so far");
  add_sweep_command(app, arguments.sweep);
  add_train_command(app, arguments.train);
  CLI::App* check = app.add_subcommand("check", "read a scenario and report all mistakes at once, without running it");
  add_scenario_arguments(*check, arguments.check);
  CLI::App* list =
      app.add_subcommand("list", "what the program knows: models, devices, instances, policies, strategies, studies, formats");
  list->add_option("what", arguments.what, "one of them")->required()->check(CLI::IsMember(listable()));
  add_measurement_commands(app, arguments);
  add_export_command(app, arguments.export_);
  add_describe_commands(app, arguments.describe);
  add_graph_command(app, arguments.graph);
  add_profile_command(app, arguments.profile);
  add_plan_command(app, arguments.plan);
  add_split_command(app, arguments.split);
  add_rate_command(app, arguments.rate);
  add_report_command(app, arguments.report);
  add_regress_command(app, arguments.regress);
  add_plot_command(app, arguments.plot);
  std::uint64_t max_memory_bytes = 0;
  add_max_memory(app, max_memory_bytes);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kOk;
    suggest_command(app, argc, argv);
    return kUsage;
  } catch (const sim::InputError& error) {  // of an output that cannot be written
    say(stderr, "{}\n", error.what());
    return kInvalidInput;
  }
  Eigen::setCpuCacheSizes(32768, 262144, 2097152);  // matrix products block by these: the same bytes on every machine
  sim::limit_memory(max_memory_bytes > 0 ? static_cast<double>(max_memory_bytes) : 0.8 * sim::machine_memory_bytes());
  if (max_memory_bytes > 0) arguments.sweep.max_memory = std::to_string(max_memory_bytes);
  errno = 0;
  const int status = guarded(app, arguments);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  say(stderr, "standard output cannot be written{}\n", errno == ENOSPC ? fmt::format(": {}", std::strerror(errno)) : "");
  return status == kOk ? kInvalidInput : status;
}

}  // namespace

}  // namespace rehearse::cli

int main(int argc, char** argv) { return rehearse::cli::main(argc, argv); }
