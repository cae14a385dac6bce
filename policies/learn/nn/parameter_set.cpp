#include "policies/learn/nn/parameter_set.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace rehearse::policies
