// What is believed of a job's models before it trains: the tables as they stand, corrected by past runs of the same profile.
// Staged strategies go on correcting it by the job's own stages.
#pragma once

#include <map>
#include <vector>

#include "policies/configure/configure.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

/// Of a run's examples factor: the standard deviation of its logarithm (docs/explain/model.md, "World and belief").
inline constexpr double kExamplesSpread = 0.07;

/// Means, and the standard deviations of logarithms that are left around them.
struct Prior {
  workloads::Revision mean;
  double noise_scale_spread = 0.3;
  std::vector<double> speed_spreads;  ///< of step times by pool
  double other_speed_spread = 0.1;    ///< of pools that are not among them
  double examples_spread = kExamplesSpread;
  double ceiling_spread = 0.003;  ///< of accuracies
  /// By which all that errs, readings included, was seen to err more than these spreads say.
  double error_factor = 1;

  double speed_spread(std::size_t pool) const { return pool < speed_spreads.size() ? speed_spreads[pool] : other_speed_spread; }
};

/// Gaussian posterior of logarithms, given the view's past runs of the job's profile. Step times of a pool: runs of its
/// instance, each weighing the less the more of its step is synchronisation, which errs on its own. Noise scale and ceiling
/// together: the accuracies of runs on all instances, linearised (Gauss-Newton); each run's own examples factor is part of the
/// noise. Without past runs what the tables say. `spread_factor` multiplies the spreads that are believed in before any run.
/// The error factor is sqrt((1 + chi2) / (1 + n)) of n readings, chi2 the squares of what they were off by over what was believed
/// of that, at the posterior's mode: a scale's posterior with a prior that is worth one reading (Kass and Wasserman 1995).
/// Readings are the accuracies, and of each pool the mean speed.
Prior prior_of(const ConfigureView& view, const workloads::Belief& belief, double spread_factor = 1);
/// Without past runs.
Prior untold_prior(double spread_factor);

/// Priors by profile, each made once.
class Priors {
 public:
  /// `learns`: from past runs; `errors`: of them also how wide the spreads are that are believed in before any run, by the error
  /// factor (empirical Bayes).
  explicit Priors(bool learns = true, double spread_factor = 1, bool errors = false)
      : learns_(learns), errors_(errors), spread_factor_(spread_factor) {}
  const Prior& of(const ConfigureView& view, const workloads::Belief& belief);

 private:
  const bool learns_, errors_;
  const double spread_factor_;
  std::map<int, Prior> priors_;
};

}  // namespace rehearse::policies
