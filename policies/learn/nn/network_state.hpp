// A trained network as plain values, fit to be written to a file and read again (scenarios/agent_file).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/learn/nn/shape.hpp"
#include "sim/base/version.hpp"

namespace rehearse::policies {

class ParameterSet;

/// Of what stands in NetworkState. A reader takes this version alone.
inline constexpr int kNetworkVersion = 1;

/// Where a network comes from.
struct NetworkOrigin {
  std::string kind;                         ///< what it is trained for: "staged-rl"
  std::uint64_t seed = 0;                   ///< below 2^53
  std::string command;                      ///< that trains it again
  std::string version{sim::kFirstVersion};  ///< of the program that trained it
  bool operator==(const NetworkOrigin&) const = default;
};

struct NamedShape {
  std::string name;
  Shape shape;
  bool operator==(const NamedShape&) const = default;
};

struct NamedMatrix {
  NamedShape is;
  std::vector<double> numbers;  ///< row after row
  bool operator==(const NamedMatrix&) const = default;
};

struct NetworkState {
  NetworkOrigin origin;
  std::vector<NamedMatrix> matrices;
  bool operator==(const NetworkState&) const = default;
};

/// What the network of a file must look like: its kind, and the matrices of a parameter set that it will be loaded into.
struct NetworkBlueprint {
  std::string kind;
  std::vector<NamedShape> matrices;
};
NetworkBlueprint blueprint(std::string kind, const ParameterSet& parameters);

/// A failed check when a value is not finite.
NetworkState save(const ParameterSet& parameters, NetworkOrigin origin);
/// The state has exactly the set's matrices, in its order, of finite numbers; a failed check otherwise.
void load(const NetworkState& state, ParameterSet& parameters);

}  // namespace rehearse::policies
