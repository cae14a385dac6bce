// The trained network of a strategy that has one.
#pragma once

#include <memory>

#include "policies/registry/bundle.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

struct AgentReading {
  const Paths& paths;
  Scenario& scenario;  ///< gets the file's hash
  sim::Mistakes& mistakes;
};

/// From the file that the parameter "agent" names, else the one that ships. `value` is the strategy; null after a mistake.
std::shared_ptr<const policies::NetworkState> read_agent(sim::JsonValue value, const AgentReading& reading,
                                                         const policies::StrategyChoice& choice,
                                                         const policies::NetworkBlueprint& expected);

}  // namespace rehearse::scenarios
