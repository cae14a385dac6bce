// Fits a device's efficiencies to measurements on it: least squares on log(predicted / measured), robust (robust_fit.hpp), with a
// prior around the device's own values, so that a parameter that the measurements do not determine stays near its default. Each
// measured model besides has a correction, with a prior around 1: what a stack's kernels and host code make of one model is its
// own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/calibration/measurement.hpp"

namespace rehearse::workloads {

struct FittedParameter {
  std::string name;         ///< as in a catalogue's "efficiency" or, of a CPU, its device
  double value = 0;         ///< in the catalogue's unit
  double before = 0;        ///< the device's
  double relative_sd = 0;   ///< posterior standard deviation of its logarithm
  double prior_sd = 0;      ///< of the prior, likewise
  bool determined = false;  ///< false: the measurements say little about it, and it keeps `before`
};

struct Calibration {
  sim::Efficiency efficiency;
  double core_bandwidth_bytes_per_s = 0;          ///< of a CPU, which rows of few threads determine
  std::vector<sim::ModelCorrection> corrections;  ///< one for each model among the measurements
  std::vector<FittedParameter> parameters;
  double residual_sd = 0;             ///< of log(predicted / measured), robust
  std::vector<std::string> warnings;  ///< why it may be badly determined
};

/// The device with what was fitted.
sim::Device calibrated(sim::Device device, const Calibration& calibration);

/// Of one device, from measurements of one worker each (sim::check) and the place of each; the places' devices have the same
/// efficiency and differ at most in the part of the CPU that they own. No measurement: default efficiencies, with a warning.
Calibration calibrate(std::span<const Measurement> measurements, std::span<const Place> places, const MeasurementModel& model);

/// Ways to hold measurements back: every other batch size of each model (kernels: every other shape of each kind), one model
/// (kind) at a time, or every other power limit of each model and batch size.
enum class HoldOut : std::uint8_t { batches, models, limits };

/// For each fold the indices of the measurements held back; together all of them, each once. A subject with a single batch size
/// is never alone in a fold of `batches`.
std::vector<std::vector<std::size_t>> folds(std::span<const Measurement> measurements, HoldOut by);

}  // namespace rehearse::workloads
