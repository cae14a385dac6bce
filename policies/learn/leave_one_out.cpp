#include "policies/learn/leave_one_out.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

IsotonicSamples without(const IsotonicSamples& all, std::size_t row) {
  IsotonicSamples rest = all;
  const auto at = static_cast<std::ptrdiff_t>(row), width = static_cast<std::ptrdiff_t>(all.dimension);
  rest.x.erase(rest.x.begin() + at * width, rest.x.begin() + (at + 1) * width);
  rest.y.erase(rest.y.begin() + at);
  if (!rest.weights.empty()) rest.weights.erase(rest.weights.begin() + at);
  if (!rest.censored.empty()) rest.censored.erase(rest.censored.begin() + at);
  return rest;
}

}  // namespace

std::vector<double> leave_one_out(const IsotonicSamples& samples, const Residual& residual) {
  std::vector<double> residuals;
  const std::size_t rows = samples.rows();
  if (rows < 2) return residuals;
  const std::size_t left_out = std::min(rows, kMostLeftOut);
  for (std::size_t i = 0; i < left_out; ++i) {
    const std::size_t row = i * rows / left_out;
    if (!samples.censored.empty() && samples.censored[row]) continue;
    residuals.push_back(residual(IsotonicFit::fit(without(samples, row)), samples.features(row), samples.y[row]));
  }
  return residuals;
}

double safety_margin(std::vector<double> residuals, double quantile) {
  sim::check(quantile >= 0 && quantile <= 1, "the quantile of a safety margin lies outside [0, 1]");
  // A hair less than the product, which rounding may have put just above a whole number (0.8 x 10 residuals is 8, not 9).
  const double rank = std::ceil(quantile * static_cast<double>(residuals.size()) * (1 - 1e-12));
  if (rank < 1) return 0;
  const auto nth = residuals.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(residuals.begin(), nth, residuals.end());
  return std::max(0.0, *nth);
}

}  // namespace rehearse::policies
