// Fits the links between the workers of an instance, and its parameter servers, to how steps of several workers compare.
#pragma once

#include <map>
#include <string>

#include "workloads/calibration/calibration.hpp"

namespace rehearse::workloads {

/// A measurement of several workers, and what one worker was measured to take in the same setting: NaN when nobody measured it.
struct ScaledOut {
  const Measurement* several = nullptr;
  double one_s = kNotMeasured;
};

/// Of a measurement of several workers; the single one is among `all`.
ScaledOut against_one(const Measurement& several, std::span<const Measurement> all);

/// Can links be fitted to it? A ring's step needs one worker's measured time beside it; where servers saturate, it shows without.
bool tells_of_links(const ScaledOut& measured);

struct LinkCalibration {
  Site site;  ///< with the fitted links, overlaps and servers
  /// How much longer one worker's step is than predicted, of settings of which no single worker was measured.
  std::map<std::string, double> worker_factor;
  std::map<std::string, double> loader_s;  ///< sim::ModelCorrection's, by subject(), where the measurements tell of it
  std::vector<FittedParameter> parameters;
  double residual_sd = 0;
  std::vector<std::string> notes;  ///< what keeps its value, and why
};

/// `site` has the device and the links to start from. All are of one site. Links come out in the model's own seconds, in which
/// one worker takes what the model says: those of the world only if the device is calibrated to the same measurements.
LinkCalibration calibrate_links(std::span<const ScaledOut> measured, const MeasurementModel& model, const Site& site);

/// Seconds of the step of several workers: the model's slowdown over one times what one was measured to take; without such a
/// measurement the model's own, with the worker's fitted time.
double scaled_out_s(const ScaledOut& measured, const MeasurementModel& model, const LinkCalibration& links);

/// The number of workers at which asynchronous workers and their servers are equally busy, n* = T_w n_ps / t_push; of synchronous
/// ones that at which exchanging takes as long as the worker's step.
double knee_workers(const ScaledOut& measured, const MeasurementModel& model, const LinkCalibration& links);

}  // namespace rehearse::workloads
