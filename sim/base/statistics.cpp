#include "sim/base/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

double quantile(std::span<const double> values, double p) {
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  return quantile_of_ascending(ascending, p);
}

double quantile_of_ascending(std::span<const double> values, double p) {
  if (values.empty()) return kNan;
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double low = values[below], high = values[std::min(below + 1, values.size() - 1)];
  return low == high ? low : low + (at - static_cast<double>(below)) * (high - low);  // infinities have no difference
}

double normal_quantile(double p) {
  check(p > 0 && p < 1, "the quantile of a normal variable lies outside (0, 1)");
  return boost::math::quantile(boost::math::normal(), p);
}

double normal_share_below(double deviations) { return 0.5 * std::erfc(-deviations / std::sqrt(2.0)); }

double student_quantile(double p, double degrees) { return boost::math::quantile(boost::math::students_t(degrees), p); }

double student_upper_quantile(double p, double degrees) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees), p));
}

}  // namespace rehearse::sim
