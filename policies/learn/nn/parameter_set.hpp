// The numbers that a network learns: named matrices, each with the gradient of a loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/learn/nn/arithmetic.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

/// One matrix of a ParameterSet.
struct ParameterId {
  std::size_t index;
};

class ParameterSet {
 public:
  /// The name must be new and not empty, the matrix not empty: a failed check otherwise. Matrices stay where they are in memory.
  ParameterId add(std::string name, Matrix initial);

  /// Matrices, whose ids are 0 .. size() - 1 in the order of add().
  std::size_t size() const { return entries_.size(); }
  /// All their numbers.
  std::size_t numbers() const;
  const std::string& name(ParameterId id) const { return entry(id).name; }
  Matrix& value(ParameterId id) { return entry(id).value; }
  const Matrix& value(ParameterId id) const { return entry(id).value; }
  /// Of the shape of the value; Tape::backward adds to it.
  Matrix& gradient(ParameterId id) { return entry(id).gradient; }
  const Matrix& gradient(ParameterId id) const { return entry(id).gradient; }

  void clear_gradients();
  /// Euclidean norm of all gradients together.
  double gradient_norm() const;
  /// Scales all gradients down to the norm `most` > 0 if theirs is larger (Pascanu et al., ICML 2013, algorithm 1), and returns
  /// what it was. A norm that is not finite is a failed check: training went wrong.
  double clip_gradients(double most);
  /// No value is NaN or infinite.
  bool finite() const;

 private:
  struct Entry {
    std::string name;
    Matrix value, gradient;
  };
  Entry& entry(ParameterId id) { return entries_.at(id.index); }
  const Entry& entry(ParameterId id) const { return entries_.at(id.index); }

  std::vector<Entry> entries_;
};

// Where learning starts from.

/// Uniform in +-gain sqrt(6/(rows + columns)) (Glorot and Bengio, AISTATS 2010, equation 16).
Matrix glorot_uniform(Shape shape, double gain, sim::Random& random);

/// Orthogonal rows or columns, whichever are fewer, of length `gain` (Saxe, McClelland, Ganguli, ICLR 2014): normal numbers,
/// made orthogonal by Gram and Schmidt.
Matrix orthogonal(Shape shape, double gain, sim::Random& random);

// Steps against the gradients of a parameter set.

/// value -= rate * gradient.
void sgd_step(ParameterSet& parameters, double rate);

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.
class Adam {
 public:
  explicit Adam(AdamOptions options = {}) : options_(options) {}
  /// Always the same set; it may have grown.
  void step(ParameterSet& parameters, double rate);

 private:
  struct Moments {
    Matrix first, second;
    double decay1 = 1, decay2 = 1;  ///< beta1^t, beta2^t
  };
  AdamOptions options_;
  std::vector<Moments> moments_;
};

}  // namespace rehearse::policies
