#include "policies/registry/place_methods.hpp"

#include <algorithm>

#include "policies/place/data_parallel.hpp"
#include "policies/place/methods/methods.hpp"
#include "policies/place/rl/rl.hpp"
#include "policies/registry/place_planned.hpp"
#include "policies/registry/registry.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

using Make = std::unique_ptr<PlacementMethod> (*)(const Parameters&);

template <class Method>
std::unique_ptr<PlacementMethod> make(const Parameters&) {
  return std::make_unique<Method>();
}

template <bool with_cpu>
std::unique_ptr<PlacementMethod> make_scotch(const Parameters&) {
  return std::make_unique<Scotch>(with_cpu);
}

PlacementEntry entry(std::string name, std::string help, Make make) {
  PlacementEntry made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.make = make;
  return made;
}

PlacementEntry searching(PlacementEntry made, std::vector<ParameterDeclaration> parameters = {}) {
  made.searches = true;
  made.parameters = std::move(parameters);
  return made;
}

PlacementEntry random_placement_entry() {
  return entry("random", "a yardstick: every group on any device",
               [](const Parameters&) -> std::unique_ptr<PlacementMethod> { return std::make_unique<RandomPlacement>(1); });
}

PlacementEntry random_placements_entry() {
  return searching(
      entry("random-search", "a yardstick: the best of as many random placements as there are evaluations",
            [](const Parameters&) -> std::unique_ptr<PlacementMethod> { return std::make_unique<RandomPlacement>(0); }));
}

PlacementEntry annealing_entry() {
  const AnnealingOptions defaults;
  return searching(entry("annealing", "simulated annealing from the best single device (Kirkpatrick et al. 1983)",
                         [](const Parameters& p) -> std::unique_ptr<PlacementMethod> {
                           return std::make_unique<Annealing>(
                               AnnealingOptions{.hottest = p.number("hottest"), .coldest = p.number("coldest")});
                         }),
                   {{.name = "hottest",
                     .fallback = defaults.hottest,
                     .help = "first temperature, as a share of the step's time",
                     .low = 1e-9,
                     .high = 10},
                    {.name = "coldest", .fallback = defaults.coldest, .help = "last temperature", .low = 1e-9, .high = 10}});
}

ReinforceOptions reinforce_options(const Parameters& p) {
  return {.samples = static_cast<int>(p.number("samples")),
          .rate = p.number("rate"),
          .entropy_weight = p.number("entropy_weight"),
          .imitation = p.number("imitation")};
}

std::vector<ParameterDeclaration> reinforce_parameters(double rate) {
  const ReinforceOptions defaults;
  return {{.name = "samples",
           .fallback = static_cast<double>(defaults.samples),
           .help = "placements between two updates",
           .low = 2,
           .high = 1000,
           .whole = true},
          {.name = "rate", .fallback = rate, .help = "learning rate", .low = 1e-6, .high = 1},
          {.name = "entropy_weight",
           .fallback = defaults.entropy_weight,
           .help = "of the reward for staying undecided",
           .low = 0,
           .high = 10},
          {.name = "imitation",
           .fallback = defaults.imitation,
           .help = "weight of the best placements met so far beside the drawn ones",
           .low = 0,
           .high = 10}};
}

struct RlDefaults {
  const char* network;
  double rate, refine_share;
};

RlNetwork network_named(std::string_view name) {
  if (name == "graph") return RlNetwork::graph;
  return name == "hierarchy" ? RlNetwork::hierarchy : RlNetwork::sequence;
}

PlacementEntry rl_entry(std::string name, std::string help, const RlDefaults& own) {
  std::vector<ParameterDeclaration> parameters = reinforce_parameters(own.rate);
  parameters.push_back(
      {.name = "network",
       .fallback = std::string(own.network),
       .help = "reads the groups as a sequence, as a graph with what stands on each device, or makes bundles of them",
       .choices = {"sequence", "graph", "hierarchy"}});
  parameters.push_back({.name = "refine_share",
                        .fallback = own.refine_share,
                        .help = "of the evaluations, to anneal the best placement",
                        .low = 0,
                        .high = 0.95});
  const auto make = [](const Parameters& p) -> std::unique_ptr<PlacementMethod> {
    return std::make_unique<Rl>(RlOptions{
        .learning = reinforce_options(p), .network = network_named(p.text("network")), .refine_share = p.number("refine_share")});
  };
  return searching(entry(std::move(name), std::move(help), make), std::move(parameters));
}

PlacementEntry rl_transfer_entry() {
  std::vector<ParameterDeclaration> parameters = reinforce_parameters(0.01);
  parameters.push_back(
      {.name = "agent", .fallback = std::string(), .help = "file of a trained network; none: the one that ships"});
  const auto make = [](const Parameters& p) -> std::unique_ptr<PlacementMethod> {
    return std::make_unique<RlTransfer>(reinforce_options(p), nullptr);
  };
  PlacementEntry made = searching(
      entry("rl-transfer", "a graph network trained on other graphs, then reinforcement learning on this one", make), parameters);
  made.make_agent = [](const Parameters& p, const NetworkState& weights) -> std::unique_ptr<PlacementMethod> {
    return std::make_unique<RlTransfer>(reinforce_options(p), &weights);
  };
  made.blueprint = GraphLayers::blueprint;
  return made;
}

}  // namespace

const std::vector<PlacementEntry>& placement_methods() {
  static const std::vector<PlacementEntry> entries{
      entry("single-cpu", "everything on the CPU", make<SingleCpu>),
      entry("single-gpu", "everything on the fastest GPU", make<SingleGpu>),
      entry("round-robin", "groups in topological order on the GPUs in turn", make<RoundRobin>),
      random_placement_entry(),
      random_placements_entry(),
      entry("expert", "LSTM layers, attention, softmax on GPUs in turn; else contiguous parts of equal time", make<Expert>),
      entry("scotch", "fewest bytes between devices, work by their speeds (SCOTCH)", make_scotch<true>),
      entry("min-cut", "scotch without the CPU (Mirhoseini et al. 2017)", make_scotch<false>),
      entry("metis", "fewest bytes between devices, work by their speeds (METIS)", make<Metis>),
      entry("heft", "heterogeneous earliest finish time (Topcuoglu et al. 2002)", make<Heft>),
      entry("m-topo", "topological order fills one GPU after the other (Baechi, SoCC 2020)", make<MTopo>),
      entry("m-etf", "earliest task first within memory (Baechi, SoCC 2020)", make<MEtf>),
      entry("m-sct", "m-etf with favourite successors by a linear programme (Baechi, SoCC 2020)", make<MSct>),
      entry("dpl", "contiguous parts of least largest load, for throughput (Tarnawski et al., NeurIPS 2020)", make<Dpl>),
      searching(entry("dpl-annealed", "dpl, then annealing from its answer", make<DplAnnealed>)),
      annealing_entry(),
      rl_entry("rl", "reinforcement learning with a sequence-to-sequence network (Mirhoseini et al. 2017)",
               {.network = "sequence", .rate = 0.005, .refine_share = 0}),
      rl_entry("rl-refined", "rl with a graph network that begins with single devices and HEFT, then annealing",
               {.network = "graph", .rate = 0.01, .refine_share = 0.2}),
      rl_transfer_entry(),
      searching(entry("exact", "the best placement there is, for up to 16 groups, by branch and bound", make<Exact>)),
  };
  return entries;
}

// The strategies of the decision `place`: data-parallel, and the placement methods that make sense on the GPUs of one node.

namespace {

/// A use of a placement method in replays.
struct Use {
  const char* method;
  const char* name;           ///< the method's unless another one says better what it is among GPUs alone
  double groups = 64;         ///< by default
  double evaluations = 2000;  ///< by default, of what searches
  double most_groups = 4096;
  bool measures = true;  ///< what searches tries placements on the devices; else it plans on believed times, for nothing
  const char* help_of_evaluations = "steps that a search may try";
};

std::vector<ParameterDeclaration> parameters_of(const PlacementEntry& method, const Use& use) {
  std::vector<ParameterDeclaration> parameters = method.parameters;
  parameters.push_back({.name = "groups",
                        .fallback = use.groups,
                        .help = "of co-located operations, at most",
                        .low = 1,
                        .high = use.most_groups,
                        .whole = true});
  if (!method.searches) {
    parameters.push_back({.name = "alone", .fallback = false, .help = "never data-parallel, also where that is faster"});
    return parameters;
  }
  parameters.push_back({.name = "evaluations",
                        .fallback = use.evaluations,
                        .help = use.help_of_evaluations,
                        .low = use.evaluations > 0 ? 1.0 : 0.0,
                        .high = 1e9,
                        .whole = true});
  if (use.measures)
    parameters.push_back({.name = "reinitialisation_s", .fallback = 5.0, .help = "before each of them", .low = 0, .high = 1e6});
  return parameters;
}

PlacedOptions options_of(const PlacementEntry& method, const Use& use, const Parameters& p) {
  PlacedOptions options{.name = use.name, .groups = static_cast<int>(p.number("groups")), .searches = method.searches};
  if (!options.searches) {
    options.alone = p.flag("alone");
    return options;
  }
  options.evaluations = static_cast<std::int64_t>(p.number("evaluations"));
  options.measures = use.measures;
  if (options.measures) options.reinitialisation_s = p.number("reinitialisation_s");
  return options;
}

PlannedPlacement::MakeMethod maker(const PlacementEntry& method, const Parameters& p, const PlaceInputs& inputs) {
  if (method.make_agent != nullptr && inputs.network != nullptr)
    return [&method, p, network = inputs.network] { return method.make_agent(p, *network); };
  return [&method, p] { return method.make(p); };
}

const PlacementEntry& registered(const char* name) {
  const PlacementEntry* method = find_strategy(placement_methods(), name);
  sim::check(method != nullptr, "a placement method that is not registered");
  return *method;
}

PlaceEntry placing(const Use& use) {
  const PlacementEntry& method = registered(use.method);
  PlaceEntry entry;
  entry.name = use.name;
  entry.help = method.help;
  entry.parameters = parameters_of(method, use);
  entry.blueprint = method.blueprint;
  entry.make = [&method, use](const Parameters& p, const PlaceInputs& inputs) -> std::unique_ptr<sim::Place> {
    return std::make_unique<PlannedPlacement>(maker(method, p, inputs), options_of(method, use, p), inputs);
  };
  return entry;
}

/// In a replay the trained network of rl-transfer answers at once, unless another network or a search is asked for.
PlaceEntry rl() {
  constexpr double kEvaluations = 2000;  // of another network
  const PlacementEntry &searching = registered("rl"), &trained = registered("rl-transfer");
  const Use use{.method = "rl",
                .name = "rl",
                .evaluations = 0,
                .help_of_evaluations = "steps that a search may try; 0: 2000, and none with the trained network"};
  PlaceEntry entry = placing(use);
  entry.help = "the trained network of rl-transfer, at once; or a search by reinforcement learning";
  entry.blueprint = trained.blueprint;
  for (ParameterDeclaration& declared : entry.parameters) {
    if (declared.name != "network") continue;
    declared.fallback = std::string("trained");
    declared.choices.insert(declared.choices.begin(), "trained");
    declared.help = "trained: on other graphs; the others learn on this one: they read the groups as a sequence, as a graph with "
                    "what stands on each device, or make bundles of them";
  }
  entry.parameters.push_back(trained.parameters.back());
  entry.make = [&searching, &trained, use](const Parameters& p, const PlaceInputs& inputs) -> std::unique_ptr<sim::Place> {
    const bool is_trained = p.text("network") == "trained";
    PlacedOptions options = options_of(searching, use, p);
    options.searches = options.measures = !is_trained || options.evaluations > 0;
    options.tries_others = !options.searches;
    if (options.evaluations == 0) options.evaluations = is_trained ? 1 : static_cast<std::int64_t>(kEvaluations);
    return std::make_unique<PlannedPlacement>(maker(is_trained ? trained : searching, p, inputs), std::move(options), inputs);
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
      data_parallel(),
      placing({.method = "single-gpu", .name = "single-device"}),
      placing("round-robin"),
      placing("random"),
      placing("expert"),
      placing("scotch"),
      placing("metis"),
      placing("min-cut"),
      placing("heft"),
      placing("m-topo"),
      placing("m-etf"),
      placing("m-sct"),
      placing("annealing"),
      placing({.method = "exact",
               .name = "exact",
               .groups = 8,
               .evaluations = 1e6,
               .most_groups = kMostExactGroups,
               .measures = false}),
      rl(),
      placing("rl-refined"),
      placing("rl-transfer"),
  };
  return entries;
}

}  // namespace rehearse::policies
