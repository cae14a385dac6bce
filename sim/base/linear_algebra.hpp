// Products and decompositions of dense matrices of any size. The library's templates for them are compiled here, once: they take
// seconds in each file that uses them.
#pragma once

#include <Eigen/Core>

namespace rehearse::sim {

Eigen::MatrixXd product(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
/// a' b.
Eigen::MatrixXd transposed_product(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
/// a' diag(weights) a.
Eigen::MatrixXd weighted_square(const Eigen::MatrixXd& a, const Eigen::VectorXd& weights);
/// Of a square matrix that has one, by its triangles.
Eigen::MatrixXd inverse(const Eigen::MatrixXd& a);

/// The lower triangle l with l l' = a; a is symmetric and positive definite.
Eigen::MatrixXd cholesky_root(const Eigen::MatrixXd& a);
/// x with root x = b, root a lower triangle.
Eigen::VectorXd solve_lower(const Eigen::MatrixXd& root, const Eigen::VectorXd& b);
/// x with root' x = b, root a lower triangle.
Eigen::VectorXd solve_lower_transposed(const Eigen::MatrixXd& root, const Eigen::VectorXd& b);
/// The inverse of root root', root a lower triangle.
Eigen::MatrixXd inverse_by_root(const Eigen::MatrixXd& root);
/// x with a x = b; a is symmetric, and positive or negative semidefinite.
Eigen::MatrixXd solve_symmetric(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

/// An x with the least |a x - b|, by Householder's reflections of the columns, the longest first.
Eigen::VectorXd least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);
/// Of all such x the shortest.
Eigen::VectorXd shortest_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);
/// The upper triangle r with r' r = a' a, as many rows as a has columns; a has no fewer.
Eigen::MatrixXd triangle_of_columns(const Eigen::MatrixXd& a);

}  // namespace rehearse::sim
