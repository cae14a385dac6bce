// The strategies of the decision `place`: data-parallel, and the placement methods that make sense on the GPUs of one node.
#include <algorithm>

#include "policies/place/data_parallel.hpp"
#include "policies/place/methods.hpp"
#include "policies/place/planned.hpp"
#include "policies/registry.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr double kEvaluations = 2000;

std::vector<ParameterDeclaration> parameters_of(const PlacementEntry& method, double groups) {
  std::vector<ParameterDeclaration> parameters = method.parameters;
  parameters.push_back(
      {.name = "groups", .fallback = groups, .help = "of co-located operations, at most", .low = 1, .high = 4096, .whole = true});
  if (!method.searches) return parameters;
  parameters.push_back({.name = "evaluations",
                        .fallback = kEvaluations,
                        .help = "steps that a search may try, charged to the job",
                        .low = 1,
                        .high = 1e9,
                        .whole = true});
  parameters.push_back({.name = "reinitialisation_s", .fallback = 5.0, .help = "before each of them", .low = 0, .high = 1e6});
  return parameters;
}

/// `name`: the method's unless another one says better what it is among GPUs alone.
PlaceEntry placing(const char* method_name, const char* name, double groups = 64) {
  const PlacementEntry* method = find_strategy(placement_methods(), method_name);
  sim::check(method != nullptr, "a placement method that is not registered");
  PlaceEntry entry;
  entry.name = name;
  entry.help = method->help;
  entry.parameters = parameters_of(*method, groups);
  entry.make = [method, name](const Parameters& p, const PlaceInputs& inputs) -> std::unique_ptr<sim::Place> {
    PlacedOptions options{.name = name, .groups = static_cast<int>(p.number("groups")), .searches = method->searches};
    if (method->searches) {
      options.evaluations = static_cast<std::int64_t>(p.number("evaluations"));
      options.reinitialisation_s = p.number("reinitialisation_s");
    }
    return std::make_unique<PlannedPlacement>(method->make(p), std::move(options), inputs);
  };
  return entry;
}

PlaceEntry placing(const char* name) { return placing(name, name); }

PlaceEntry data_parallel() {
  PlaceEntry entry;
  entry.name = "data-parallel";
  entry.help = "a replica of the model on every worker of a node";
  entry.make = [](const Parameters&, const PlaceInputs&) -> std::unique_ptr<sim::Place> {
    return std::make_unique<DataParallel>();
  };
  return entry;
}

}  // namespace

const std::vector<PlaceEntry>& place_strategies() {
  static const std::vector<PlaceEntry> entries{
      data_parallel(),        placing("single-gpu", "single-device"),
      placing("round-robin"), placing("random"),
      placing("expert"),      placing("scotch"),
      placing("metis"),       placing("min-cut"),
      placing("heft"),        placing("m-topo"),
      placing("m-etf"),       placing("m-sct"),
      placing("annealing"),   placing("exact", "exact", 12),
      placing("rl"),          placing("rl-refined"),
  };
  return entries;
}

}  // namespace rehearse::policies
