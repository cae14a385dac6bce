// Predictions beside measurements, and beside what simpler models would have said.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/calibration/stack_fit.hpp"

namespace rehearse::workloads {

/// What a prediction rests on, besides the data sheet.
enum class Ground : std::uint8_t {
  uncalibrated,  ///< nothing
  transferred,   ///< a stack's figures, or other devices' measurements
  calibrated,    ///< measurements of the device
  untestable     ///< a stack that no other laboratory has measured: there is no prediction
};
std::string_view name_of(Ground ground);

/// Seconds of one measurement's step; NaN where a model says nothing.
struct Predicted {
  Ground ground = Ground::uncalibrated;
  double model_s = kNotMeasured;
  double log_sd = kNotMeasured;   ///< of log(measured / model_s), as it is believed to be: prediction_sd()
  double power_w = kNotMeasured;  ///< of one worker's device
  /// Of several workers: what one worker was measured to take in the same setting, and that times the model's slowdown.
  double perfect_linear_s = kNotMeasured, scaled_s = kNotMeasured;
  double knee_workers = kNotMeasured;  ///< of workers with parameter servers, under a hold-out: see link_calibration.hpp
  /// Baselines, each from the device's other measurements of one worker: those of other models (kernels: other shapes), or under
  /// a hold-out those that are not held back.
  double flops_only_s = kNotMeasured;     ///< the median of seconds a FLOP
  double regression_s = kNotMeasured;     ///< linear in FLOPs, bytes and operations, least squares on relative errors
  double straight_line_s = kNotMeasured;  ///< in the batch, of the same model and threads: needs two other batch sizes
};

/// One a measurement. `sites` has one a measurement, on the stack that is meant for it unless stacks are held out: then they are
/// as data sheets have them, and what one laboratory measured with one of `stacks` is predicted by the fits of the others' rows
/// with it (stack_sets(), fit_stack(), mean_stack()), its multi-worker rows not at all. With another hold-out, each device is
/// calibrated on its single-worker measurements outside of a fold, to predict those inside, but for devices those of each of
/// `stacks` on their own; measurements of several workers then have no model_s.
std::vector<Predicted> predict(std::span<const Measurement> measurements, std::span<const Site> sites,
                               const MeasurementModel& model, std::optional<HoldOut> hold_out,
                               std::span<const sim::Stack> stacks = {});

// Curves of throughput against workers with parameter servers: where they bend.

/// One measured curve: everything equal but the workers.
struct Knee {
  std::string device, instance, subject;
  sim::SyncKind sync{};
  /// Where the growth from the fewest workers on, were it linear, would reach the highest throughput measured.
  double measured_workers = 0;
  /// By how many of the tested worker counts the predicted knee is off, the nearest count standing for each; of several
  /// predictions (from different halves of the curve) the worst.
  int counts_off = 0;
};

/// Of every curve of at least three worker counts with predicted knees, in a fixed order.
std::vector<Knee> knees(std::span<const Measurement> measurements, std::span<const Predicted> predicted);

}  // namespace rehearse::workloads
