// How far predictions are from measurements.
#pragma once

#include <span>

#include "sim/base/statistics.hpp"

namespace rehearse::workloads {

struct Compared {
  double predicted_s = 0, measured_s = 0;  ///< both above 0
};

/// Relative to the measurement: 0.1 is 10 %.
struct ErrorSummary {
  int rows = 0;
  double median = 0;  ///< of |predicted / measured - 1|
  double p90 = 0;     ///< its 90th percentile
  double mean = 0;    ///< its mean, as others publish it
  double bias = 0;    ///< exp(mean of log(predicted / measured)) - 1: above 0 where predictions are too long
};

/// NaN in all fields without rows.
ErrorSummary summarise(std::span<const Compared> pairs);

using sim::quantile;

}  // namespace rehearse::workloads
