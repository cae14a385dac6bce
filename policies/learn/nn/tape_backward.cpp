// What each operation adds to the gradients of its inputs, given g, the gradient of its result.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/learn/nn/arithmetic.hpp"
#include "policies/learn/nn/tape.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

void Tape::backward(Var loss) {
  sim::check(learning_ != nullptr, "a tape for learning");
  sim::check(value(loss).size() == 1, "a loss of one number");
  if (!node(loss).tracked) return;
  for (Node& n : nodes_)
    if (n.op != Op::leaf) n.gradient = nullptr;
  *gradient(loss.index)->data() += 1;
  for (std::int32_t i = loss.index; i >= 0; --i)
    if (const Node& n = node({i}); n.gradient != nullptr) propagate(n);
}

std::optional<MatrixView> Tape::gradient(std::int32_t index) {
  Node& n = node({index});
  if (!n.tracked) return std::nullopt;
  if (n.gradient == nullptr) {
    const auto count = static_cast<std::size_t>(n.rows * n.columns);
    n.gradient = arena_.take(count);
    std::fill_n(n.gradient, count, 0.0);
  }
  return MatrixView(n.gradient, n.rows, n.columns);
}

void Tape::propagate(const Node& node) {
  switch (node.op) {
    case Op::leaf:
      return;
    case Op::matmul:
    case Op::matmul_transposed:
      return propagate_product(node);
    case Op::additive_scores:
      return propagate_additive_scores(node);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::minimum:
      return propagate_pair(node);
    case Op::affine:
    case Op::tanh:
    case Op::relu:
    case Op::sigmoid:
    case Op::exp:
    case Op::log:
    case Op::softplus:
    case Op::square:
    case Op::clamp:
      return propagate_each(node);
    case Op::softmax:
    case Op::log_softmax:
    case Op::entropy:
      return propagate_choice(node);
    case Op::sum:
    case Op::row_sum:
    case Op::pick:
    case Op::gather:
    case Op::columns:
    case Op::side_by_side:
    case Op::stack:
    case Op::reshape:
      return propagate_part(node);
  }
}

namespace {

/// Adds g to a gradient of its shape, or its sums to one of a single row, column or number.
void add_repeated(MatrixView to, const ConstMatrixView& g) {
  double* out = to.data();
  const double* from = g.data();
  for (Eigen::Index i = 0; i < g.rows(); ++i, from += g.cols()) {
    if (to.cols() == g.cols())
      for (Eigen::Index j = 0; j < g.cols(); ++j) out[j] += from[j];
    else
      *out = std::accumulate(from, from + g.cols(), *out);
    if (to.rows() > 1) out += to.cols();
  }
}

/// Adds g times b, which may be a single row, column or number.
void add_scaled(MatrixView to, const ConstMatrixView& g, const ConstMatrixView& b) {
  if (b.size() == g.size())
    to.array() += g.array() * b.array();
  else
    to.array() += g.array() * b.array().replicate(g.rows() / b.rows(), g.cols() / b.cols());
}

}  // namespace

void Tape::propagate_pair(const Node& node) {
  const ConstMatrixView g(node.gradient, node.rows, node.columns), a = value({node.a}), b = value({node.b});
  auto to_a = gradient(node.a), to_b = gradient(node.b);
  const auto scaled = [&](auto factors) {  // g times factors, in memory of the pass
    MatrixView out(arena_.take(static_cast<std::size_t>(g.size())), g.rows(), g.cols());
    out.array() = g.array() * factors;
    return ConstMatrixView(out.data(), out.rows(), out.cols());
  };
  switch (node.op) {
    case Op::add:
      if (to_a) *to_a += g;
      if (to_b) add_repeated(*to_b, g);
      return;
    case Op::subtract:
      if (to_a) *to_a += g;
      if (to_b) add_repeated(*to_b, scaled(-1.0));
      return;
    case Op::multiply:
      if (to_a) add_scaled(*to_a, g, b);
      if (to_b && b.size() == g.size())
        add_scaled(*to_b, g, a);
      else if (to_b)
        add_repeated(*to_b, scaled(a.array()));
      return;
    default:  // minimum
      if (to_a) to_a->array() += (b.array() < a.array()).select(0.0, g.array());
      if (to_b) to_b->array() += (b.array() < a.array()).select(g.array(), 0.0);
  }
}

void Tape::propagate_product(const Node& node) {
  const ConstMatrixView g(node.gradient, node.rows, node.columns), a = value({node.a}), b = value({node.b});
  const bool flipped = node.op == Op::matmul_transposed;
  if (const auto to = gradient(node.a)) add_product(plain(g), flipped ? plain(b) : transposed(b), *to);
  if (const auto to = gradient(node.b)) add_product(transposed(flipped ? g : a), plain(flipped ? a : g), *to);
}

/// With y = tanh(a_i + b_j): g v (1 - y^2) to both rows, g y to the direction v.
void Tape::propagate_additive_scores(const Node& node) {
  const ConstMatrixView a = value({node.a}), b = value({node.b}), v = value({node.c});
  const auto n = static_cast<std::size_t>(a.cols());
  const auto to = [this](std::int32_t input) {
    auto view = gradient(input);
    return view ? view->data() : nullptr;
  };
  double *const to_a = to(node.a), *const to_b = to(node.b), *const to_v = to(node.c);
  scratch_.resize(n);
  const double* g = node.gradient;
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    for (Eigen::Index j = 0; j < b.rows(); ++j, ++g) {
      const double *x = row_of(a, i).data(), *y = row_of(b, j).data();
      for (std::size_t k = 0; k < n; ++k) scratch_[k] = x[k] + y[k];
      tanh_each(scratch_, scratch_);
      if (to_v != nullptr)
        for (std::size_t k = 0; k < n; ++k) to_v[k] += *g * scratch_[k];
      for (std::size_t k = 0; k < n; ++k) scratch_[k] = *g * v.data()[k] * (1 - scratch_[k] * scratch_[k]);
      for (double* into : {to_a != nullptr ? to_a + i * a.cols() : nullptr, to_b != nullptr ? to_b + j * b.cols() : nullptr})
        for (std::size_t k = 0; into != nullptr && k < n; ++k) into[k] += scratch_[k];
    }
  }
}

template <class Derivative>
void Tape::add_each(const Node& node, Derivative derivative) {
  auto to = gradient(node.a);
  if (!to) return;
  const double *x = this->node({node.a}).value, *y = node.value, *g = node.gradient;
  double* out = to->data();
  const Eigen::Index n = to->size();
  for (Eigen::Index i = 0; i < n; ++i) out[i] += g[i] * derivative(x[i], y[i]);
}

/// Derivatives by the argument x and the result y.
void Tape::propagate_each(const Node& node) {
  const double s = node.s, t = node.t;
  switch (node.op) {
    case Op::affine:
      return add_each(node, [=](double, double) { return s; });
    case Op::tanh:
      return add_each(node, [](double, double y) { return 1 - y * y; });
    case Op::relu:
      return add_each(node, [](double x, double) { return x > 0 ? 1.0 : 0.0; });
    case Op::sigmoid:
      return add_each(node, [](double, double y) { return y * (1 - y); });
    case Op::exp:
      return add_each(node, [](double, double y) { return y; });
    case Op::log:
      return add_each(node, [](double x, double) { return 1 / x; });
    case Op::softplus:  // the logistic function of x is 1 - exp(-y)
      return add_each(node, [](double, double y) { return -std::expm1(-y); });
    case Op::square:
      return add_each(node, [](double x, double) { return 2 * x; });
    default:  // clamp
      return add_each(node, [=](double x, double) { return x < s || x > t ? 0.0 : 1.0; });
  }
}

void Tape::propagate_choice(const Node& node) {
  auto to = gradient(node.a);
  if (!to) return;
  const auto n = static_cast<std::size_t>(to->cols());
  scratch_.resize(n);
  for (Eigen::Index i = 0; i < to->rows(); ++i) {
    double* out = to->data() + i * to->cols();
    const double* g = node.gradient + i * node.columns;
    if (node.op == Op::softmax) {  // p_j (g_j - sum of g p)
      const double* p = node.value + i * node.columns;
      const double mean = std::inner_product(g, g + n, p, 0.0);
      for (std::size_t j = 0; j < n; ++j) out[j] += p[j] * (g[j] - mean);
      continue;
    }
    const bool is_entropy = node.op == Op::entropy;
    const double* l = (is_entropy ? this->node({node.a}).value : node.value) + i * to->cols();
    exp_each({l, n}, scratch_);
    double sum = 0;
    if (!is_entropy)
      for (std::size_t j = 0; j < n; ++j) sum += l[j] == kForbidden ? 0 : g[j];
    for (std::size_t j = 0; j < n; ++j) {
      if (l[j] == kForbidden) continue;
      out[j] += is_entropy ? -*g * scratch_[j] * (l[j] + 1) : g[j] - scratch_[j] * sum;
    }
  }
}

void Tape::propagate_part(const Node& node) {
  const ConstMatrixView g(node.gradient, node.rows, node.columns);
  const std::span<const std::int32_t> kept(list_.data() + node.first, static_cast<std::size_t>(node.count));
  if (node.op == Op::side_by_side || node.op == Op::stack) {
    Eigen::Index done = 0;
    for (const std::int32_t part : kept) {
      const Shape of = shape({part});
      if (auto to = gradient(part); to && node.op == Op::stack)
        *to += g.middleRows(done, of.rows);
      else if (to)
        *to += g.middleCols(done, of.columns);
      done += node.op == Op::stack ? of.rows : of.columns;
    }
    return;
  }
  auto to = gradient(node.a);
  if (!to) return;
  switch (node.op) {
    case Op::sum:
      to->array() += g(0, 0);
      return;
    case Op::row_sum:
      to->colwise() += g.col(0);
      return;
    case Op::pick:
      for (std::size_t i = 0; i < kept.size(); ++i) (*to)(static_cast<Eigen::Index>(i), kept[i]) += node.gradient[i];
      return;
    case Op::gather:
      for (std::size_t i = 0; i < kept.size(); ++i) to->row(kept[i]) += g.row(static_cast<Eigen::Index>(i));
      return;
    case Op::columns:
      to->middleCols(node.first, node.columns) += g;
      return;
    default:  // reshape
      *to += ConstMatrixView(g.data(), to->rows(), to->cols());
  }
}

}  // namespace rehearse::policies
