#include "scenarios/read/read_agent.hpp"

#include "scenarios/read/agent_file.hpp"
#include "scenarios/read/embedded.hpp"
#include "sim/io/file.hpp"

namespace rehearse::scenarios {

std::shared_ptr<const policies::NetworkState> read_agent(sim::JsonValue value, const AgentReading& reading,
                                                         const policies::StrategyChoice& choice,
                                                         const policies::NetworkBlueprint& expected) {
  try {
    if (!choice.parameters.contains("agent")) {
      const std::string file = agent_of(choice.name);
      return std::make_shared<policies::NetworkState>(parse_agent(std::string(embedded_file(file)), file, expected));
    }
    const sim::JsonValue named = *sim::ObjectReader(value, reading.mistakes).child("agent");
    const std::string path = reading.paths.resolve(named, reading.mistakes);
    if (path.empty()) return nullptr;
    auto network = std::make_shared<policies::NetworkState>(read_agent_file(path, expected));
    reading.scenario.sha256_of_file[std::string(named.text())] = sim::sha256_of_file(path);
    return network;
  } catch (const sim::InputError& error) {
    add_at(value, error, reading.mistakes);
    return nullptr;
  }
}

}  // namespace rehearse::scenarios
