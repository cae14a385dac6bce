#include <fmt/format.h>

#include <algorithm>

#include "experiments/studies/spot_parts.hpp"
#include "report/statistics.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

namespace {

std::size_t place_of(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  sim::check(at != names.end(), "a spot policy that the tables need is missing");
  return static_cast<std::size_t>(at - names.begin());
}

double mean_usd(const std::vector<SpotScore>& scores) {
  double sum = 0;
  for (const SpotScore& score : scores) sum += score.usd;
  return sum / static_cast<double>(scores.size());
}

}  // namespace

std::vector<report::Table> spot_tables(const std::vector<SpotVariant>& variants, const std::vector<std::string>& names) {
  report::Table by_variant{.name = "spot",
                           .title = "A job on spot nodes, by zones, deadline (h) and restart (min)",
                           .columns = {{"zones", "zones", "{:g}"},
                                       {"deadline_h", "due", "{:g}"},
                                       {"restart_min", "restart", "{:g}"},
                                       {"policy", "policy"},
                                       {"jobs", ""},
                                       {"cost_usd", "$", "{:.2f}"},
                                       {"saving_usd", "saving, $", "{:.2f}"},
                                       {"saving_usd_ci95_low", "from", "{:.2f}"},
                                       {"saving_usd_ci95_high", "to", "{:.2f}"},
                                       {"gap_closed", "gap", "{:.2f}"},
                                       {"deadlines_missed", "missed", "{:g}"},
                                       {"overruled_steps", ""}}};
  report::Table overall{.name = "spot-policies",
                        .title = "Over all settings",
                        .columns = {{"policy", "policy"},
                                    {"cost_usd", "$", "{:.2f}"},
                                    {"gap_closed_mean", "gap, mean", "{:.2f}"},
                                    {"gap_closed_least", "least", "{:.2f}"},
                                    {"cheaper_than_uniform_progress", "cheaper in", "{:g}"},
                                    {"variants", "of", "{:g}"},
                                    {"over_staged_sdp_percent_most", "over sdp, %", "{:.1f}"},
                                    {"deadlines_missed", "missed", "{:g}"}}};
  const std::size_t rule = place_of(names, "uniform-progress"), programme = place_of(names, "staged-sdp"),
                    best = place_of(names, "omniscient");
  std::vector<std::vector<report::Cell>> rows;
  for (std::size_t p = 0; p < names.size(); ++p) {
    double usd = 0, gap_sum = 0, gap_least = 1e300, over_most = -1e300, missed_in_all = 0, cheaper = 0;
    for (const SpotVariant& variant : variants) {
      const std::vector<SpotScore>&own = variant.scores[p], &rules = variant.scores[rule];
      std::vector<double> savings;
      double missed = 0, overruled = 0;
      for (std::size_t job = 0; job < own.size(); ++job) {
        savings.push_back(rules[job].usd - own[job].usd);
        missed += own[job].kept ? 0 : 1;
        overruled += own[job].overruled;
      }
      const report::Estimate saving = report::estimate(savings);
      const double cost = mean_usd(own), gap = saving.mean / (mean_usd(rules) - mean_usd(variant.scores[best]));
      rows.push_back({static_cast<double>(variant.zones), variant.deadline_h, variant.restart_min, names[p],
                      static_cast<double>(own.size()), cost, saving.mean, saving.ci95_low, saving.ci95_high, gap, missed,
                      overruled});
      usd += cost;
      gap_sum += gap;
      gap_least = std::min(gap_least, gap);
      cheaper += saving.ci95_low > 0 ? 1 : 0;
      over_most = std::max(over_most, 100 * (cost / mean_usd(variant.scores[programme]) - 1));
      missed_in_all += missed;
    }
    const auto count = static_cast<double>(variants.size());
    overall.rows.push_back({names[p], usd / count, gap_sum / count, gap_least, cheaper, count, over_most, missed_in_all});
  }
  for (std::size_t v = 0; v < variants.size(); ++v)  // by setting, then policy
    for (std::size_t p = 0; p < names.size(); ++p) by_variant.rows.push_back(rows[p * variants.size() + v]);
  std::vector<report::Table> tables;
  tables.push_back(std::move(by_variant));
  tables.push_back(std::move(overall));
  return tables;
}

}  // namespace rehearse::scenarios
