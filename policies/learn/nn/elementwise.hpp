// exp, tanh and the logistic function of many numbers. Own ones: each number's result is the same wherever it stands (Eigen's
// vectorised ones differ from those of the odd last element) and on every machine (libm's differ between processors), and the
// compiler vectorises them.
#pragma once

#include <span>

namespace rehearse::policies {

/// y[i] = f(x[i]); spans of equal size, y may be x. Errors are at most 1 unit in the last place for exp, 2 for the
/// logistic function, 3 for tanh;
/// exp is 0 below -708 and infinite above 709; NaN stays NaN.
void exp_each(std::span<const double> x, std::span<double> y);
void tanh_each(std::span<const double> x, std::span<double> y);
void sigmoid_each(std::span<const double> x, std::span<double> y);

}  // namespace rehearse::policies
