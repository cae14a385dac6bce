#include "policies/registry.hpp"

#include "policies/configure/manual.hpp"
#include "policies/configure/oracle.hpp"
#include "policies/configure/staged/staged_mpc.hpp"
#include "policies/configure/staged/staged_oracle.hpp"
#include "policies/configure/staged/staged_rl.hpp"
#include "policies/configure/staged/staged_simple.hpp"
#include "policies/configure/static_isotonic.hpp"
#include "policies/configure/yardsticks.hpp"
#include "policies/place/data_parallel.hpp"
#include "policies/queue/fifo.hpp"
#include "policies/threads/recommended.hpp"

namespace rehearse::policies {

namespace {

template <class Strategy>
std::unique_ptr<Configure> make_configure(const Parameters&) {
  return std::make_unique<Strategy>();
}

std::vector<ParameterDeclaration> history_parameters() {
  return {{.name = "features",
           .fallback = std::string("global-batch"),
           .help = "what the predictors are monotone in",
           .choices = {"global-batch", "thesis"}},
          {.name = "margin_quantile",
           .fallback = 0.8,
           .help = "quantile of the leave-one-out residuals that is the safety margin",
           .low = 0,
           .high = 1}};
}

template <Frozen frozen>
std::unique_ptr<Configure> make_isotonic(const Parameters& p) {
  const HistoryPredictorOptions options{
      .features = p.text("features") == "thesis" ? RunFeatures::thesis : RunFeatures::global_batch,
      .margin_quantile = p.number("margin_quantile")};
  return std::make_unique<StaticIsotonic>(frozen, options);
}

ConfigureEntry configure_entry(std::string name, std::string help, std::unique_ptr<Configure> (*make)(const Parameters&)) {
  ConfigureEntry entry;
  entry.name = std::move(name);
  entry.help = std::move(help);
  entry.make = make;
  return entry;
}

ConfigureEntry history_entry(std::string name, std::string help, std::unique_ptr<Configure> (*make)(const Parameters&)) {
  ConfigureEntry entry = configure_entry(std::move(name), std::move(help), make);
  entry.parameters = history_parameters();
  entry.uses_history = true;
  return entry;
}

template <class Strategy>
ConfigureEntry oracle_entry(std::string name, std::string help) {
  ConfigureEntry entry = configure_entry(std::move(name), std::move(help), nullptr);
  entry.make_oracle = [](const Parameters&) -> std::unique_ptr<OracleConfigure> { return std::make_unique<Strategy>(); };
  return entry;
}

ConfigureEntry staged_mpc_entry() {
  ConfigureEntry entry = configure_entry(
      "staged-mpc", "plans all stages to come anew at each, on the belief as measurements have corrected it",
      [](const Parameters& p) -> std::unique_ptr<Configure> { return std::make_unique<StagedMpc>(p.number("reserve")); });
  entry.parameters = {{.name = "reserve",
                       .fallback = 0.1,
                       .help = "share of the time to the deadline that is not planned with",
                       .low = 0,
                       .high = 0.9}};
  return entry;
}

ConfigureEntry staged_rl_entry() {
  ConfigureEntry entry =
      configure_entry("staged-rl", "each stage what a trained agent chooses, from what was measured so far", nullptr);
  entry.parameters = {{.name = "agent", .fallback = std::string(), .help = "file of a trained agent; none: the one that ships"}};
  entry.make_agent = [](const Parameters&, const NetworkState* network) -> std::unique_ptr<Configure> {
    return std::make_unique<StagedRl>(network);
  };
  entry.blueprint = StagedAgent::blueprint;
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

}  // namespace

const std::vector<ConfigureEntry>& configure_strategies() {
  static const std::vector<ConfigureEntry> entries{
      configure_entry("manual", "what an experienced user would set: the publication's batch, a usual pool, enough workers",
                      make_configure<Manual>),
      history_entry("resource-only", "static-isotonic with the batch size of manual", make_isotonic<Frozen::batch>),
      history_entry("batch-only", "static-isotonic with the resources of manual", make_isotonic<Frozen::resources>),
      history_entry("static-isotonic",
                    "cheapest (resources, batch size) predicted to keep the limits, by isotonic regression on past runs",
                    make_isotonic<Frozen::nothing>),
      configure_entry("random-feasible", "a yardstick: any configuration that the belief finds feasible",
                      make_configure<RandomFeasible>),
      configure_entry("median-feasible", "a yardstick: the feasible configuration of median cost, by the belief",
                      make_configure<MedianFeasible>),
      oracle_entry<Oracle>("oracle", "the best candidate, found by running each alone in the true world"),
      configure_entry("staged-greedy", "each stage: the batch nearest to the noise scale seen, on the cheapest feasible workers",
                      make_configure<StagedGreedy>),
      configure_entry("staged-random", "a yardstick: each stage any feasible configuration", make_configure<StagedRandom>),
      staged_mpc_entry(),
      staged_rl_entry(),
      oracle_entry<StagedOracle>("staged-oracle", "the cheapest plan over all stages, by dynamic programming in the true world"),
  };
  return entries;
}

const std::vector<PlaceEntry>& place_strategies() {
  static const std::vector<PlaceEntry> entries{decision_entry<sim::Place>(
      "data-parallel", "a replica of the model on every worker of a node",
      [](const Parameters&) -> std::unique_ptr<sim::Place> { return std::make_unique<DataParallel>(); })};
  return entries;
}

const std::vector<ThreadsEntry>& threads_strategies() {
  static const std::vector<ThreadsEntry> entries{decision_entry<sim::Threads>(
      "recommended", "intra-op = physical cores, inter-op = sockets",
      [](const Parameters&) -> std::unique_ptr<sim::Threads> { return std::make_unique<RecommendedThreads>(); })};
  return entries;
}

const std::vector<QueueEntry>& queue_strategies() {
  static const std::vector<QueueEntry> entries{
      decision_entry<sim::Queue>("fifo", "first come, first served; nobody overtakes",
                                 [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
                                   return std::make_unique<Fifo>(FifoParameters{.per_pool = p.flag("per_pool")});
                                 },
                                 {{.name = "per_pool", .fallback = false, .help = "one line a pool instead of one for all"}})};
  return entries;
}

}  // namespace rehearse::policies
