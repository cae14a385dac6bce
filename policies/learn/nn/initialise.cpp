#include "policies/learn/nn/initialise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rehearse::policies {

Matrix glorot_uniform(Shape shape, double gain, sim::Random& random) {
  const double limit = gain * std::sqrt(6.0 / static_cast<double>(shape.rows + shape.columns));
  Matrix m(shape.rows, shape.columns);
  for (double& x : numbers_of(m)) x = random.uniform(-limit, limit);
  return m;
}

Matrix orthogonal(Shape shape, double gain, sim::Random& random) {
  // Sums run in plain order: Eigen's dot products add up in an order of the processor's.
  const auto dot = [](const double* x, const double* y, Eigen::Index n) { return std::inner_product(x, x + n, y, 0.0); };
  const bool wide = shape.rows < shape.columns;
  const Eigen::Index vectors = wide ? shape.rows : shape.columns, length = wide ? shape.columns : shape.rows;
  Matrix m(vectors, length);
  for (double& x : numbers_of(m)) x = random.normal();
  for (Eigen::Index i = 0; i < vectors; ++i) {
    auto row = m.row(i);
    for (int pass = 0; pass < 2; ++pass)  // "twice is enough" against rounding
      for (Eigen::Index j = 0; j < i; ++j) row -= dot(row.data(), m.row(j).data(), length) * m.row(j);
    row /= std::sqrt(dot(row.data(), row.data(), length));
  }
  m *= gain;
  return wide ? m : Matrix(m.transpose());
}

}  // namespace rehearse::policies
