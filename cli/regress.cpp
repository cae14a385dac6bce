#include "cli/regress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/output_option.hpp"
#include "cli/say.hpp"
#include "experiments/regress/regression_suite.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

void add_regress_command(CLI::App& app, RegressArguments& arguments) {
  CLI::App* regress = app.add_subcommand(
      "regress", "run the policy regression suite, and say which policies got worse since its results were recorded");
  CLI::Option* suite = regress->add_option(
      "suite", arguments.suite, "folder of the suite (default: scenarios/regression); with --against, of results (no default)");
  CLI::Option* update = regress->add_flag("--update", arguments.update, "record what the policies do now");
  CLI::Option* against =
      regress->add_option("--against", arguments.against, "hold results of a run against these, instead of a suite")
          ->excludes(update);
  regress->add_option("--out", arguments.out, "where the suite's results go (default: results/regression)")->excludes(against);
  regress->add_flag("--replace", arguments.replace, "also where they take the place of another scenario's")->excludes(against);
  regress->add_option("--processes", arguments.processes, "runs at once (default: as many as there are processors)")
      ->check(CLI::Range(1, 4096));
  regress->add_option("--policy-seed", arguments.policy_seed, "of the policies' own random choices, instead of the scenarios'")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{2'000'000'000}))
      ->excludes(update)
      ->excludes(against);
  regress->add_option("--policy", arguments.policies, "only this policy; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->excludes(update);
  add_output_option(*regress, "--markdown", arguments.markdown, "write the verdicts to this file as Markdown")->excludes(update);
  add_output_option(*regress, "--junit", arguments.junit, "write the verdicts to this file as JUnit XML")->excludes(update);
  regress->parse_complete_callback([suite, against] {
    if (against->count() > 0 && suite->count() == 0)
      throw CLI::ValidationError(
          "--against", "the folder of the results to hold against these is missing: rehearse regress RESULTS --against " +
                           against->as<std::string>());
  });
}

int regress_command(const RegressArguments& arguments) {
  std::vector<report::ScenarioFindings> found;
  if (!arguments.against.empty()) {
    found.push_back(report::compare_folders(
        {.recorded = arguments.against, .now = arguments.suite, .policies = arguments.policies}, report::default_rules(), {}));
  } else {
    const scenarios::RegressionSuite suite = scenarios::read_suite(arguments.suite);
    const scenarios::SuiteOptions options{.out = arguments.out,
                                          .processes = arguments.processes,
                                          .replace = arguments.replace,
                                          .progress = isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr,
                                          .policy_seed = arguments.policy_seed,
                                          .policies = arguments.policies};
    if (arguments.update) {
      record_suite(suite, options);
      say("recorded {} scenarios in {}/recorded\n", suite.scenarios.size(), suite.folder);
      return kOk;
    }
    found = check_suite(suite, options);
  }
  if (!arguments.markdown.empty()) sim::write_file(arguments.markdown, regression_markdown(found));
  if (!arguments.junit.empty()) sim::write_file(arguments.junit, regression_junit(found));
  say("{}", regression_text(found));
  return has_alarm(found) ? kRegression : kOk;
}

}  // namespace rehearse::cli
