// The command `leaderboard`: where do policies stand?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace rehearse::cli {

struct LeaderboardArguments {
  std::string suite = "scenarios/leaderboard";
  std::vector<std::string> policies;  ///< files
  std::optional<std::uint64_t> seed;
  int worlds = 0;
  std::string out = "results/leaderboard";
  int processes = 0;
  bool no_sandbox = false;
  std::string markdown;  ///< a file to write; may be empty
};

void add_leaderboard_command(Command app, LeaderboardArguments& arguments);
int leaderboard_command(const LeaderboardArguments& arguments);

}  // namespace rehearse::cli
