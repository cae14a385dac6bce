// The spaces that a scenario names: where candidates come from, once for each device that they are to be quick on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/search/search_method.hpp"
#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

struct NamedSpace {
  std::string name;  ///< of the device
  std::shared_ptr<const policies::SearchSpace> space;
  std::vector<policies::Genes> all;  ///< every candidate, of a space that is known as a whole; else empty
  /// A candidate's architecture: its name, and its training as a job file of `rehearse plan`. Nothing for one that is no network.
  /// Empty: the space has none.
  std::function<std::optional<std::pair<std::string, std::string>>(const policies::Genes&)> plan_job = {};
};

/// What a scenario says of its space.
struct SpaceChoice {
  std::vector<policies::SearchGoal> goals;  ///< that it knows; empty after a mistake
  bool trains = false;                      ///< its candidates are ChainSpace's: they can be trained on the cluster
  /// Gives the scenario the profiles of what is trained. Once, after the scenario's own have their models.
  std::function<std::vector<NamedSpace>(Scenario&)> make;
};
SpaceChoice read_search_space(sim::JsonValue value, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
