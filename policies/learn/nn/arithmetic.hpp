// Dense matrices, their products, and functions of many numbers.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>

#include "policies/learn/nn/shape.hpp"

namespace rehearse::policies {

// Dense matrices of doubles, row after row. A batch has one sample a row.

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixView = Eigen::Map<Matrix>;
using ConstMatrixView = Eigen::Map<const Matrix>;

/// All numbers, row after row.
inline std::span<double> numbers_of(MatrixView m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
inline std::span<const double> numbers_of(ConstMatrixView m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
inline std::span<double> numbers_of(Matrix& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
inline std::span<const double> numbers_of(const Matrix& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
inline std::span<const double> row_of(const ConstMatrixView& m, Eigen::Index i) {
  return {m.data() + i * m.cols(), static_cast<std::size_t>(m.cols())};
}

// Matrix products, and functions of many numbers, with bits of our own choosing.

// exp, tanh and the logistic function of many numbers. Own ones: each number's result is the same wherever it stands (Eigen's
// vectorised ones differ from those of the odd last element) and on every machine (libm's differ between processors), and the
// compiler vectorises them.

/// y[i] = f(x[i]); spans of equal size, y may be x. Errors are at most 1 unit in the last place for exp, 2 for the
/// logistic function, 3 for tanh;
/// exp is 0 below -708 and infinite above 709; NaN stays NaN.
void exp_each(std::span<const double> x, std::span<double> y);
void tanh_each(std::span<const double> x, std::span<double> y);
void sigmoid_each(std::span<const double> x, std::span<double> y);

// Matrix products whose rows do not depend on each other: a decision for one sample has the bits of the same sample inside a
// batch, on every x86-64 machine. Eigen's products choose their order of summation by the shapes and by the caches; these take
// about a tenth longer.

/// A matrix, or the transpose of one: entry (i, j) is data[i * row_step + j * column_step].
struct Factor {
  const double* data;
  std::ptrdiff_t rows, columns, row_step, column_step;
};

inline Factor plain(const ConstMatrixView& m) { return {m.data(), m.rows(), m.cols(), m.cols(), 1}; }
inline Factor transposed(const ConstMatrixView& m) { return {m.data(), m.cols(), m.rows(), 1, m.cols()}; }

/// out += a b. Each entry adds up its products in rising order, by blocks of kProductDepth.
void add_product(const Factor& a, const Factor& b, MatrixView out);

inline constexpr std::ptrdiff_t kProductDepth = 256;

}  // namespace rehearse::policies
