// Trained networks as JSON files: {"rehearse_network": 1, "kind", "seed", "command", "version", "parameters": [{"name", "shape":
// [rows, columns], "numbers": [row after row]}], "sha256"}.
#pragma once

#include <memory>
#include <string>

#include "policies/learn/nn/network_state.hpp"
#include "policies/registry/bundle.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

/// The network in `text`, its matrices in the blueprint's order; `file` is the name used in messages. Throws InputError for
/// another version, another kind, matrices that are missing, unknown, twice there or of another shape, and numbers that are not
/// finite. An exact inverse of agent_text.
policies::NetworkState parse_agent(std::string text, std::string file, const policies::NetworkBlueprint& expected);
/// Throws InputError also when the file cannot be read, and where its "sha256" is not that of its text.
policies::NetworkState read_agent_file(const std::string& path, const policies::NetworkBlueprint& expected);

/// Each number in the shortest form that reads back to the same bits. One that is not finite is a failed check, as are a seed
/// of 2^53 or more, no kind, no command, or one that is not UTF-8.
std::string agent_text(const policies::NetworkState& state);
/// As sim::write_file, with the text's SHA-256 as a last member, "sha256". Throws InputError when it cannot be written.
void write_agent_file(const std::string& path, const policies::NetworkState& state);

/// The agent of a kind that ships: its path among the embedded files.
inline std::string agent_of(const std::string& kind) { return "policies/agents/" + kind + ".json"; }

// The trained network of a strategy that has one.

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
