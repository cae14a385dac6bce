// Matrix products whose rows do not depend on each other: a decision for one sample has the bits of the same sample inside a
// batch, on every x86-64 machine. Eigen's products choose their order of summation by the shapes and by the caches; these take
// about a tenth longer.
#pragma once

#include <cstddef>

#include "policies/learn/nn/matrix.hpp"

namespace rehearse::policies {

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
