// What the study `spot` is asked, and what comes of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/staged/spot/zone_process.hpp"
#include "report/table.hpp"

namespace rehearse::scenarios {

/// The availability of one zone, step by step, from one date on.
struct ZoneSeries {
  std::string date, zone;
  std::vector<std::uint8_t> up;
  std::optional<policies::ZoneProcess> process = {};  ///< from which it was drawn
};

/// Zones to learn from and zones to be tried on; none is both.
struct SpotFold {
  std::vector<std::string> train, test;
};

struct SpotQuestion {
  double work_h = 48, step_s = 180, on_demand_usd_per_hour = 0, spot_usd_per_hour = 0;
  std::vector<double> deadlines_h, restarts_min;
  std::vector<SpotFold> folds;
  int jobs = 0;  ///< for each date at which all test zones of a fold were watched
  bool ablations = false;
  bool bound = false;  ///< the dual, too; of series that were drawn, and folds that try one zone
  std::vector<ZoneSeries> series;

  int steps(double seconds) const;  ///< rounded up
  policies::SpotTerms terms(double deadline_h, double restart_min) const;
  double longest_deadline_h() const;
  /// For each date at which all test zones of the fold were watched, their series.
  std::vector<std::vector<const ZoneSeries*>> tests_of(const SpotFold& fold) const;
};

/// One policy's job: money, whether the deadline was kept, and steps in which the mask overruled the policy.
struct SpotScore {
  double usd = 0;
  bool kept = true;
  int overruled = 0;
};

/// In one setting: scores[policy][job], policies as in spot_policy_names, bounds last.
struct SpotVariant {
  std::size_t zones = 1;
  double deadline_h = 0, restart_min = 0;
  std::vector<std::vector<SpotScore>> scores;
};

std::vector<std::string> spot_policy_names(bool ablations, bool bound = false);

/// Fold by fold, that of a fold's settings in the order restarts, deadlines.
std::vector<SpotVariant> run_spot_fold(const SpotQuestion& question, std::size_t fold, std::uint64_t seed);

/// What the policies cost in each setting, and over all settings.
std::vector<report::Table> spot_tables(const std::vector<SpotVariant>& variants, const std::vector<std::string>& names);

}  // namespace rehearse::scenarios
