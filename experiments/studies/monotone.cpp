#include "experiments/studies/monotone.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rehearse::scenarios {

namespace {

double fraction(int part, int whole) {
  return whole > 0 ? static_cast<double>(part) / whole : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double MonotonePairs::exact_fraction() const { return fraction(exact, pairs); }
double MonotonePairs::tolerated_fraction() const { return fraction(tolerated, pairs); }

void count_pairs(std::span<const double> values, Direction direction, double tolerance, MonotonePairs& counted) {
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double step = values[i + 1] / values[i] - 1;
    if (std::isnan(step)) continue;
    const double wrong = direction == Direction::falls ? step : -step;
    ++counted.pairs;
    if (wrong <= 0) ++counted.exact;
    if (wrong <= tolerance) ++counted.tolerated;
    counted.worst_percent = std::max(counted.worst_percent, 100 * wrong);
  }
}

}  // namespace rehearse::scenarios
