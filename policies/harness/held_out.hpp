// How good an estimator is on networks that it has not seen, beside a regression on FLOPs alone.
#pragma once

#include "policies/harness/estimator.hpp"

namespace rehearse::policies {

/// Relative errors |predicted/measured - 1|.
struct ErrorSpread {
  double median = 0, p90 = 0, mean = 0;
};

struct HeldOut {
  int networks = 0, rows = 0;
  ErrorSpread step_time, flops_only;  ///< of the same rows, by the same folds
  ErrorSpread energy, memory;         ///< zeros where they were not measured
  double coverage = 0;                ///< share of the times that lie in their interval, which is made for 0.8
};

/// Each network is predicted by an estimator that was fitted, its terms chosen included, without the fold it is in.
HeldOut held_out(std::span<const ProfiledStep> steps, double peak_flops, int folds = 5);

}  // namespace rehearse::policies
