#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <algorithm>
#include <cstdio>

#include "cli/commands.hpp"
#include "scenarios/run.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/names.hpp"

namespace rehearse::cli {

namespace {

void add_scenario_arguments(CLI::App& command, ScenarioArguments& arguments) {
  command.add_option("scenario", arguments.path, "the scenario's JSON file")->required();
  command.add_option("--set", arguments.sets, "override a value: /pointer=value, for instance --set /seed=3; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
}

/// CLI11 knows no "did you mean".
void suggest_command(int argc, char** argv) {
  const std::vector<std::string> commands{"run", "check", "list", "test"};
  if (argc < 2 || argv[1][0] == '-' || std::find(commands.begin(), commands.end(), argv[1]) != commands.end()) return;
  const std::string nearest = sim::nearest_name(argv[1], commands);
  if (!nearest.empty()) fmt::print(stderr, "did you mean \"{}\"?\n", nearest);
}

int guarded(const CLI::App& app, const RunArguments& run, const ScenarioArguments& check, const std::string& what) {
  try {
    if (app.got_subcommand("run")) return run_command(run);
    if (app.got_subcommand("check")) return check_command(check);
    return list_command(what);
  } catch (const sim::InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kInvalidInput;
  } catch (const scenarios::Interrupted&) {
    fmt::print(stderr, "interrupted; nothing was written\n");
    return kInterrupted;
  } catch (const std::exception& error) {
    fmt::print(stderr, "this is a bug of rehearse, please report it: {}\n", error.what());
    return kBug;
  }
}

int main(int argc, char** argv) {
  CLI::App app(
      "Rehearse a training cluster before you pay for it: replays CNN and RNN training jobs against modelled CPU and GPU pools "
      "and compares\nwhat resource policies would have cost.",
      "rehearse");
  app.require_subcommand(1);
  app.set_version_flag("--version", REHEARSE_VERSION);
  app.footer(
      "Exit status: 0 ok, 1 a bug of ours, 2 wrong usage, 3 invalid input, 5 a policy failed, 130 interrupted.\n`./rehearse "
      "test` builds and runs every test.");
  RunArguments run_arguments;
  ScenarioArguments check_arguments;
  std::string what;
  CLI::App* run = app.add_subcommand("run", "run a scenario: every policy on the same jobs, side by side");
  add_scenario_arguments(*run, run_arguments.scenario);
  run->add_option("--out", run_arguments.out, "results folder (default: results/<scenario's name>)");
  run->add_option("--processes", run_arguments.processes, "runs at once (default: as many as there are processors)")
      ->check(CLI::Range(1, 4096));
  CLI::App* check = app.add_subcommand("check", "read a scenario and report all mistakes at once, without running it");
  add_scenario_arguments(*check, check_arguments);
  CLI::App* list =
      app.add_subcommand("list", "what the program knows: models, devices, instances, policies, strategies, formats");
  list->add_option("what", what, "one of them")->required()->check(CLI::IsMember(listable()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kOk;
    suggest_command(argc, argv);
    return kUsage;
  }
  Eigen::setCpuCacheSizes(32768, 262144, 2097152);  // matrix products block by these: the same bytes on every machine
  const int status = guarded(app, run_arguments, check_arguments, what);
  if (std::fflush(stdout) == 0) return status;
  fmt::print(stderr, "standard output cannot be written\n");
  return status == kOk ? kInvalidInput : status;
}

}  // namespace

}  // namespace rehearse::cli

int main(int argc, char** argv) { return rehearse::cli::main(argc, argv); }
