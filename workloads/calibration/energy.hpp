// Energy of an epoch, predicted beside measured, and whether the best settings of a training are found in their order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/calibration/error_summary.hpp"
#include "workloads/calibration/validation.hpp"

namespace rehearse::workloads {

/// Joules of the device for one sample: an epoch's is that times its samples. NaN in both where power is not known or predicted.
struct SampleEnergy {
  double predicted_j = kNotMeasured, measured_j = kNotMeasured;
};
SampleEnergy sample_energy(const Measurement& measurement, const Predicted& predicted);

/// Spearman's rank correlation, equal values sharing their mean rank; NaN for fewer than two values or equal ones alone.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// The settings (batch, power limit) of one training on one device.
struct SettingOrder {
  std::string device, subject;
  int settings = 0;
  int best = 0;                ///< how many of the settings that took the least energy are compared: at most ten
  double correlation = 0;      ///< of predicted and measured energy among them
  double correlation_all = 0;  ///< among all settings
  double spread = 0;           ///< measured: by how much the last of the best is over the first
  double regret = 0;           ///< by how much the setting predicted best is over the measured best
};

/// One for each device and subject with power, in their order; fewer than three settings are left out.
std::vector<SettingOrder> setting_orders(std::span<const Measurement> measurements, std::span<const Predicted> predicted);

}  // namespace rehearse::workloads
