// Choices between columns, and parts of matrices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/learn/nn/arithmetic.hpp"
#include "policies/learn/nn/tape.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

using sim::check;

Var Tape::soft(Op op, Var x, std::optional<Var> mask) {
  const Shape of = shape(x);
  if (mask)
    check(!node(*mask).tracked && node(*mask).columns == of.columns && (node(*mask).rows == of.rows || node(*mask).rows == 1),
          "a mask is a constant of the scores' shape, or one row");
  auto made = result(node_of(op, of, {x}));
  made.value = value(x);
  scratch_.resize(static_cast<std::size_t>(of.columns));
  for (Eigen::Index i = 0; i < of.rows; ++i) {
    const std::span row(&made.value(i, 0), scratch_.size());
    if (mask) made.value.row(i) += value(*mask).row(node(*mask).rows == 1 ? 0 : i);
    const double most = *std::max_element(row.begin(), row.end());
    check(most > kForbidden, "every row has a valid choice");
    for (double& v : row) v -= most;
    exp_each(row, scratch_);
    const double total = std::accumulate(scratch_.begin(), scratch_.end(), 0.0), log_total = std::log(total);
    if (op == Op::softmax)
      std::transform(scratch_.begin(), scratch_.end(), row.begin(), [=](double v) { return v / total; });
    else
      for (double& v : row) v -= log_total;
  }
  return made.var;
}

Var Tape::softmax(Var x, std::optional<Var> mask) { return soft(Op::softmax, x, mask); }

Var Tape::log_softmax(Var x, std::optional<Var> mask) { return soft(Op::log_softmax, x, mask); }

Var Tape::entropy(Var log_probabilities) {
  const ConstMatrixView l = value(log_probabilities);
  auto made = result(node_of(Op::entropy, {l.rows(), 1}, {log_probabilities}));
  scratch_.resize(static_cast<std::size_t>(l.cols()));
  for (Eigen::Index i = 0; i < l.rows(); ++i) {
    const auto row = row_of(l, i);
    exp_each(row, scratch_);
    double sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j)
      if (row[j] != kForbidden) sum -= scratch_[j] * row[j];
    made.value(i, 0) = sum;
  }
  return made.var;
}

void Tape::keep(Var var, std::span<const std::int32_t> list) {
  node(var).first = static_cast<std::int32_t>(list_.size());
  node(var).count = static_cast<std::int32_t>(list.size());
  list_.insert(list_.end(), list.begin(), list.end());
}

Var Tape::pick(Var x, std::span<const std::int32_t> column_of_each_row) {
  const ConstMatrixView from = value(x);
  check(static_cast<Eigen::Index>(column_of_each_row.size()) == from.rows(), "a column for each row");
  auto made = result(node_of(Op::pick, {from.rows(), 1}, {x}));
  for (Eigen::Index i = 0; i < from.rows(); ++i) {
    const std::int32_t column = column_of_each_row[static_cast<std::size_t>(i)];
    check(column >= 0 && column < from.cols(), "a column of the matrix");
    made.value(i, 0) = from(i, column);
  }
  keep(made.var, column_of_each_row);
  return made.var;
}

Var Tape::gather(Var x, std::span<const std::int32_t> rows) {
  const ConstMatrixView from = value(x);
  auto made = result(node_of(Op::gather, {static_cast<Eigen::Index>(rows.size()), from.cols()}, {x}));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check(rows[i] >= 0 && rows[i] < from.rows(), "a row of the matrix");
    made.value.row(static_cast<Eigen::Index>(i)) = from.row(rows[i]);
  }
  keep(made.var, rows);
  return made.var;
}

Var Tape::columns(Var x, Eigen::Index first, Eigen::Index count) {
  const ConstMatrixView from = value(x);
  check(first >= 0 && count > 0 && first + count <= from.cols(), "columns of the matrix");
  auto made = result(node_of(Op::columns, {from.rows(), count}, {x}));
  made.value = from.middleCols(first, count);
  node(made.var).first = static_cast<std::int32_t>(first);
  return made.var;
}

Tape::Result Tape::join(Op op, Shape shape, std::span<const Var> parts) {
  Node node{.op = op,
            .first = static_cast<std::int32_t>(list_.size()),
            .count = static_cast<std::int32_t>(parts.size()),
            .rows = shape.rows,
            .columns = shape.columns};
  for (const Var part : parts) {
    node.tracked |= this->node(part).tracked;
    list_.push_back(part.index);
  }
  return result(node);
}

Var Tape::side_by_side(std::span<const Var> parts) {
  check(!parts.empty(), "parts to join");
  Shape all{node(parts[0]).rows, 0};
  for (const Var part : parts) {
    check(node(part).rows == all.rows, "equal rows");
    all.columns += node(part).columns;
  }
  auto made = join(Op::side_by_side, all, parts);
  Eigen::Index column = 0;
  for (const Var part : parts) {
    made.value.middleCols(column, node(part).columns) = value(part);
    column += node(part).columns;
  }
  return made.var;
}

Var Tape::stack(std::span<const Var> parts) {
  check(!parts.empty(), "parts to join");
  Shape all{0, node(parts[0]).columns};
  for (const Var part : parts) {
    check(node(part).columns == all.columns, "equal columns");
    all.rows += node(part).rows;
  }
  auto made = join(Op::stack, all, parts);
  Eigen::Index row = 0;
  for (const Var part : parts) {
    made.value.middleRows(row, node(part).rows) = value(part);
    row += node(part).rows;
  }
  return made.var;
}

Var Tape::reshape(Var x, Shape shape) {
  check(shape.rows * shape.columns == value(x).size(), "as many numbers as before");
  Node node = node_of(Op::reshape, shape, {x});
  node.value = this->node(x).value;
  return push(node);
}

}  // namespace rehearse::policies
