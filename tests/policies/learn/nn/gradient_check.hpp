// Gradients of the tape against central finite differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "policies/learn/nn/tape.hpp"
#include "sim/base/random.hpp"

namespace rehearse::tests {

/// A matrix of numbers in [-2, 2) that keep away from the kinks of relu, clamp(-1, 1) and minimum at multiples of 1/8.
inline policies::Matrix random_matrix(policies::Shape shape, sim::Random& random) {
  policies::Matrix m(shape.rows, shape.columns);
  for (double& x : policies::numbers_of(m)) x = (static_cast<double>(random.below(32)) - 16) / 8 + random.uniform(0.01, 0.115);
  return m;
}

using Network = std::function<policies::Var(policies::Tape&)>;

/// The sum of a network's result, each number weighted at random, so that no gradient can hide behind another.
inline policies::Var weighted_sum(policies::Tape& tape, policies::Var result) {
  const auto value = tape.value(result);
  sim::Random random(sim::stream_key(1, 0, "test", "weights"));
  policies::Matrix weights(value.rows(), value.cols());
  for (double& w : policies::numbers_of(weights)) w = random.uniform(-1, 1);
  return tape.sum(tape.multiply(result, tape.constant(weights)));
}

/// The largest difference between the tape's gradient and (f(x + h) - f(x - h))/2h, over all numbers of the set, relative to
/// numbers above 1. Of functions of this size the difference quotient is good to about 1e-9.
inline double gradient_error(policies::ParameterSet& parameters, const Network& network) {
  policies::Tape tape(parameters);
  const auto loss = [&] {
    tape.clear();
    return weighted_sum(tape, network(tape));
  };
  parameters.clear_gradients();
  tape.backward(loss());
  constexpr double kStep = 1e-5;
  double worst = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const policies::Matrix gradient = parameters.gradient({p});
    for (Eigen::Index i = 0; i < gradient.size(); ++i) {
      double& x = parameters.value({p}).data()[i];
      const double before = x;
      x = before + kStep;
      const double above = tape.number(loss());
      x = before - kStep;
      const double below = tape.number(loss());
      x = before;
      const double slope = (above - below) / (2 * kStep), g = gradient.data()[i];
      worst = std::max(worst, std::abs(g - slope) / std::max(1.0, std::abs(slope)));
      if (std::isnan(g) || std::isnan(slope)) return INFINITY;
    }
  }
  return worst;
}

}  // namespace rehearse::tests
