// Fits a device's efficiencies to measurements on it: least squares on log(predicted / measured), robust (robust_fit.hpp), with a
// prior around the device's own values, so that a parameter that the measurements do not determine stays near its default. Each
// measured model besides has a correction: what a stack's kernels and host code make of one model is its own, at each batch size
// too. What the models have in common is a factor of the device, which models that were not measured inherit.
#pragma once

#include <map>
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
  bool absolute = false;    ///< both are of the value itself
  bool determined = false;  ///< false: the measurements say little about it; it keeps `before`, or is assumed
};

struct Calibration {
  sim::Efficiency efficiency;
  double core_bandwidth_bytes_per_s = 0;          ///< of a CPU, which rows of few threads determine
  std::vector<sim::ModelCorrection> corrections;  ///< one for each model among the measurements
  std::vector<FittedParameter> parameters;
  double residual_sd = 0;  ///< of log(predicted / measured), robust
  /// Of each subject(): nine of ten of its residuals lie within 1.645 of it, few of them drawn towards residual_sd.
  std::map<std::string, double> residual_sd_of;
  double model_spread = 0;            ///< standard deviation of the logarithms of models' factors around the common one
  double unseen_sd = 0;               ///< of the logarithm of an unseen model's factor: the spread, and the common one's own
  std::vector<std::string> warnings;  ///< why it may be badly determined
  std::vector<std::string> notes;     ///< what rests on the prior
  /// The device moved by one standard deviation in each independent direction in which the measurements leave it uncertain.
  std::vector<sim::Device> moved;
};

/// Nothing was measured: the device as it is, uncertain by the priors.
Calibration uncalibrated(const sim::Device& device);

/// Standard deviation of the logarithm of a further measurement over its prediction: what the measurements leave uncertain of the
/// device, what an unseen model's factors may be, and the residuals.
double prediction_sd(const Measurement& measurement, const Site& site, const MeasurementModel& model,
                     const Calibration& calibration);

/// 1.645 of it hold nine of ten of these absolute values (at least one) and of a further one.
double tail_sd(std::vector<double> absolute);

/// Of the logarithm of batch_factor(): how much the batch sizes that were measured leave open of another.
double batch_sd(const sim::ModelCorrection& correction, double batch);

/// The spread that is most probable of deviations from a common factor, of which the sum of the expected squares is given, under
/// a half-normal prior: the maximum of -n log t - sum / (2 t^2) - t^2 / (2 prior^2).
double most_probable_spread(int count, double sum_of_squares, double prior);

/// Seconds of `step_overhead_s` of a device of which none is known, and none was seen: the median of its prior's lower half.
double assumed_overhead_s();

/// From so many models on the spread between them is fitted; with fewer the prior's is taken.
inline constexpr int kModelsForSpread = 5;
inline constexpr double kModelSpread = 0.25;  ///< the prior's

/// The device with what was fitted.
sim::Device calibrated(sim::Device device, const Calibration& calibration);

struct FitOptions {
  /// What batch sizes make of each model is its own; else nothing of a model hangs on its batch but what is modelled.
  bool by_batch = true;
  /// A step's overhead that is not told from launches is assumed_overhead_s() where that makes the measurements more probable.
  bool assumes_overhead = true;
};

/// Of one device, from measurements of one worker each (sim::check) and the site of each; the sites' devices have the same
/// efficiency and differ at most in the part of the CPU that they own. No measurement: default efficiencies, with a warning.
Calibration calibrate(std::span<const Measurement> measurements, std::span<const Site> sites, const MeasurementModel& model,
                      const FitOptions& options = {});

/// Ways to hold measurements back: every other batch size of each model (kernels: every other shape of each kind), one model
/// (kind) at a time, every other power limit of each model and batch size, one device at a time, or all that one laboratory
/// measured with a stack.
enum class HoldOut : std::uint8_t { batches, models, limits, devices, stacks };

/// What was fitted to one device, and what was believed of it before.
struct FittedDevice {
  sim::Device before;
  Calibration calibration;
};
/// A device of which only the data sheet is known, with what belongs to models and software: geometric means of the others'
/// corrections and common factors, arithmetic ones of overheads and shares; of n others' efficiencies and launches over those
/// that they had before n/(n + 1) of the mean logarithm.
sim::Device transferred(sim::Device to, std::span<const FittedDevice> from);

/// For each fold the indices of the measurements held back; together all of them, each once. A subject with a single batch size
/// is never alone in a fold of `batches`. Not of `devices` and `stacks`, whose measurements are of several devices.
std::vector<std::vector<std::size_t>> folds(std::span<const Measurement> measurements, HoldOut by);

}  // namespace rehearse::workloads
