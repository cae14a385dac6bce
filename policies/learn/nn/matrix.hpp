// Dense matrices of doubles, row after row. A batch has one sample a row.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>

#include "policies/learn/nn/shape.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
