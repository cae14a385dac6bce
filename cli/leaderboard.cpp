#include "cli/leaderboard.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "experiments/regress/leaderboard.hpp"
#include "sim/base/version.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

void add_leaderboard_command(Command app, LeaderboardArguments& arguments) {
  Command board = app.subcommand(
      "leaderboard", "rank all shipped policies, and your own, in the worlds of a frozen suite (docs/guide/leaderboard.md)");
  board.option("suite", arguments.suite, "folder of the suite (default: scenarios/leaderboard)");
  board.option("--policy", arguments.policies, "a JSON file with a policy, as scenarios have them; may be repeated").repeated();
  board
      .option("--seed", arguments.seed,
              "draws the half of the worlds that decides; choose it when you score (default: public half)")
      .range(0, 2'000'000'000);
  board.option("--worlds", arguments.worlds, "both halves together (default: the suite's)").range(4, 100'000);
  board.option("--out", arguments.out, "where results go (default: results/leaderboard)");
  board.option("--processes", arguments.processes, "runs at once (default: as many as there are processors)").range(1, 4096);
  board.flag("--no-sandbox", arguments.no_sandbox, "run processes of policies with your rights, network and files included");
  board.output("--markdown", arguments.markdown, "write the page to this file as well");
}

int leaderboard_command(const LeaderboardArguments& arguments) {
  const scenarios::LeaderboardSuite suite = scenarios::read_leaderboard(arguments.suite);
  const auto results = scenarios::score(suite, {.out = arguments.out,
                                                .policies = arguments.policies,
                                                .seed = arguments.seed,
                                                .worlds = arguments.worlds,
                                                .processes = arguments.processes,
                                                .sandbox = !arguments.no_sandbox});
  const int worlds = (arguments.worlds > 0 ? arguments.worlds : suite.worlds) / 2;
  const std::string drawn =
      arguments.seed ? fmt::format("{} drawn worlds of seed {} decide, {} public ones beside", worlds, *arguments.seed, worlds)
                     : fmt::format("{} public worlds alone: --seed N draws those that decide", worlds);
  const std::string head = fmt::format("suite {}, SHA-256 {}: {}", suite.version, suite.sha256, drawn);
  std::string page = fmt::format(
      "# Leaderboard\n\nRehearse {}, {}.\n\nA place is a range where the worlds do not tell policies apart. Intervals hold for "
      "all "
      "policies together. [The guide](../guide/leaderboard.md) has the columns.\n",
      sim::program_version(), head);
  bool has_failed = false;
  say("{}\n", head);
  for (const scenarios::TrackResult& result : results) {
    say("\n{} by {}:\n{}", result.track.scenario, result.track.metric,
        leaderboard_text(result.rows, result.reference, table_width()));
    page += fmt::format("\n## {}, by {}\n\n{}", result.track.scenario, result.track.metric,
                        leaderboard_markdown(result.rows, result.reference));
    double fewest = 0;
    for (const report::LeaderboardRow& row : result.rows) {
      has_failed = has_failed || !row.failure.empty();
      fewest = std::max(fewest, row.fewest_worlds);
    }
    if (worlds < fewest) {
      const std::string few =
          fmt::format("{} worlds are too few to say what chance does: --worlds {:.0f} or more", worlds, 2 * fewest);
      say("{}\n", few);
      page += fmt::format("\n{}.\n", few);
    }
  }
  if (!arguments.markdown.empty()) sim::write_file(arguments.markdown, page);
  return has_failed ? kPolicyFailed : kOk;
}

}  // namespace rehearse::cli
