// Least squares with coefficients that are not negative: the active-set method of Lawson and Hanson, Solving Least Squares
// Problems, 1974, chapter 23.
#pragma once

#include <Eigen/Core>

namespace rehearse::policies {

/// The x >= 0 that minimises |a x - b|; a has at least one row and one column. A column that others make up for exactly gets 0.
Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace rehearse::policies
