#include "policies/learn/nn/parameter_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

ParameterId ParameterSet::add(std::string name, Matrix initial) {
  sim::check(!name.empty() && initial.size() > 0, "a parameter has a name and numbers");
  sim::check(std::none_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; }),
             "a parameter's name is new");
  Matrix gradient = Matrix::Zero(initial.rows(), initial.cols());
  entries_.push_back({std::move(name), std::move(initial), std::move(gradient)});
  return {entries_.size() - 1};
}

std::size_t ParameterSet::numbers() const {
  std::size_t sum = 0;
  for (const Entry& e : entries_) sum += static_cast<std::size_t>(e.value.size());
  return sum;
}

void ParameterSet::clear_gradients() {
  for (Entry& e : entries_) e.gradient.setZero();
}

double ParameterSet::gradient_norm() const {
  double sum = 0;
  for (const Entry& e : entries_)
    for (const double g : numbers_of(e.gradient)) sum += g * g;
  return std::sqrt(sum);
}

double ParameterSet::clip_gradients(double most) {
  const double norm = gradient_norm();
  sim::check(std::isfinite(norm) && most > 0, "gradients are finite, and so are clipped to a positive norm");
  if (norm > most)
    for (Entry& e : entries_) e.gradient *= most / norm;
  return norm;
}

bool ParameterSet::finite() const {
  return std::all_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.value.allFinite(); });
}

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

void sgd_step(ParameterSet& parameters, double rate) {
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters.value({i}) -= rate * parameters.gradient({i});
}

void Adam::step(ParameterSet& parameters, double rate) {
  const auto& [beta1, beta2, epsilon] = options_;
  for (std::size_t i = moments_.size(); i < parameters.size(); ++i) {
    const Matrix& value = parameters.value({i});
    moments_.push_back({Matrix::Zero(value.rows(), value.cols()), Matrix::Zero(value.rows(), value.cols())});
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto g = parameters.gradient({i}).array();
    Moments& m = moments_[i];
    m.first.array() = beta1 * m.first.array() + (1 - beta1) * g;
    m.second.array() = beta2 * m.second.array() + (1 - beta2) * g * g;
    m.decay1 *= beta1;
    m.decay2 *= beta2;
    parameters.value({i}).array() -=
        rate * (m.first.array() / (1 - m.decay1)) / ((m.second.array() / (1 - m.decay2)).sqrt() + epsilon);
  }
}

}  // namespace rehearse::policies
