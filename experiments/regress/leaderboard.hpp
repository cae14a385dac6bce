// The leaderboard: every shipped policy, and the user's own, in the worlds of a frozen suite (docs/guide/leaderboard.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/leaderboard.hpp"

namespace rehearse::scenarios {

/// FOLDER/suite.json: {"version", "worlds", "tracks": [{"scenario", "metric"}]}.
struct LeaderboardSuite {
  struct Track {
    std::string scenario;  ///< NAME.json in the folder
    std::string metric;    ///< of repetitions.csv, of which less is better and which is above 0
  };
  std::string folder, version;
  int worlds = 0;  ///< half of them are public
  std::vector<Track> tracks;
  std::string sha256;  ///< of suite.json and its scenarios: two scores with different ones cannot be compared
};

/// Throws sim::InputError.
LeaderboardSuite read_leaderboard(const std::string& folder);

struct LeaderboardOptions {
  std::string out;                    ///< results go to OUT/TRACK-public and OUT/TRACK-drawn
  std::vector<std::string> policies;  ///< files, each with a policy as a scenario has it
  std::optional<std::uint64_t> seed;  ///< draws the other half; none: the public half alone
  int worlds = 0;                     ///< instead of the suite's; 0: those
  int processes = 0;
  bool sandbox = true;  ///< processes of own policies: without network, all files read-only (experiments/process/sandbox.hpp)
};

struct TrackResult {
  LeaderboardSuite::Track track;
  std::string reference;
  std::vector<report::LeaderboardRow> rows;
};

/// Throws sim::InputError, Interrupted, CheckFailed.
std::vector<TrackResult> score(const LeaderboardSuite& suite, const LeaderboardOptions& options);

}  // namespace rehearse::scenarios
