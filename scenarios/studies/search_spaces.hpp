// The spaces that a scenario names: where candidates come from, once for each device that they are to be quick on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/search/space.hpp"
#include "scenarios/loader_parts.hpp"

namespace rehearse::scenarios {

struct NamedSpace {
  std::string name;  ///< of the device
  std::unique_ptr<const policies::SearchSpace> space;
  std::vector<policies::Genes> all;   ///< every candidate, of a space that is known as a whole; else empty
  std::vector<policies::Goal> goals;  ///< that the space knows
};

/// Empty after a mistake.
std::vector<NamedSpace> read_search_spaces(sim::JsonValue value, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
