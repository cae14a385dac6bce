// The strategies of the decision `place`: data-parallel, and the placement methods that make sense on the GPUs of one node.
#include <algorithm>

#include "policies/place/data_parallel.hpp"
#include "policies/registry/place_methods.hpp"
#include "policies/registry/place_planned.hpp"
#include "policies/registry/registry.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// A use of a placement method in replays.
struct Use {
  const char* method;
  const char* name;           ///< the method's unless another one says better what it is among GPUs alone
  double groups = 64;         ///< by default
  double evaluations = 2000;  ///< by default, of what searches
  bool measures = true;       ///< what searches tries placements on the devices; else it plans on believed times, for nothing
};

std::vector<ParameterDeclaration> parameters_of(const PlacementEntry& method, const Use& use) {
  std::vector<ParameterDeclaration> parameters = method.parameters;
  parameters.push_back({.name = "groups",
                        .fallback = use.groups,
                        .help = "of co-located operations, at most",
                        .low = 1,
                        .high = 4096,
                        .whole = true});
  if (!method.searches) return parameters;
  parameters.push_back({.name = "evaluations",
                        .fallback = use.evaluations,
                        .help = "steps that a search may try",
                        .low = 1,
                        .high = 1e9,
                        .whole = true});
  if (use.measures)
    parameters.push_back({.name = "reinitialisation_s", .fallback = 5.0, .help = "before each of them", .low = 0, .high = 1e6});
  return parameters;
}

PlaceEntry placing(const Use& use) {
  const PlacementEntry* method = find_strategy(placement_methods(), use.method);
  sim::check(method != nullptr, "a placement method that is not registered");
  PlaceEntry entry;
  entry.name = use.name;
  entry.help = method->help;
  entry.parameters = parameters_of(*method, use);
  entry.make = [method, use](const Parameters& p, const PlaceInputs& inputs) -> std::unique_ptr<sim::Place> {
    PlacedOptions options{.name = use.name, .groups = static_cast<int>(p.number("groups")), .searches = method->searches};
    if (options.searches) options.evaluations = static_cast<std::int64_t>(p.number("evaluations"));
    options.measures = options.searches && use.measures;
    if (options.measures) options.reinitialisation_s = p.number("reinitialisation_s");
    return std::make_unique<PlannedPlacement>(method->make(p), std::move(options), inputs);
  };
  return entry;
}

PlaceEntry placing(const char* name) { return placing({.method = name, .name = name}); }

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
      data_parallel(),        placing({.method = "single-gpu", .name = "single-device"}),
      placing("round-robin"), placing("random"),
      placing("expert"),      placing("scotch"),
      placing("metis"),       placing("min-cut"),
      placing("heft"),        placing("m-topo"),
      placing("m-etf"),       placing("m-sct"),
      placing("annealing"),   placing({.method = "exact", .name = "exact", .groups = 8, .evaluations = 1e6, .measures = false}),
      placing("rl"),          placing("rl-refined"),
  };
  return entries;
}

}  // namespace rehearse::policies
