// Who stands where among many policies, and what could be told apart at all (docs/explain/model.md, "Leaderboard"). Pure: costs
// of worlds in, standings out.
#pragma once

#include <string>
#include <vector>

#include "report/statistics.hpp"
#include "report/table.hpp"

namespace rehearse::report {

/// A policy's cost in each world. All policies meet the same worlds, in the same order.
struct LeaderboardPolicy {
  std::string name;
  bool is_yardstick = false;
  std::vector<double> public_costs;  ///< in the worlds that everybody knows
  std::vector<double> drawn_costs;   ///< in those that were drawn for this scoring; empty: none were
  std::string failure = {};          ///< why there are no costs
  std::string remark = {};           ///< what to know about it
};

struct LeaderboardRow {
  std::string policy;
  bool is_yardstick = false;
  std::string failure;        ///< all else is then undefined
  int first = 0, last = 0;    ///< places that it may have: between those surely better and those surely worse; 0: no place
  Estimate saving_percent{};  ///< on the reference; an interval that holds for all policies together
  double public_saving_percent = 0;
  /// How much less it saves in the drawn worlds than in the public ones, in percent of the cost; holds for all together. NaN
  /// without drawn ones.
  Estimate lost_on_drawn_percent{};
  bool is_fitted = false;                  ///< surely better in the public worlds than in drawn ones
  double smallest_detectable_percent = 0;  ///< difference of cost from the reference that these worlds show, with the power
  double worlds_for_two_percent = 0;       ///< that would show a difference of 2 %, with the power
  double worlds = 0, fewest_worlds = 0;    ///< that decide, and below which nothing is said of what chance does
  std::string remark = {};
};

inline constexpr double kLeaderboardError = 0.05;  ///< of all that a leaderboard claims together
inline constexpr double kLeaderboardPower = 0.8;
inline constexpr double kLeaderboardStep = 0.02;  ///< the difference of cost that worlds are counted for

/// The best first, then failed ones. The drawn worlds decide where there are any: nobody could fit a policy to them. A failed
/// check when policies have different numbers of worlds or the reference is not there.
std::vector<LeaderboardRow> rank(const std::vector<LeaderboardPolicy>& policies, const std::string& reference);

/// Worlds from which on a difference of `step` between two policies is shown with kLeaderboardPower at the two-sided `error`,
/// where the logarithm of their ratio has this standard deviation over worlds. At least 2.
double worlds_needed(double deviation, double step, double error);

/// From which on an interval at the two-sided `error` is at most twice as wide as its deviation warrants: Student's quantile over
/// the normal's. Below, one world more or less changes all that is said of chance.
double fewest_worlds(double error);

std::string leaderboard_text(const std::vector<LeaderboardRow>& rows, const std::string& reference,
                             std::size_t width = kTerminalWidth);
std::string leaderboard_markdown(const std::vector<LeaderboardRow>& rows, const std::string& reference);

}  // namespace rehearse::report
