// How far an isotonic fit errs on a sample that it has not seen: each sample is left out in turn and predicted from the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "policies/learn/isotonic.hpp"

namespace rehearse::policies {

/// At most so many samples are left out, evenly spread over the rows, so that a long history stays cheap.
inline constexpr std::size_t kMostLeftOut = 100;

/// The residual of a sample (x, y) that `fit` has not seen, in whatever scale the caller needs.
using Residual = std::function<double(const IsotonicFit& fit, std::span<const double> x, double y)>;

/// One residual for each row left out, in the rows' order; none for a single row, nor for a censored one, whose target nobody
/// knows.
std::vector<double> leave_one_out(const IsotonicSamples& samples, const Residual& residual);

/// The smallest residual that at least a share `quantile` of the residuals does not exceed (the ceil(quantile n)-th
/// smallest), or 0 if that is negative, if there are none, or at quantile 0. `quantile` lies in [0, 1].
double safety_margin(std::vector<double> residuals, double quantile);

}  // namespace rehearse::policies
