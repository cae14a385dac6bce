#include "workloads/fidelity/error_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace rehearse::workloads {

double quantile(std::span<const double> values, double q) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  if (sorted[low] == sorted[high]) return sorted[low];  // infinities have no difference
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

ErrorSummary summarise(std::span<const Compared> pairs) {
  std::vector<double> errors;
  double sum = 0;
  for (const Compared& c : pairs) {
    errors.push_back(std::abs(c.predicted_s / c.measured_s - 1));
    sum += std::log(c.predicted_s / c.measured_s);
  }
  return {.rows = static_cast<int>(pairs.size()),
          .median = quantile(errors, 0.5),
          .p90 = quantile(errors, 0.9),
          .bias = std::expm1(sum / static_cast<double>(pairs.size()))};
}

}  // namespace rehearse::workloads
