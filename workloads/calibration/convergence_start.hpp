// Parameters of a pair's convergence that a fit may move, each with a prior, as one vector around 0.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/calibration/convergence_fit.hpp"
#include "workloads/calibration/convergence_runs.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::workloads {

/// What moves by equal steps: the parameter, its logarithm, or log(x / (1 - x)).
enum class ParameterScale : std::uint8_t { linear, log, logit };

struct FreeParameter {
  std::string name;
  ParameterScale scale = ParameterScale::log;
  double usual = 1;          ///< the prior's centre
  double sd = 1;             ///< the prior's, on the scale
  double low = 0, high = 1;  ///< bounds, in the parameter's unit
  std::function<void(ConvergenceParameters&, double)> set;
};

class FreeParameters {
 public:
  void add(FreeParameter parameter) { all_.push_back(std::move(parameter)); }
  void add(const FreeParameters& others) { all_.insert(all_.end(), others.all_.begin(), others.all_.end()); }
  /// Multiplies the centre of each whose name ends so.
  void shift(std::string_view name_ends, double factor);

  /// Least squares from the centres; `smallest_scale` as FitProblem has it. Puts the result into `c`.
  FitResult fit(ConvergenceParameters& c, const std::function<Eigen::VectorXd(const ConvergenceParameters&)>& residuals,
                double smallest_scale) const;
  std::vector<FittedConvergence::Parameter> told(const FitResult& result) const;

 private:
  double value(std::size_t i, double theta) const;

  std::vector<FreeParameter> all_;
};

// Where a fit of a pair's convergence starts: how many knots and phases its measurements can tell of, where they are, and what is
// usual for each parameter.

struct FitStart {
  ConvergenceParameters parameters;  ///< knots, phases and what is not fitted; the rest is at its start
  FreeParameters noise, rates, phases;
};

/// The pair has measurements (sim::check).
FitStart start_of(const MeasuredPair& pair, double reference_batch);

}  // namespace rehearse::workloads
