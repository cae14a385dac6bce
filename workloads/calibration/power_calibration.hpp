// Fits the power law of a device to mean watts, and to the seconds of steps under power limits.
#pragma once

#include "workloads/calibration/calibration.hpp"

namespace rehearse::workloads {

struct PowerCalibration {
  sim::PowerLaw law;
  std::vector<FittedParameter> parameters;
  std::vector<sim::ModelCorrection> corrections;  ///< the device's, with power factors
  double residual_sd = 0;                         ///< of log(predicted / measured), watts and seconds
};

/// Does it say anything about power? A kernel never does.
bool has_power(const Measurement& measurement);

/// Everything equal but the power limit?
bool same_setting(const Measurement& a, const Measurement& b);

/// Of each setting the measurement with the highest power limit, or without one: indices. What is left says nothing about the
/// device but its power law.
std::vector<std::size_t> least_limited(std::span<const Measurement> measurements);

/// Of one device whose efficiency is calibrated; as calibrate(). Some measurement has_power() (sim::check).
PowerCalibration calibrate_power(std::span<const Measurement> measurements, std::span<const Site> sites,
                                 const MeasurementModel& model);

/// The device with what was fitted.
sim::Device calibrated(sim::Device device, const PowerCalibration& calibration);

/// Efficiency from the least limited measurements, then the power law from all, if any says something about power.
struct DeviceCalibration {
  Calibration time;
  std::optional<PowerCalibration> power;
};
DeviceCalibration calibrate_device(std::span<const Measurement> measurements, std::span<const Site> sites,
                                   const MeasurementModel& model, FitOptions options = {});
sim::Device calibrated(sim::Device device, const DeviceCalibration& calibration);

}  // namespace rehearse::workloads
