// The parts that networks are made of. A layer adds its matrices to a parameter set when it is made, and is then a plain value
// that works on every tape of such a set. Names are "layer/matrix".
#pragma once

#include <string>
#include <vector>

#include "policies/learn/nn/tape.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

/// The parameter set and the random numbers that a new layer takes from.
struct LayerMaker {
  ParameterSet& parameters;
  sim::Random& random;
};

/// x W + b.
class Linear {
 public:
  struct Size {
    Eigen::Index inputs, outputs;
    double gain = 1;  ///< of Glorot's limits
  };
  Linear(LayerMaker make, const std::string& name, Size size);
  Var operator()(Tape& tape, Var x) const;  ///< (m x inputs) -> (m x outputs)
  ParameterId bias() const { return bias_; }

 private:
  ParameterId weight_, bias_;
};

enum class Activation { tanh, relu };

/// Linear layers with an activation after all but the last.
class Mlp {
 public:
  struct Size {
    Eigen::Index inputs;
    std::vector<Eigen::Index> hidden;
    Eigen::Index outputs;
    Activation activation = Activation::tanh;
    double output_gain = 1;  ///< a small one starts a choice near uniform
  };
  Mlp(LayerMaker make, const std::string& name, const Size& size);
  Var operator()(Tape& tape, Var x) const;

 private:
  std::vector<Linear> layers_;
  Activation activation_;
};

/// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000):
///   (i, f, g, o) = x W + h U + b,   c' = sigmoid(f) c + sigmoid(i) tanh(g),   h' = sigmoid(o) tanh(c').
/// The forget gate's bias begins at 1 (Jozefowicz et al., ICML 2015).
class LstmCell {
 public:
  struct Size {
    Eigen::Index inputs, units;
  };
  struct State {
    Var h, c;  ///< m x units each
  };
  LstmCell(LayerMaker make, const std::string& name, Size size);
  State begin(Tape& tape, Eigen::Index rows) const;  ///< zeros
  /// x W + b, which needs no state: one product for all steps of a known sequence. (n x inputs) -> (n x 4 units)
  Var project(Tape& tape, Var x) const;
  State step(Tape& tape, Var projected, State state) const;

 private:
  Linear input_;
  ParameterId recurrent_;
  Eigen::Index units_;
};

/// Attention to the rows of a memory by content (Bahdanau, Cho, Bengio, ICLR 2015, appendix A.1.2):
///   score(i, t) = v tanh(query_i W + memory_t U).
class AdditiveAttention {
 public:
  struct Size {
    Eigen::Index query, memory, units;
  };
  AdditiveAttention(LayerMaker make, const std::string& name, Size size);
  Var keys(Tape& tape, Var memory) const;  ///< (n x memory) -> (n x units): once for a memory
  /// (m x query), (n x units) -> m x n: how well each row of the memory answers each query. Softmax it, and multiply by the
  /// memory for the queries' contexts; or choose by it (a pointer network).
  Var scores(Tape& tape, Var query, Var keys) const;

 private:
  ParameterId query_, memory_, direction_;
};

/// Attention by products: score(i, t) = query_i W (memory_t U)' / sqrt(units) (Luong, Pham, Manning, EMNLP 2015, "general", with
/// the scale of Vaswani et al., NIPS 2017, section 3.2.1). An order of magnitude cheaper than the additive one.
class ProductAttention {
 public:
  using Size = AdditiveAttention::Size;
  ProductAttention(LayerMaker make, const std::string& name, Size size);
  Var keys(Tape& tape, Var memory) const;
  Var scores(Tape& tape, Var query, Var keys) const;

 private:
  ParameterId query_, memory_;
};

/// bound x tanh(x / temperature): keeps a choice from becoming certain too early (Bello et al. 2016, arXiv:1611.09940,
/// appendix A.2; Mirhoseini et al. 2018, "A hierarchical model for device placement").
struct ScoreClip {
  double temperature = 1;
  double bound = 10;
};
Var clip_scores(Tape& tape, Var scores, ScoreClip clip);

}  // namespace rehearse::policies
