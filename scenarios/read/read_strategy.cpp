#include "scenarios/read/read_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace rehearse::scenarios {

std::optional<policies::ParameterValue> read_parameter(sim::JsonValue value, const policies::ParameterDeclaration& declared,
                                                       sim::Mistakes& mistakes) {
  if (std::holds_alternative<bool>(declared.fallback)) return sim::read_boolean(value, mistakes);
  if (std::holds_alternative<double>(declared.fallback)) {
    const sim::NumberRange range = sim::between(declared.low, declared.high);
    return declared.whole ? static_cast<double>(sim::read_integer(value, range, mistakes))
                          : sim::read_number(value, range, mistakes);
  }
  if (std::holds_alternative<policies::NumberOfName>(declared.fallback)) {
    if (!value.is_object()) {
      value.refuse("an object with a number for each name", mistakes);
      return std::nullopt;
    }
    policies::NumberOfName numbers;
    for (const sim::JsonMember member : value.members())
      numbers[std::string(member.key.text())] =
          sim::read_number(member.value, sim::between(declared.low, declared.high), mistakes);
    return numbers;
  }
  if (declared.choices.empty()) return std::string(sim::read_text(value, mistakes));
  return declared.choices[sim::read_choice(value, declared.choices, mistakes)];
}

namespace {

/// The decision that has a strategy of this name; empty: none. "configure" is the last: its names alone are policies by
/// themselves.
std::string decision_with(std::string_view name) {
  if (policies::find_strategy(policies::queue_strategies(), name) != nullptr) return "queue";
  if (policies::find_strategy(policies::place_strategies(), name) != nullptr) return "place";
  if (policies::find_strategy(policies::threads_strategies(), name) != nullptr) return "threads";
  return policies::find_strategy(policies::configure_strategies(), name) != nullptr ? "configure" : "";
}

}  // namespace

bool known_strategy(sim::JsonValue value, std::string_view name, const std::vector<std::string>& names, const std::string& what,
                    sim::Mistakes& mistakes) {
  const std::string decision = decision_with(name);
  if (decision.empty() || std::find(names.begin(), names.end(), name) != names.end())
    return known_name(value, name, names, what, mistakes);
  sim::Mistake mistake = value.mistake("the name of a " + what);
  mistake.found =
      fmt::format(R"("{0}", which is a {1} strategy: {{"name": "{0}", "{1}": "{0}"}} is a policy with it)", name, decision);
  mistakes.add(std::move(mistake));
  return false;
}

namespace {

policies::Partition read_partition(sim::JsonValue value, const sim::Cluster& cluster, std::set<std::string>& users,
                                   sim::Mistakes& mistakes) {
  policies::Partition partition;
  sim::ObjectReader in(value, mistakes);
  partition.name = in.text("name");
  if (const auto named = in.child("users"); named && named->is_array() && named->size() == 0)
    named->refuse("at least one user (left out, it has all whom no other partition names)", mistakes);
  for (const sim::JsonValue user : in.list("users")) {
    const std::string name(sim::read_text(user, mistakes));
    if (!name.empty() && !users.insert(name).second) refuse_again(user, name, "a user of one partition", mistakes);
    partition.users.push_back(name);
  }
  const auto quota = in.required("quota", "nodes of each pool");
  if (quota && !quota->is_object()) quota->refuse("an object with pools as keys", mistakes);
  if (quota && quota->is_object()) {
    const std::vector<std::string> pools = pool_names(cluster);
    for (const sim::JsonMember member : quota->members()) {
      const std::string pool(member.key.text());
      if (!known_name(member.key, pool, pools, "pool", mistakes)) continue;
      const auto at = static_cast<std::size_t>(std::find(pools.begin(), pools.end(), pool) - pools.begin());
      partition.quota[pool] =
          static_cast<int>(sim::read_integer(member.value, sim::between(0, cluster.pools[at].nodes), mistakes));
    }
  }
  in.finish();
  return partition;
}

}  // namespace

std::vector<policies::Partition> read_partitions(sim::ObjectReader& in, const sim::Cluster& cluster, sim::Mistakes& mistakes) {
  std::vector<policies::Partition> partitions;
  const auto list = in.child("partitions");
  if (!list) return partitions;
  if (list->is_array() && list->size() == 0) list->refuse("at least one partition", mistakes);
  std::set<std::string> names, users;
  bool for_others = false;
  for (const sim::JsonValue value : in.list("partitions")) {
    partitions.push_back(read_partition(value, cluster, users, mistakes));
    const policies::Partition& partition = partitions.back();
    if (!partition.name.empty() && !names.insert(partition.name).second)
      refuse_again(value, partition.name, "a partition's name that is given once", mistakes);
    if (partition.users.empty() && for_others) value.refuse("users: another partition has all others", mistakes);
    for_others = for_others || partition.users.empty();
  }
  return partitions;
}

}  // namespace rehearse::scenarios
