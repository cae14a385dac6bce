#include "workloads/calibration/error_summary.hpp"

#include <cmath>
#include <vector>

namespace rehearse::workloads {

ErrorSummary summarise(std::span<const Compared> pairs) {
  std::vector<double> errors;
  double sum = 0, error_sum = 0;
  for (const Compared& c : pairs) {
    errors.push_back(std::abs(c.predicted_s / c.measured_s - 1));
    error_sum += errors.back();
    sum += std::log(c.predicted_s / c.measured_s);
  }
  return {.rows = static_cast<int>(pairs.size()),
          .median = quantile(errors, 0.5),
          .p90 = quantile(errors, 0.9),
          .mean = error_sum / static_cast<double>(pairs.size()),
          .bias = std::expm1(sum / static_cast<double>(pairs.size()))};
}

}  // namespace rehearse::workloads
