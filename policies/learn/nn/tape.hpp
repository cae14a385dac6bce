// Memory for the matrices of one pass, kept for the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/learn/nn/arithmetic.hpp"
#include "policies/learn/nn/parameter_set.hpp"

namespace rehearse::policies {

/// Hands out doubles that stay in place until clear(), which frees nothing: a second pass like the first allocates nothing.
class Arena {
 public:
  /// Not initialised.
  double* take(std::size_t count) {
    while (chunk_ < chunks_.size() && used_ + count > chunks_[chunk_].size) {
      ++chunk_;
      used_ = 0;
    }
    if (chunk_ == chunks_.size()) {
      const std::size_t size = std::max(kChunk, count);
      chunks_.push_back({size, std::make_unique_for_overwrite<double[]>(size)});
    }
    used_ += count;
    return chunks_[chunk_].numbers.get() + (used_ - count);
  }
  void clear() { chunk_ = used_ = 0; }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 16;
  struct Chunk {
    std::size_t size;
    std::unique_ptr<double[]> numbers;
  };
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  ///< the one in use
  std::size_t used_ = 0;   ///< of it
};

// Reverse-mode automatic differentiation of matrix expressions: each operation computes its value at once and is written down;
// backward() goes over what was written from the end (Griewank and Walther, Evaluating Derivatives, 2nd edition, 2008,
// section 3.2).

/// A matrix on a tape, until its clear().
struct Var {
  std::int32_t index;
};

inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

/// Shapes that do not fit are failed checks. Values are the same bits whether gradients are wanted or not, and a row of a value
/// depends on no other row unless the operation says so: a batch gives each sample what it gets alone.
/// One thread; nothing is allocated in a pass like an earlier one.
class Tape {
 public:
  /// For learning: backward() adds to the parameters' gradients. The set outlives the tape and stays where it is; its
  /// values change only between two passes.
  explicit Tape(ParameterSet& parameters) : parameters_(&parameters), learning_(&parameters) {}
  /// For decisions: values alone.
  explicit Tape(const ParameterSet& parameters) : parameters_(&parameters) {}

  /// Begins a new pass; keeps the memory.
  void clear();

  ConstMatrixView value(Var x) const;
  /// The number of a 1 x 1 matrix.
  double number(Var x) const;
  /// Adds d loss / d parameter to the gradient of each parameter; loss is 1 x 1.
  void backward(Var loss);

  // Beginnings.
  Var constant(const Matrix& values);
  Var constant(Shape shape, std::span<const double> values);  ///< row after row
  Var constant(Shape shape, double value);
  Var parameter(ParameterId id);
  Var stop_gradient(Var x);  ///< the value of x as a constant

  // Two matrices. In add, subtract and multiply, b may also be one row, one column or one number, which repeats.
  Var matmul(Var a, Var b);
  Var add(Var a, Var b);
  Var subtract(Var a, Var b);
  Var multiply(Var a, Var b);
  Var minimum(Var a, Var b);            ///< equal shapes; the gradient goes to the smaller, to a where they are equal
  Var matmul_transposed(Var a, Var b);  ///< a b', (m x k), (n x k) -> m x n
  /// (m x k), (n x k), (k x 1) -> m x n: entry (i, j) is tanh(a's row i + b's row j) times `direction`. As one operation, since
  /// the tanhs of all pairs are too many to be kept.
  Var additive_scores(Var a, Var b, Var direction);

  // Each number by itself.
  Var affine(Var x, double factor, double offset);  ///< factor x + offset
  Var scale(Var x, double factor) { return affine(x, factor, 0); }
  Var tanh(Var x);
  Var relu(Var x);
  Var sigmoid(Var x);
  Var exp(Var x);
  Var log(Var x);
  Var softplus(Var x);  ///< log(1 + exp(x))
  Var square(Var x);
  Var clamp(Var x, double least, double most);  ///< the gradient is 0 outside

  // Sums; `sum` and `mean` are over all rows.
  Var sum(Var x);      ///< 1 x 1
  Var mean(Var x);     ///< 1 x 1
  Var row_sum(Var x);  ///< m x 1

  // Choices: a row of x has a score for each. `mask` is added to the scores; a constant of the shape of x or one row of it,
  // with 0 for a valid choice and kForbidden for others. A row without a valid choice is a failed check.
  Var softmax(Var x, std::optional<Var> mask = {});
  Var log_softmax(Var x, std::optional<Var> mask = {});               ///< kForbidden where the mask is
  Var entropy(Var log_probabilities);                                 ///< -sum of p log p of each row, with 0 log 0 = 0; m x 1
  Var pick(Var x, std::span<const std::int32_t> column_of_each_row);  ///< m x 1

  // Parts.
  Var gather(Var x, std::span<const std::int32_t> rows);  ///< these rows of x, repetitions allowed: an embedding's look-up
  Var columns(Var x, Eigen::Index first, Eigen::Index count);
  Var side_by_side(std::span<const Var> parts);  ///< equal rows
  Var side_by_side(std::initializer_list<Var> parts) { return side_by_side(std::span(parts.begin(), parts.size())); }
  Var stack(std::span<const Var> parts);  ///< equal columns, one above the other
  Var stack(std::initializer_list<Var> parts) { return stack(std::span(parts.begin(), parts.size())); }
  Var reshape(Var x, Shape shape);  ///< the same numbers, row after row

 private:
  // clang-format off
  enum class Op : std::uint8_t {
    leaf, matmul, add, subtract, multiply, minimum, matmul_transposed, additive_scores,
    affine, tanh, relu, sigmoid, exp, log, softplus, square, clamp,
    sum, row_sum, softmax, log_softmax, entropy, pick,
    gather, columns, side_by_side, stack, reshape
  };
  // clang-format on
  struct Node {
    Op op = Op::leaf;
    bool tracked = false;  ///< depends on a parameter that learns
    std::int32_t a = -1, b = -1, c = -1;
    std::int32_t first = 0, count = 0;  ///< of list_: rows, columns or parts
    Eigen::Index rows = 0, columns = 0;
    double s = 0, t = 0;  ///< factor and offset, least and most, first column
    const double* value = nullptr;
    double* gradient = nullptr;  ///< null as long as nothing flows in

    ConstMatrixView values() const { return {value, rows, columns}; }
  };
  /// A new node, and where its value goes, which is not initialised.
  struct Result {
    Var var;
    MatrixView value;
  };

  Var push(Node node);
  Result result(Node node);
  Node node_of(Op op, Shape shape, std::initializer_list<Var> inputs) const;
  template <class Function>
  Var map(Op op, Var x, Function function);
  template <class Function>
  Var broadcast(Op op, Var a, Var b, Function function);
  Var soft(Op op, Var x, std::optional<Var> mask);
  Result join(Op op, Shape shape, std::span<const Var> parts);
  void keep(Var var, std::span<const std::int32_t> list);
  std::span<const std::int32_t> list(const Node& node) const;

  Node& node(Var x) { return nodes_.at(static_cast<std::size_t>(x.index)); }
  const Node& node(Var x) const { return nodes_.at(static_cast<std::size_t>(x.index)); }
  Shape shape(Var x) const { return {node(x).rows, node(x).columns}; }
  /// Where the gradient of a node's input gathers; nothing if it is not tracked.
  std::optional<MatrixView> gradient(std::int32_t index);

  // The rules of backward(), each for a group of operations.
  void propagate(const Node& node);
  void propagate_additive_scores(const Node& node);
  void propagate_product(const Node& node);
  void propagate_pair(const Node& node);
  void propagate_each(const Node& node);
  void propagate_choice(const Node& node);
  void propagate_part(const Node& node);
  template <class Derivative>
  void add_each(const Node& node, Derivative derivative);

  const ParameterSet* parameters_;
  ParameterSet* learning_ = nullptr;
  Arena arena_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> list_;
  std::vector<Var> var_of_parameter_;  ///< index -1: not yet in this pass
  std::vector<double> scratch_;        ///< a row
};

}  // namespace rehearse::policies
