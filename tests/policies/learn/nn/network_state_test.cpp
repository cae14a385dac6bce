#include "policies/learn/nn/network_state.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/learn/nn/layers.hpp"
#include "sim/base/errors.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

ParameterSet network(std::uint64_t seed, Eigen::Index hidden = 3) {
  ParameterSet p;
  sim::Random random(seed);
  Mlp({p, random}, "mlp", {.inputs = 2, .hidden = {hidden}, .outputs = 1});
  return p;
}

}  // namespace

TEST_CASE("a network's state is its matrices by name") {
  const ParameterSet p = network(1);
  const NetworkState state = save(p, {.kind = "test", .seed = 1, .command = "rehearse train"});
  REQUIRE(state.matrices.size() == 4);
  CHECK(state.matrices[1].is == NamedShape{"mlp/0/bias", {1, 3}});
  CHECK(state.matrices[1].numbers == std::vector<double>{0, 0, 0});
  CHECK(state.matrices[2].is == NamedShape{"mlp/1/weight", {3, 1}});
  CHECK(blueprint("test", p).matrices[2] == state.matrices[2].is);

  ParameterSet other = network(2);
  CHECK(save(other, state.origin) != state);
  load(state, other);
  CHECK(save(other, state.origin) == state);
}

TEST_CASE("a state of another network is not loaded") {
  const NetworkState state = save(network(1), {});
  ParameterSet wider = network(1, 4), p = network(2);
  CHECK_THROWS_AS(load(state, wider), sim::CheckFailed);
  for (const auto& spoil : std::vector<void (*)(NetworkState&)>{
           [](NetworkState& s) { s.matrices.pop_back(); },
           [](NetworkState& s) { s.matrices.push_back(s.matrices[0]); },
           [](NetworkState& s) { std::swap(s.matrices[0], s.matrices[1]); },
           [](NetworkState& s) { s.matrices[0].numbers.pop_back(); },
           [](NetworkState& s) { s.matrices[3].numbers[0] = NAN; },
       }) {
    NetworkState spoiled = state;
    spoil(spoiled);
    const NetworkState before = save(p, {});
    CHECK_THROWS_AS(load(spoiled, p), sim::CheckFailed);
    CHECK(save(p, {}) == before);
  }
  p.value({0})(0, 0) = INFINITY;
  CHECK_THROWS_AS(save(p, {}), sim::CheckFailed);
}
