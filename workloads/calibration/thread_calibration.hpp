// Fits what a CPU's time against threads depends on beyond its efficiencies (sim::Threading, docs/explain/step.md, "Threads") to kernels
// that were measured with several numbers of threads.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/error_summary.hpp"

namespace rehearse::workloads {

/// One kernel's measurements, by number of threads: indices, fewest threads first; at least two.
using ThreadCurve = std::vector<std::size_t>;
std::vector<ThreadCurve> thread_curves(std::span<const Measurement> measurements);

/// Seconds of a measured kernel (sim::check) by the equation of threads, alone on the CPU.
double threaded_kernel_s(const Measurement& measurement, const sim::Device& cpu);

struct ThreadCurveErrors {
  ErrorSummary times;     ///< of all points of the curves
  ErrorSummary speedups;  ///< time with the fewest threads over that with more
};
ThreadCurveErrors thread_curve_errors(std::span<const Measurement> measurements, std::span<const ThreadCurve> curves,
                                      const std::function<double(const Measurement&)>& predicted_s);

struct ThreadCalibration {
  sim::Threading threading;
  std::vector<FittedParameter> parameters;
};

/// Of a CPU whose efficiencies are calibrated: least squares on the logarithms of speed-ups, in which what a kernel's level is
/// wrong by cancels. Nothing without curves.
std::optional<ThreadCalibration> calibrate_threads(std::span<const Measurement> measurements, const sim::Device& cpu);

}  // namespace rehearse::workloads
