// The least energy by measurements alone: settings (batch, power limit) of one training on one device whose epochs were timed,
// and runs at each batch that took so many epochs to the target (Zeus: You et al., NSDI 2023).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rehearse::policies {

struct MeasuredSetting {
  double batch = 0, power_limit_w = 0;
  double epoch_s = 0, power_w = 0;
};

struct SettingRuns {
  double batch = 0;
  std::vector<double> epochs;  ///< to the target, of each run; NaN: never
};

struct MeasuredTraining {
  std::vector<MeasuredSetting> settings;
  std::vector<SettingRuns> runs;
};

/// Means over the runs at the setting's batch.
struct SettingOutcome {
  std::size_t setting = 0;  ///< into MeasuredTraining::settings
  double energy_j = 0, time_s = 0;
};

/// Of every setting at a batch of which all runs reached the target, least energy first.
std::vector<SettingOutcome> outcomes(const MeasuredTraining& training);

/// The least mean energy within the deadline; none when nothing keeps it.
std::optional<SettingOutcome> least_energy(const MeasuredTraining& training, double deadline_s);

/// As `least_energy` without a deadline, but with curves through a part of the settings' power and time (`measured`, by setting):
/// what a user who profiles some settings only would choose from all of them.
std::optional<SettingOutcome> least_energy_from(const MeasuredTraining& training, const std::vector<bool>& measured);

/// How often each setting has the least mean energy when the runs at each batch are drawn again, with replacement; shares by
/// setting, 0 for those that cannot win.
std::vector<double> win_shares(const MeasuredTraining& training, int draws, std::uint64_t random_key);

}  // namespace rehearse::policies
