// A strategy named in a scenario, with its parameters, checked against its entry in a registry.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/queue/partitions.hpp"
#include "policies/registry/bundle.hpp"
#include "policies/registry/registry.hpp"
#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

/// Nothing after a mistake.
std::optional<policies::ParameterValue> read_parameter(sim::JsonValue value, const policies::ParameterDeclaration& declared,
                                                       sim::Mistakes& mistakes);

/// As known_name(); of a name that is another decision's, how it is used there.
bool known_strategy(sim::JsonValue value, std::string_view name, const std::vector<std::string>& names, const std::string& what,
                    sim::Mistakes& mistakes);

/// A strategy by name, or as an object with its name and parameters; nothing changes after a mistake. `more` reads what else such
/// an object may have.
template <class Entry>
void read_strategy(sim::JsonValue value, const std::vector<Entry>& entries, const std::string& what,
                   policies::StrategyChoice& out, sim::Mistakes& mistakes,
                   const std::function<void(sim::ObjectReader&, policies::StrategyChoice&)>& more = {}) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  if (value.is_string()) {
    if (const Entry* entry = policies::find_strategy(entries, value.text()))
      out = {entry->name, {}};
    else
      known_strategy(value, value.text(), names, what, mistakes);
    return;
  }
  if (!value.is_object()) {
    value.refuse("the name of a " + what + ", or an object with its name and parameters", mistakes);
    return;
  }
  sim::ObjectReader in(value, mistakes);
  const std::string name = in.text("name");
  const Entry* entry = policies::find_strategy(entries, name);
  if (entry == nullptr) {
    if (!name.empty()) known_strategy(*in.child("name"), name, names, what, mistakes);
    return;
  }
  for (const sim::JsonMember member : value.members())
    if (member.key.text() == policies::kLearner && member.value.is_string())
      if (const Entry* variant = policies::find_variant(entries, *entry, member.value.text())) entry = variant;
  policies::StrategyChoice choice{entry->name, {}};
  for (const policies::ParameterDeclaration& declared : entry->parameters)
    if (const auto given = in.child(declared.name))
      if (const auto parameter = read_parameter(*given, declared, mistakes)) choice.parameters[declared.name] = *parameter;
  if (more) more(in, choice);
  in.finish();
  out = std::move(choice);
}

// The partitions of a queue strategy.

/// Key "partitions"; none when it is not there.
std::vector<policies::Partition> read_partitions(sim::ObjectReader& in, const sim::Cluster& cluster, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
