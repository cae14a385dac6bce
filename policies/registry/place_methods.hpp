// Every placement method there is, in one visible table (methods.cpp): `rehearse list strategies` reads it.
#pragma once

#include <memory>
#include <vector>

#include "policies/place/placement.hpp"
#include "policies/registry/registry.hpp"

namespace rehearse::policies {

struct PlacementEntry : StrategyEntry {
  std::unique_ptr<PlacementMethod> (*make)(const Parameters&) = nullptr;
  /// Of a method that places with a trained network of `blueprint`; its parameter "agent" names the file. Its `make` is with an
  /// untrained one.
  std::unique_ptr<PlacementMethod> (*make_agent)(const Parameters&, const NetworkState&) = nullptr;
  NetworkBlueprint (*blueprint)() = nullptr;
  bool searches = false;  ///< uses up the evaluation budget
};

/// find_strategy() finds one by its name.
const std::vector<PlacementEntry>& placement_methods();

}  // namespace rehearse::policies
