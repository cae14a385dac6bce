#include "report/leaderboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/table.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::report {

namespace {

/// A mean of logarithms of cost ratios over worlds.
struct LogMean {
  double mean = 0, deviation = 0, worlds = 0;
  double standard_error() const { return deviation / std::sqrt(worlds); }
};

LogMean log_mean(const std::vector<double>& costs, const std::vector<double>& reference) {
  sim::check(costs.size() == reference.size() && costs.size() >= 2, "policies of a leaderboard have the same worlds");
  LogMean found{.worlds = static_cast<double>(costs.size())};
  for (std::size_t w = 0; w < costs.size(); ++w) found.mean += std::log(costs[w] / reference[w]) / found.worlds;
  double squares = 0;
  for (std::size_t w = 0; w < costs.size(); ++w) {
    const double off = std::log(costs[w] / reference[w]) - found.mean;
    squares += off * off;
  }
  found.deviation = std::sqrt(squares / (found.worlds - 1));
  return found;
}

/// 100 (1 - exp(log)): what is saved where costs have this ratio.
double saved_percent(double log) { return -100 * std::expm1(log) + 0.0; }  // no -0

const std::vector<double>& deciding(const LeaderboardPolicy& policy) {
  return policy.drawn_costs.empty() ? policy.public_costs : policy.drawn_costs;
}

bool is_defined(const std::vector<double>& costs) {
  return std::all_of(costs.begin(), costs.end(), [](double cost) { return std::isfinite(cost) && cost > 0; });
}

LeaderboardRow measure(const LeaderboardPolicy& policy, const LeaderboardPolicy& reference, double comparisons) {
  const double error = kLeaderboardError / comparisons;
  const LogMean ratio = log_mean(deciding(policy), deciding(reference));
  const LogMean known = log_mean(policy.public_costs, reference.public_costs);
  const double t = sim::student_quantile(1 - error / 2, ratio.worlds - 1), half = t * ratio.standard_error();
  LeaderboardRow row{.policy = policy.name, .is_yardstick = policy.is_yardstick, .failure = {}, .remark = policy.remark};
  row.worlds = ratio.worlds;
  row.fewest_worlds = fewest_worlds(error);
  row.saving_percent = {saved_percent(ratio.mean), saved_percent(ratio.mean + half), saved_percent(ratio.mean - half)};
  row.public_saving_percent = saved_percent(known.mean);
  row.smallest_detectable_percent =
      saved_percent(-(t + sim::student_quantile(kLeaderboardPower, ratio.worlds - 1)) * ratio.standard_error());
  row.worlds_for_two_percent = worlds_needed(ratio.deviation, kLeaderboardStep, error);
  row.smallest_detectable_percent = std::abs(row.smallest_detectable_percent);
  row.lost_on_drawn_percent = {sim::kNan, sim::kNan, sim::kNan};
  if (policy.drawn_costs.empty()) return row;
  // Worlds of the halves have nothing to do with each other: Welch's error, with the smaller half's degrees of freedom.
  const double lost = ratio.mean - known.mean, spread = std::hypot(ratio.standard_error(), known.standard_error());
  const double off = sim::student_quantile(1 - error / 2, std::min(ratio.worlds, known.worlds) - 1) * spread;
  row.lost_on_drawn_percent = {100 * std::expm1(lost), 100 * std::expm1(lost - off), 100 * std::expm1(lost + off)};
  row.is_fitted = lost - off > 0;
  return row;
}

/// Whether the first is surely cheaper than the second, in all pairs together.
bool is_cheaper(const LeaderboardPolicy& a, const LeaderboardPolicy& b, double pairs) {
  const LogMean ratio = log_mean(deciding(a), deciding(b));
  return ratio.mean + sim::student_quantile(1 - kLeaderboardError / pairs / 2, ratio.worlds - 1) * ratio.standard_error() < 0;
}

std::string two_digits(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}", value); }

std::vector<std::vector<std::string>> cells_of(const std::vector<LeaderboardRow>& rows, const std::string& reference) {
  std::vector<std::vector<std::string>> cells{{"place", "policy", "saves on " + reference + ", %", "interval", "public, %",
                                               "smallest difference, %", "worlds for 2 %", "remark"}};
  for (const LeaderboardRow& row : rows) {
    if (!row.failure.empty()) {
      cells.push_back({"-", row.policy, "-", "-", "-", "-", "-", "failed: " + row.failure});
      continue;
    }
    const std::string place = row.first == 0          ? "-"
                              : row.first == row.last ? fmt::format("{}", row.first)
                                                      : fmt::format("{} to {}", row.first, row.last);
    const bool is_reference = row.policy == reference;
    std::string remark = row.is_yardstick ? "yardstick" : is_reference ? "reference" : "";
    if (!row.remark.empty()) remark += (remark.empty() ? "" : ", ") + row.remark;
    const bool says_nothing = row.worlds < row.fewest_worlds;
    if (row.is_fitted)
      remark += fmt::format("{}fitted to the public worlds: costs {} % more in drawn ones", remark.empty() ? "" : ", ",
                            two_digits(row.lost_on_drawn_percent.mean));
    cells.push_back(
        {place, row.policy, two_digits(row.saving_percent.mean),
         says_nothing
             ? "too few worlds"
             : fmt::format("[{}, {}]", two_digits(row.saving_percent.ci95_low), two_digits(row.saving_percent.ci95_high)),
         two_digits(row.public_saving_percent), is_reference || says_nothing ? "-" : two_digits(row.smallest_detectable_percent),
         is_reference || says_nothing ? "-" : fmt::format("{:.0f}", row.worlds_for_two_percent), remark});
  }
  return cells;
}

}  // namespace

double worlds_needed(double deviation, double step, double error) {
  const double difference = -std::log1p(-step);
  double worlds = 2;
  // Student's quantiles fall with the worlds: the least number that suffices is the first.
  constexpr double kMost = 1e6;
  while (worlds < kMost) {
    const double t = sim::student_quantile(1 - error / 2, worlds - 1) + sim::student_quantile(kLeaderboardPower, worlds - 1);
    const double wanted = t * deviation / difference;
    if (wanted * wanted <= worlds) break;
    worlds = std::max(worlds + 1, std::floor(std::min(wanted * wanted, 1.05 * worlds)));
  }
  return worlds;
}

double fewest_worlds(double error) {
  const double normal = sim::normal_quantile(1 - error / 2);
  double worlds = 2;
  while (sim::student_quantile(1 - error / 2, worlds - 1) > 2 * normal) ++worlds;
  return worlds;
}

std::vector<LeaderboardRow> rank(const std::vector<LeaderboardPolicy>& policies, const std::string& reference) {
  const auto at = std::find_if(policies.begin(), policies.end(), [&](const auto& p) { return p.name == reference; });
  sim::check(at != policies.end() && at->failure.empty(), "the reference of a leaderboard is there");
  std::vector<const LeaderboardPolicy*> placed;
  std::vector<LeaderboardRow> rows, failed;
  const auto comparisons = static_cast<double>(std::max<std::size_t>(1, policies.size() - 1));
  for (const LeaderboardPolicy& policy : policies) {
    std::string failure = policy.failure;
    if (failure.empty() && !(is_defined(policy.public_costs) && is_defined(policy.drawn_costs)))
      failure = "its cost is undefined in a world";
    if (!failure.empty()) {
      failed.push_back({.policy = policy.name, .is_yardstick = policy.is_yardstick, .failure = failure});
      continue;
    }
    rows.push_back(measure(policy, *at, comparisons));
    if (!policy.is_yardstick) placed.push_back(&policy);
  }
  const double pairs =
      0.5 * static_cast<double>(placed.size()) * static_cast<double>(std::max<std::size_t>(2, placed.size()) - 1);
  for (LeaderboardRow& row : rows) {
    const auto me = std::find_if(placed.begin(), placed.end(), [&](const auto* p) { return p->name == row.policy; });
    if (me == placed.end()) continue;
    row.first = 1;
    row.last = static_cast<int>(placed.size());
    for (const LeaderboardPolicy* other : placed) {
      if (other == *me) continue;
      row.first += is_cheaper(*other, **me, pairs);
      row.last -= is_cheaper(**me, *other, pairs);
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.saving_percent.mean > b.saving_percent.mean; });
  rows.insert(rows.end(), failed.begin(), failed.end());
  return rows;
}

std::string leaderboard_text(const std::vector<LeaderboardRow>& rows, const std::string& reference, std::size_t width) {
  return aligned(cells_of(rows, reference), {true, true, false, false, false, false, false, true}, {}, width);
}

std::string leaderboard_markdown(const std::vector<LeaderboardRow>& rows, const std::string& reference) {
  std::string text;
  bool is_head = true;
  for (const std::vector<std::string>& line : cells_of(rows, reference)) {
    text += "|";
    for (std::string cell : line) {
      for (std::size_t bar = 0; (bar = cell.find('|', bar)) != cell.npos; bar += 2) cell.insert(bar, "\\");
      std::replace(cell.begin(), cell.end(), '\n', ' ');
      text += " " + cell + " |";
    }
    text += is_head ? "\n|---|---|---:|---|---:|---:|---:|---|\n" : "\n";
    is_head = false;
  }
  return text;
}

}  // namespace rehearse::report
