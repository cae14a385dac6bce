#include "cli/regress.hpp"

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/say.hpp"
#include "experiments/regress/regression_suite.hpp"
#include "experiments/run/results_place.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

void add_regress_command(Command app, RegressArguments& arguments) {
  Command regress = app.subcommand(
      "regress", "run the policy regression suite, and say which policies got worse since its results were recorded");
  const Option suite = regress.option(
      "suite", arguments.suite, "folder of the suite (default: scenarios/regression); with --against, of results (no default)");
  const Option update = regress.flag("--update", arguments.update, "record what the policies do now");
  const Option against =
      regress.option("--against", arguments.against, "hold results of a run against these, instead of a suite").excludes(update);
  regress.option("--out", arguments.out, "where the suite's results go (default: results/regression)").excludes(against);
  regress.flag("--replace", arguments.replace, "also where they take the place of another scenario's").excludes(against);
  regress.option("--processes", arguments.processes, "runs at once (default: as many as there are processors)").range(1, 4096);
  regress.option("--policy-seed", arguments.policy_seed, "of the policies' own random choices, instead of the scenarios'")
      .range(0, 2'000'000'000)
      .excludes(update)
      .excludes(against);
  regress.option("--policy", arguments.policies, "only this policy; may be repeated").repeated().excludes(update);
  regress.output("--markdown", arguments.markdown, "write the verdicts to this file as Markdown").excludes(update);
  regress.output("--junit", arguments.junit, "write the verdicts to this file as JUnit XML").excludes(update);
  regress.when_read([suite, against] {
    if (against.is_given() && !suite.is_given())
      refuse_option(
          "--against",
          "the folder of the results to hold against these is missing: rehearse regress RESULTS --against " + against.text());
  });
}

int regress_command(const RegressArguments& arguments) {
  std::vector<report::ScenarioFindings> found;
  if (!arguments.against.empty()) {
    for (const std::string& folder : {arguments.suite, arguments.against}) scenarios::check_results(folder);
    found.push_back(
        report::compare_folders({.recorded = arguments.against, .now = arguments.suite, .policies = arguments.policies}, {}, {}));
  } else {
    const scenarios::RegressionSuite suite = scenarios::read_suite(arguments.suite);
    const scenarios::SuiteOptions options{.out = arguments.out,
                                          .processes = arguments.processes,
                                          .replace = arguments.replace,
                                          .progress = true,
                                          .policy_seed = arguments.policy_seed,
                                          .policies = arguments.policies};
    if (arguments.update) {
      record_suite(suite, options);
      say("recorded {} in {}/recorded\n", sim::counted(static_cast<double>(suite.scenarios.size()), "scenario"), suite.folder);
      return kOk;
    }
    found = check_suite(suite, options);
  }
  if (!arguments.markdown.empty()) sim::write_file(arguments.markdown, regression_markdown(found));
  if (!arguments.junit.empty()) sim::write_file(arguments.junit, regression_junit(found));
  say("{}", regression_text(found, table_width()));
  return has_alarm(found) ? kRegression : kOk;
}

}  // namespace rehearse::cli
