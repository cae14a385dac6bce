#include "policies/learn/nn/optimiser.hpp"

namespace rehearse::policies {

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
