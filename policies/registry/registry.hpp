// Every strategy there is, in one visible place (registry.cpp, and registry_queue.cpp for the disciplines of queues): `rehearse
// list policies` and `rehearse list strategies` read it, the scenario's loader checks names and parameters against it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/configure/configure.hpp"
#include "policies/harness/task_transfer.hpp"
#include "policies/learn/envelopes.hpp"
#include "policies/learn/nn/network_state.hpp"
#include "policies/learn/probe_choice.hpp"
#include "policies/parameters.hpp"
#include "policies/registry/place_planned.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

/// What every kind of strategy has in the registry.
struct StrategyEntry {
  std::string name;
  std::string help;  ///< one line
  std::vector<ParameterDeclaration> parameters;
  bool is_yardstick = false;  ///< to measure others by; no policy that anybody would use: it never wins
  /// Of a preset, which is another strategy with a paper's setting: that paper, what is as in its authors' code, and what is not.
  /// Its name ends with "-like" unless its figures are its authors' (docs/evidence/peers.md).
  std::string paper = {}, equal = {}, differs = {};
  std::vector<std::string> former_names = {};  ///< still accepted in scenarios
  /// Of a variant: the strategy whose name, with this one's "learner", also means this one.
  std::string variant_of = {};
};

/// Exactly one of the makers is set.
struct ConfigureEntry : StrategyEntry {
  std::unique_ptr<Configure> (*make)(const Parameters&) = nullptr;
  std::unique_ptr<OracleConfigure> (*make_oracle)(const Parameters&) = nullptr;
  /// Of a strategy that decides with a trained network of `blueprint`; null: an untrained one. Its parameter "agent" names the
  /// file.
  std::unique_ptr<Configure> (*make_agent)(const Parameters&, const NetworkState*) = nullptr;
  NetworkBlueprint (*blueprint)() = nullptr;
  bool uses_history = false;  ///< unless its parameter "past_runs", if it has one, says no
  /// Null: the strategy takes the shared past runs. Else as many runs are measured as this chooses.
  std::unique_ptr<ProbeChooser> (*make_probes)(const Parameters&) = nullptr;
};

template <class Interface>
struct DecisionEntry : StrategyEntry {
  std::unique_ptr<Interface> (*make)(const Parameters&) = nullptr;
};
/// `noise_key`: of the stream of what a planner measures.
struct ThreadsEntry : StrategyEntry {
  std::unique_ptr<sim::Threads> (*make)(const Parameters&, std::uint64_t noise_key) = nullptr;
};
struct PlaceEntry : StrategyEntry {
  std::function<std::unique_ptr<sim::Place>(const Parameters&, const PlaceInputs&)> make;
  NetworkBlueprint (*blueprint)() = nullptr;  ///< of one with a trained network; its parameter "agent" names the file
};
struct QueueEntry : DecisionEntry<sim::Queue> {
  /// May it stop running jobs, with these parameters? Null: never.
  bool (*preempts)(const Parameters&) = nullptr;
  /// Does it go by users' time limits, with these parameters? Null: never.
  bool (*reads_limits)(const Parameters&) = nullptr;
  bool resizes = false;         ///< chooses among the entries of each job's menu
  std::string without_sizes{};  ///< of such a one: the queue that it acts as where each menu has one entry; empty: none
};

template <class Entry>
Entry yardstick(Entry entry) {
  entry.is_yardstick = true;
  return entry;
}

template <class Interface>
DecisionEntry<Interface> decision_entry(std::string name, std::string help, std::unique_ptr<Interface> (*make)(const Parameters&),
                                        std::vector<ParameterDeclaration> parameters = {}) {
  DecisionEntry<Interface> entry;
  entry.name = std::move(name);
  entry.help = std::move(help);
  entry.parameters = std::move(parameters);
  entry.make = make;
  return entry;
}

/// Who chooses what a learner's past runs measure.
enum class Probing : std::uint8_t {
  own,     ///< the strategy, as its publication has it; those without a way of their own take the shared runs
  random,  ///< nobody: the runs that all such strategies share
  active,  ///< the value of information (learn/active_probes.hpp)
};

/// How a strategy gets its past runs, whatever it makes of them.
struct Learning {
  Probing probing = Probing::own;
  bool jobs = false;  ///< jobs that have ended join them
  /// Of what the jobs to come are expected to cost, the share that runs may cost which are made for the purpose. Infinite: they
  /// are as many as the scenario says.
  double budget = sim::kNever;
  EnvelopeOptions envelope;
  EnvelopeMargins margins;
  double spread_factor = 1;    ///< is in both of them already
  bool weighs_belief = false;  ///< active probes weigh what is believed with what they have measured
  /// On a table of measured runs (harness/across_tasks.hpp).
  struct Table {
    bool foresees = false;  ///< by models of all its tasks, not by its learner of one
    TaskTransfer transfer = TaskTransfer::held_out;
    bool all_limits = true;  ///< active probes search for every pair of limits, not for the middle one alone
  } table;
};
Learning learning_of(const ConfigureEntry& entry, const std::map<std::string, ParameterValue>& given);

const std::vector<ConfigureEntry>& configure_strategies();
/// Whether the strategy learns from past runs with these parameters.
bool uses_history(const ConfigureEntry& entry, const std::map<std::string, ParameterValue>& given);
const std::vector<PlaceEntry>& place_strategies();  // policies/registry/place_methods.cpp
const std::vector<ThreadsEntry>& threads_strategies();
const std::vector<QueueEntry>& queue_strategies();
/// Those of them that share the cluster among users or jobs.
std::vector<QueueEntry> sharing_queue_strategies();
/// Presets of them: the settings of published schedulers.
std::vector<QueueEntry> queue_presets(const std::vector<QueueEntry>& strategies);

/// Its name and its former ones.
std::vector<std::string> names_of(const StrategyEntry& entry);

/// Throws sim::CheckFailed where two strategies of a list have one name: the second could never be chosen.
template <class Entry>
void check_names(const std::string& kind, const std::vector<Entry>& entries) {
  std::set<std::string> names;
  for (const Entry& entry : entries)
    for (const std::string& name : names_of(entry))
      if (!names.insert(name).second) sim::fail_check("two " + kind + " strategies are registered as \"" + name + "\"");
}

/// check_names of all lists.
void check_registry();

/// Of a list above, by its name or a former one; null when there is none.
template <class Entry>
const Entry* find_strategy(const std::vector<Entry>& entries, std::string_view name) {
  for (const Entry& entry : entries)
    if (entry.name == name || std::ranges::find(entry.former_names, name) != entry.former_names.end()) return &entry;
  return nullptr;
}

/// The key of a strategy that chooses among its variants.
inline constexpr const char* kLearner = "learner";

/// All of them.
const std::vector<std::string>& learners();

/// The strategy or its variant, as this learner chooses; null when there is none with it.
template <class Entry>
const Entry* find_variant(const std::vector<Entry>& entries, const Entry& of, std::string_view learner) {
  for (const Entry& entry : entries)
    if (entry.name == of.name || entry.variant_of == of.name)
      for (const ParameterDeclaration& p : entry.parameters)
        if (p.name == kLearner && p.fallback == ParameterValue(std::string(learner))) return &entry;
  return nullptr;
}

/// The strategy that a configure strategy is a variant of; its own name when it is none.
const std::string& family_of(const std::string& configure);

}  // namespace rehearse::policies
