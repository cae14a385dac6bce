#include "experiments/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/embedded.hpp"
#include "cli/load.hpp"
#include "cli/say.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/studies/study.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"

namespace rehearse::cli {

namespace {

void print_results(const scenarios::Scenario& scenario, const std::string& out) {
  say("Results: {}\n", out);
  if (scenario.output.report && report_page().empty())
    say("This program was built without the HTML report; \"rehearse report\" says how to get it.\n");
}

int run_study_command(scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  bool policy_failed = false;
  const report::StudySummary summary = scenarios::run_study(scenario, options, policy_failed);
  if (!scenario.description.empty()) say("{}: {}\n\n", scenario.name, scenario.description);
  say_inputs(summary.inputs);
  for (const std::string& finding : summary.findings) say("{}", wrapped(finding));
  if (!summary.findings.empty()) say("\n");
  for (const report::Table& table : summary.tables)
    if (const std::string text = report::shown_table(table, summary.yardsticks, table_width()); !text.empty()) say("{}\n", text);
  for (const std::string& note : summary.notes) say("{}\n", note);
  say("\n");
  print_results(scenario, options.out);
  if (!summary.figures_left_out.empty()) say("{}\n", summary.figures_left_out);
  return policy_failed ? kPolicyFailed : kOk;
}

}  // namespace

int run_command(const RunArguments& arguments) {
  const auto scenario = load(arguments.scenario);
  for (const std::string& warning : scenario->warnings) say(stderr, "warning: {}\n", warning);
  const std::string out = arguments.out.empty() ? "results/" + scenario->name : arguments.out;
  const scenarios::RunOptions options{.out = out,
                                      .replace = arguments.replace,
                                      .keep_finished = true,
                                      .resume = arguments.resume,
                                      .processes = arguments.processes,
                                      .progress = true,
                                      .report_page = report_page(),
                                      .certify = arguments.certify,
                                      .watch = arguments.watch};
  if (scenario->study && arguments.resume)
    throw sim::InputError({.file = arguments.scenario.path,
                           .pointer = "/study",
                           .expected = "a scenario without a study (a study begins anew)",
                           .found = "\"" + scenario->study_name + "\" and --resume"});
  if (!scenario->study) warn_of_size(estimate_run(*scenario, processes_of(options)));
  if (scenario->study) return run_study_command(*scenario, options);
  const report::Summary summary = scenarios::run_scenario(*scenario, options);
  if (!scenario->description.empty()) say("{}: {}\n\n", scenario->name, scenario->description);
  say_inputs(summary.inputs);
  say_in_colour(terminal_table(summary, {.in_colour = takes_colour(stdout), .width = table_width()}) + "\n");
  print_results(*scenario, out);
  int status = kOk;
  for (const report::SummaryRow& row : summary.rows)
    if (!row.ok && status != kBug) status = scenarios::names_our_bug(row.reason) ? kBug : kPolicyFailed;
  return status;
}

}  // namespace rehearse::cli
