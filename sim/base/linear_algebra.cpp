#include "sim/base/linear_algebra.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

namespace rehearse::sim {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd product(const MatrixXd& a, const MatrixXd& b) { return a * b; }
MatrixXd transposed_product(const MatrixXd& a, const MatrixXd& b) { return a.transpose() * b; }
MatrixXd weighted_square(const MatrixXd& a, const VectorXd& weights) { return a.transpose() * weights.asDiagonal() * a; }
MatrixXd inverse(const MatrixXd& a) { return a.inverse(); }

MatrixXd cholesky_root(const MatrixXd& a) { return a.llt().matrixL(); }
VectorXd solve_lower(const MatrixXd& root, const VectorXd& b) { return root.triangularView<Eigen::Lower>().solve(b); }
VectorXd solve_lower_transposed(const MatrixXd& root, const VectorXd& b) {
  return root.triangularView<Eigen::Lower>().adjoint().solve(b);
}
MatrixXd inverse_by_root(const MatrixXd& root) {
  MatrixXd result = MatrixXd::Identity(root.rows(), root.rows());
  root.triangularView<Eigen::Lower>().solveInPlace(result);
  root.triangularView<Eigen::Lower>().adjoint().solveInPlace(result);
  return result;
}
MatrixXd solve_symmetric(const MatrixXd& a, const MatrixXd& b) { return a.ldlt().solve(b); }
VectorXd solve_symmetric(const MatrixXd& a, const VectorXd& b) { return a.ldlt().solve(b); }

VectorXd least_squares(const MatrixXd& a, const VectorXd& b) { return a.colPivHouseholderQr().solve(b); }
VectorXd shortest_least_squares(const MatrixXd& a, const VectorXd& b) { return a.completeOrthogonalDecomposition().solve(b); }
MatrixXd triangle_of_columns(const MatrixXd& a) {
  const Eigen::HouseholderQR<MatrixXd> qr(a);
  return qr.matrixQR().topRows(a.cols()).triangularView<Eigen::Upper>();
}

}  // namespace rehearse::sim
