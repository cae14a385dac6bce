#include "policies/learn/nn/network_state.hpp"

#include <algorithm>
#include <cmath>

#include "policies/learn/nn/parameter_set.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

NetworkBlueprint blueprint(std::string kind, const ParameterSet& parameters) {
  NetworkBlueprint made{.kind = std::move(kind)};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Matrix& value = parameters.value({i});
    made.matrices.push_back({parameters.name({i}), {value.rows(), value.cols()}});
  }
  return made;
}

NetworkState save(const ParameterSet& parameters, NetworkOrigin origin) {
  sim::check(parameters.finite(), "a network's numbers are finite");
  NetworkState state{.origin = std::move(origin)};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Matrix& value = parameters.value({i});
    const auto numbers = numbers_of(value);
    state.matrices.push_back({{parameters.name({i}), {value.rows(), value.cols()}}, {numbers.begin(), numbers.end()}});
  }
  return state;
}

void load(const NetworkState& state, ParameterSet& parameters) {
  const auto fits = [](const NamedMatrix& m, const NamedShape& expected) {
    return m.is == expected && static_cast<Eigen::Index>(m.numbers.size()) == expected.shape.rows * expected.shape.columns &&
           std::all_of(m.numbers.begin(), m.numbers.end(), [](double x) { return std::isfinite(x); });
  };
  const auto expected = blueprint({}, parameters).matrices;
  sim::check(std::equal(state.matrices.begin(), state.matrices.end(), expected.begin(), expected.end(), fits),
             "a network's state has its matrices, of finite numbers");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    std::copy(state.matrices[i].numbers.begin(), state.matrices[i].numbers.end(), parameters.value({i}).data());
}

}  // namespace rehearse::policies
