#include "policies/learn/nn/tape.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "policies/learn/nn/arithmetic.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

using sim::check;

void Tape::clear() {
  arena_.clear();
  nodes_.clear();
  list_.clear();
  var_of_parameter_.clear();
}

ConstMatrixView Tape::value(Var x) const { return node(x).values(); }

double Tape::number(Var x) const {
  check(value(x).size() == 1, "a matrix of one number");
  return *node(x).value;
}

Var Tape::push(Node node) {
  nodes_.push_back(node);
  return {static_cast<std::int32_t>(nodes_.size() - 1)};
}

Tape::Node Tape::node_of(Op op, Shape shape, std::initializer_list<Var> inputs) const {
  Node made{.op = op, .rows = shape.rows, .columns = shape.columns};
  made.a = inputs.begin()->index;
  if (inputs.size() > 1) made.b = inputs.begin()[1].index;
  if (inputs.size() > 2) made.c = inputs.begin()[2].index;
  for (const Var input : inputs) made.tracked |= node(input).tracked;
  return made;
}

Tape::Result Tape::result(Node node) {
  check(node.rows > 0 && node.columns > 0, "a matrix on the tape has rows and columns");
  double* values = arena_.take(static_cast<std::size_t>(node.rows * node.columns));
  node.value = values;
  return {push(node), MatrixView(values, node.rows, node.columns)};
}

Var Tape::constant(const Matrix& values) { return constant({values.rows(), values.cols()}, numbers_of(values)); }

Var Tape::constant(Shape shape, std::span<const double> values) {
  check(static_cast<Eigen::Index>(values.size()) == shape.rows * shape.columns, "as many numbers as the shape says");
  auto made = result({.rows = shape.rows, .columns = shape.columns});
  std::copy(values.begin(), values.end(), made.value.data());
  return made.var;
}

Var Tape::constant(Shape shape, double value) {
  auto made = result({.rows = shape.rows, .columns = shape.columns});
  made.value.setConstant(value);
  return made.var;
}

Var Tape::parameter(ParameterId id) {
  var_of_parameter_.resize(parameters_->size(), Var{-1});
  Var& var = var_of_parameter_.at(id.index);
  if (var.index >= 0) return var;
  const Matrix& value = parameters_->value(id);
  return var = push({.tracked = learning_ != nullptr,
                     .rows = value.rows(),
                     .columns = value.cols(),
                     .value = value.data(),
                     .gradient = learning_ != nullptr ? learning_->gradient(id).data() : nullptr});
}

Var Tape::stop_gradient(Var x) { return push({.rows = node(x).rows, .columns = node(x).columns, .value = node(x).value}); }

Var Tape::matmul(Var a, Var b) {
  auto made = result(node_of(Op::matmul, {node(a).rows, node(b).columns}, {a, b}));
  made.value.setZero();
  add_product(plain(value(a)), plain(value(b)), made.value);
  return made.var;
}

Var Tape::matmul_transposed(Var a, Var b) {
  auto made = result(node_of(Op::matmul_transposed, {node(a).rows, node(b).rows}, {a, b}));
  made.value.setZero();
  add_product(plain(value(a)), transposed(value(b)), made.value);
  return made.var;
}

template <class Function>
Var Tape::broadcast(Op op, Var a, Var b, Function function) {
  const Shape all = shape(a), part = shape(b);
  check((part.rows == all.rows || part.rows == 1) && (part.columns == all.columns || part.columns == 1),
        "the second matrix has the shape of the first, or repeats");
  auto made = result(node_of(op, all, {a, b}));
  const double *x = node(a).value, *y = node(b).value;
  double* out = made.value.data();
  for (Eigen::Index i = 0; i < all.rows; ++i, x += all.columns, out += all.columns) {
    if (part.columns == all.columns)
      for (Eigen::Index j = 0; j < all.columns; ++j) out[j] = function(x[j], y[j]);
    else
      for (Eigen::Index j = 0; j < all.columns; ++j) out[j] = function(x[j], *y);
    if (part.rows > 1) y += part.columns;
  }
  return made.var;
}

Var Tape::add(Var a, Var b) {
  return broadcast(Op::add, a, b, [](double x, double y) { return x + y; });
}

Var Tape::subtract(Var a, Var b) {
  return broadcast(Op::subtract, a, b, [](double x, double y) { return x - y; });
}

Var Tape::multiply(Var a, Var b) {
  return broadcast(Op::multiply, a, b, [](double x, double y) { return x * y; });
}

Var Tape::minimum(Var a, Var b) {
  check(node(a).rows == node(b).rows && node(a).columns == node(b).columns, "equal shapes");
  return broadcast(Op::minimum, a, b, [](double x, double y) { return y < x ? y : x; });
}

Var Tape::additive_scores(Var a, Var b, Var direction) {
  const ConstMatrixView x = value(a), y = value(b), d = value(direction);
  check(x.cols() == y.cols() && d.rows() == x.cols() && d.cols() == 1, "equal columns, and a number for each");
  auto made = result(node_of(Op::additive_scores, {x.rows(), y.rows()}, {a, b, direction}));
  scratch_.resize(static_cast<std::size_t>(x.cols()));
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const auto row = row_of(x, i);
    for (Eigen::Index j = 0; j < y.rows(); ++j) {
      std::transform(row.begin(), row.end(), row_of(y, j).begin(), scratch_.begin(), std::plus<>());
      tanh_each(scratch_, scratch_);
      made.value(i, j) = std::inner_product(scratch_.begin(), scratch_.end(), d.data(), 0.0);
    }
  }
  return made.var;
}

template <class Function>
Var Tape::map(Op op, Var x, Function function) {
  auto made = result(node_of(op, shape(x), {x}));
  const auto from = numbers_of(value(x));
  std::transform(from.begin(), from.end(), made.value.data(), function);
  return made.var;
}

Var Tape::affine(Var x, double factor, double offset) {
  const Var var = map(Op::affine, x, [=](double v) { return factor * v + offset; });
  node(var).s = factor;
  return var;
}

Var Tape::tanh(Var x) {
  auto made = result(node_of(Op::tanh, shape(x), {x}));
  tanh_each(numbers_of(value(x)), numbers_of(made.value));
  return made.var;
}

Var Tape::relu(Var x) {
  return map(Op::relu, x, [](double v) { return v < 0 ? 0 : v; });
}

Var Tape::sigmoid(Var x) {
  auto made = result(node_of(Op::sigmoid, shape(x), {x}));
  sigmoid_each(numbers_of(value(x)), numbers_of(made.value));
  return made.var;
}

Var Tape::exp(Var x) {
  auto made = result(node_of(Op::exp, shape(x), {x}));
  exp_each(numbers_of(value(x)), numbers_of(made.value));
  return made.var;
}

Var Tape::log(Var x) {
  return map(Op::log, x, [](double v) { return std::log(v); });
}

Var Tape::softplus(Var x) {
  return map(Op::softplus, x, [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); });
}

Var Tape::square(Var x) {
  return map(Op::square, x, [](double v) { return v * v; });
}

Var Tape::clamp(Var x, double least, double most) {
  check(least <= most, "an interval");
  const Var var = map(Op::clamp, x, [=](double v) { return std::clamp(v, least, most); });
  node(var).s = least;
  node(var).t = most;
  return var;
}

Var Tape::sum(Var x) {
  auto made = result(node_of(Op::sum, {1, 1}, {x}));
  const auto from = numbers_of(value(x));
  made.value(0, 0) = std::accumulate(from.begin(), from.end(), 0.0);
  return made.var;
}

Var Tape::mean(Var x) { return scale(sum(x), 1 / static_cast<double>(value(x).size())); }

Var Tape::row_sum(Var x) {
  const Shape of = shape(x);
  auto made = result(node_of(Op::row_sum, {of.rows, 1}, {x}));
  const double* row = node(x).value;
  for (Eigen::Index i = 0; i < of.rows; ++i, row += of.columns) made.value(i, 0) = std::accumulate(row, row + of.columns, 0.0);
  return made.var;
}

}  // namespace rehearse::policies
