// Steps against the gradients of a parameter set.
#pragma once

#include <vector>

#include "policies/learn/nn/parameter_set.hpp"

namespace rehearse::policies {

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
