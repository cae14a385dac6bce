#include "report/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "sim/base/statistics.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;

}  // namespace

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kNan : sum / static_cast<double>(values.size());
}

Estimate estimate(std::span<const double> values) {
  std::vector<double> defined;
  std::copy_if(values.begin(), values.end(), std::back_inserter(defined), [](double v) { return !std::isnan(v); });
  const double m = mean(defined);
  if (defined.size() < 2) return {m, kNan, kNan};
  double squares = 0;
  for (const double value : defined) squares += (value - m) * (value - m);
  const auto n = static_cast<double>(defined.size());
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  return {m, m - half, m + half};
}

}  // namespace rehearse::report
