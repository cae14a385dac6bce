#include "policies/registry/registry.hpp"

#include <algorithm>

#include "policies/configure/from_history.hpp"
#include "policies/configure/least_energy.hpp"
#include "policies/configure/manual.hpp"
#include "policies/configure/yardsticks.hpp"
#include "policies/learn/boosted_learner.hpp"
#include "policies/learn/gaussian_learner.hpp"
#include "policies/learn/isotonic_learner.hpp"
#include "policies/learn/nearest_run.hpp"
#include "policies/learn/parametric.hpp"
#include "policies/staged/spot_strategy.hpp"
#include "policies/staged/staged_mpc.hpp"
#include "policies/staged/staged_rl.hpp"
#include "policies/staged/staged_shared.hpp"
#include "policies/staged/staged_yardsticks.hpp"
#include "policies/threads/planner.hpp"
#include "policies/threads/recommended.hpp"
#include "policies/threads/regression.hpp"

namespace rehearse::policies {

namespace {

ThreadsEntry threads_entry(std::string name, std::string help,
                           std::unique_ptr<sim::Threads> (*make)(const Parameters&, std::uint64_t),
                           std::vector<ParameterDeclaration> parameters) {
  ThreadsEntry entry;
  entry.name = std::move(name);
  entry.help = std::move(help);
  entry.parameters = std::move(parameters);
  entry.make = make;
  return entry;
}

ParameterDeclaration probing_noise() {
  return {.name = "noise",
          .fallback = 0.05,
          .help = "standard deviation of the logarithm of an operation's measured time",
          .low = 0,
          .high = 1};
}

/// What every planner of strategies has, behind its own.
std::vector<ParameterDeclaration> strategy_parameters(std::vector<ParameterDeclaration> own) {
  const auto flag = [](const char* name, bool on, const char* help) {
    return ParameterDeclaration{.name = name, .fallback = on, .help = help};
  };
  for (ParameterDeclaration& parameter :
       std::vector{flag("own_counts", true, "S1: the quickest number for each operation"),
                   flag("type_counts", true, "S2: one number for all operations of a type; goes before S1"),
                   flag("co_run", true, "S3: ready operations on idle cores"),
                   flag("spare_threads", true, "S4: ready operations on further hardware threads"),
                   flag("only_if_quicker", true,
                        "of uniform settings and all combinations of the strategies the one with the quickest steps"),
                   probing_noise()})
    own.push_back(std::move(parameter));
  return own;
}

std::unique_ptr<sim::Threads> make_strategy_threads(const Parameters& p, std::unique_ptr<CurveEstimator> estimator,
                                                    const BenchNoise& noise) {
  const ThreadStrategies strategies{.own_counts = p.flag("own_counts"),
                                    .type_counts = p.flag("type_counts"),
                                    .co_run = p.flag("co_run"),
                                    .spare_threads = p.flag("spare_threads")};
  const auto use = p.flag("only_if_quicker") ? StrategyPlanner::Use::or_uniform : StrategyPlanner::Use::as_given;
  return std::make_unique<PlannedThreads>(std::make_unique<StrategyPlanner>(std::move(estimator), strategies, use), noise);
}

std::vector<ParameterDeclaration> hill_climbing_parameters() {
  return strategy_parameters({{.name = "stride",
                               .fallback = 4.0,
                               .help = "between numbers of threads, at the end",
                               .low = 1,
                               .high = 64,
                               .whole = true}});
}

std::unique_ptr<sim::Threads> make_hill_climbing(const Parameters& p, std::uint64_t key) {
  return make_strategy_threads(p, std::make_unique<HillClimbing>(static_cast<int>(p.number("stride"))),
                               {.deviation = p.number("noise"), .key = key});
}

std::vector<ParameterDeclaration> regression_parameters() {
  return strategy_parameters({{.name = "counter_noise",
                               .fallback = 0.47,
                               .help = "likewise of cache counters, which take turns on few registers",
                               .low = 0,
                               .high = 1},
                              {.name = "reuse_jobs",
                               .fallback = 50.0,
                               .help = "jobs that share the profiling of other networks on a CPU",
                               .low = 1,
                               .high = 1e12}});
}

std::unique_ptr<sim::Threads> make_thread_regression(const Parameters& p, std::uint64_t key) {
  const BenchNoise noise{.deviation = p.number("noise"), .counter_deviation = p.number("counter_noise"), .key = key};
  return make_strategy_threads(p, std::make_unique<ZooRegression>(noise, p.number("reuse_jobs")), noise);
}

std::unique_ptr<sim::Threads> make_manual_best_threads(const Parameters& p, std::uint64_t key) {
  return std::make_unique<PlannedThreads>(std::make_unique<ManualBestPlanner>(),
                                          BenchNoise{.deviation = p.number("noise"), .key = key});
}

template <class Strategy>
std::unique_ptr<Configure> make_configure(const Parameters&) {
  return std::make_unique<Strategy>();
}

ParameterDeclaration margin_parameter(std::string help) {
  return {.name = "margin_quantile", .fallback = 0.8, .help = std::move(help), .low = 0, .high = 1};
}

constexpr const char* kPriorFactor = "prior_factor";

/// Of strategies that believe something of the world's spreads before they measure: to see what hangs on it.
ParameterDeclaration prior_factor_parameter() {
  return {.name = kPriorFactor,
          .fallback = 1.0,
          .help = "multiplies the standard deviations that are believed in before anything is measured",
          .low = 0.1,
          .high = 10};
}

/// How past runs are got, and what of them counts: the same for every learner, so that each of these can be compared alone.
std::vector<ParameterDeclaration> learning_parameters(const char* probing, bool jobs) {
  return {
      {.name = "probing",
       .fallback = std::string(probing),
       .help = "who chooses what is measured: the strategy's own way, nobody (shared random runs), or the value of information",
       .choices = {"own", "random", "active"}},
      {.name = "curves", .fallback = false, .help = "all evaluations of a past run count, not its last alone"},
      {.name = "learn_from_jobs", .fallback = jobs, .help = "jobs that have ended join the past runs"},
      {.name = "exploration",
       .fallback = 0.0,
       .help = "a job that keeps its limits all the same may cost so large a share more for what it teaches",
       .low = 0,
       .high = 1}};
}

std::vector<ParameterDeclaration> with_learning(std::vector<ParameterDeclaration> own, const char* probing = "own",
                                                bool jobs = false) {
  for (ParameterDeclaration& p : learning_parameters(probing, jobs)) own.push_back(std::move(p));
  return own;
}

constexpr const char* kBudget = "budget";

/// Of peers: who learns from runs that were made for the purpose buys as many as the jobs to come repay.
ParameterDeclaration budget_parameter() {
  return {.name = kBudget,
          .fallback = 0.1,
          .help = "share of the expected cost of all jobs to come that past runs may cost: so fewer are made, or none",
          .low = 0,
          .high = 1e9};
}

HistoryUse history_use(const Parameters& p, Frozen frozen = Frozen::nothing) {
  return {.frozen = frozen, .curves = p.flag("curves"), .exploration = p.number("exploration")};
}

std::vector<ParameterDeclaration> isotonic_parameters() {
  return {{.name = "features",
           .fallback = std::string("global-batch"),
           .help = "what the predictors are monotone in",
           .choices = {"global-batch", "thesis"}},
          margin_parameter("quantile of the leave-one-out residuals that is the safety margin")};
}

std::vector<ParameterDeclaration> guess_parameters() {
  return {margin_parameter("quantile of the errors on held-out runs that is the safety margin"), budget_parameter()};
}

template <Frozen frozen>
std::unique_ptr<Configure> make_isotonic(const Parameters& p) {
  const IsotonicOptions options{.features = p.text("features") == "thesis" ? RunFeatures::thesis : RunFeatures::global_batch,
                                .margin_quantile = p.number("margin_quantile")};
  return std::make_unique<FromHistory>(std::make_unique<IsotonicLearner>(options), history_use(p, frozen));
}

template <class Learner>
std::unique_ptr<Configure> make_guessing(const Parameters& p) {
  return std::make_unique<FromHistory>(std::make_unique<Learner>(p.number("margin_quantile")), history_use(p));
}

template <class Learner>
std::unique_ptr<Configure> make_believing(const Parameters& p) {
  return std::make_unique<FromHistory>(std::make_unique<Learner>(p.number("margin_quantile"), p.number(kPriorFactor)),
                                       history_use(p));
}

std::vector<ParameterDeclaration> believing_parameters() {
  std::vector<ParameterDeclaration> parameters = guess_parameters();
  parameters.push_back(prior_factor_parameter());
  return parameters;
}

ConfigureEntry configure_entry(std::string name, std::string help, std::unique_ptr<Configure> (*make)(const Parameters&)) {
  ConfigureEntry entry;
  entry.name = std::move(name);
  entry.help = std::move(help);
  entry.make = make;
  return entry;
}

ConfigureEntry history_entry(std::string name, std::string help, std::unique_ptr<Configure> (*make)(const Parameters&),
                             std::vector<ParameterDeclaration> parameters) {
  ConfigureEntry entry = configure_entry(std::move(name), std::move(help), make);
  entry.parameters = with_learning(std::move(parameters));
  entry.uses_history = true;
  return entry;
}

EnvelopeOptions envelope_of(const Parameters& p) {
  return EnvelopeOptions{
      .probability = p.number("probability"), .time_noise = p.number("time_noise"), .epoch_noise = p.number("epoch_noise")}
      .spread_by(p.number(kPriorFactor));
}
EnvelopeMargins margins_of(const Parameters& p) {
  return EnvelopeMargins{.time = p.number("time_margin"), .epochs = p.number("epoch_margin")}.spread_by(p.number(kPriorFactor));
}

ParameterDeclaration learner_parameter(const std::string& own, std::vector<std::string> all) {
  return {.name = kLearner,
          .fallback = own,
          .help = "two-sided bounds on measurements that it chooses, or the thesis's regression on shared past runs",
          .choices = std::move(all)};
}

}  // namespace

const std::vector<std::string>& learners() {
  static const std::vector<std::string> names{"bounds", "thesis"};
  return names;
}

namespace {

constexpr const char* kBelief = "belief";

/// As TaskTransfer has them.
const std::vector<std::string>& table_transfers() {
  static const std::vector<std::string> names{"held-out", "together", "apart"};
  return names;
}

HistoryUse bounds_use(const Parameters& p) {
  HistoryUse use = history_use(p);
  use.weighs_belief = p.flag(kBelief);
  return use;
}

/// Two-sided monotone envelopes over measurements of the strategy's choice and the jobs that have ended.
ConfigureEntry static_isotonic_entry() {
  const EnvelopeOptions envelope;
  const EnvelopeMargins margins;
  ConfigureEntry entry = configure_entry(
      "static-isotonic",
      "cheapest (resources, batch size) sure to keep the limits, between monotone bounds, on measurements that repay themselves",
      [](const Parameters& p) -> std::unique_ptr<Configure> {
        return std::make_unique<FromHistory>(std::make_unique<EnvelopeLearner>(envelope_of(p), margins_of(p)), bounds_use(p));
      });
  const auto share = [](const char* name, double fallback, const char* help, double high) {
    return ParameterDeclaration{.name = name, .fallback = fallback, .help = help, .low = 0, .high = high};
  };
  entry.parameters =
      with_learning({share("probability", envelope.probability, "with which the bounds of a point hold", 0.9999),
                     share("time_noise", envelope.time_noise, "standard deviation of the logarithm of a measured time", 1),
                     share("epoch_noise", envelope.epoch_noise, "the same of the epochs that two runs alike need", 1),
                     share("time_margin", margins.time, "of a time, beyond its bound, for what differs from run to run", 1),
                     share("epoch_margin", margins.epochs, "the same of epochs", 1)},
                    "active", true);
  entry.parameters.push_back(prior_factor_parameter());
  entry.parameters.push_back({.name = "table_tasks",
                              .fallback = table_transfers().front(),
                              .help = "on a table of measured runs: whether runs of a task tell of other tasks",
                              .choices = table_transfers()});
  entry.parameters.push_back({.name = "table_limits",
                              .fallback = std::string("all"),
                              .help = "on a table of measured runs: what is measured for the sake of",
                              .choices = {"all", "middle"}});
  entry.parameters.push_back({.name = kBelief,
                              .fallback = true,
                              .help = "what is believed before a run counts as far as measurements have borne it out"});
  entry.parameters.push_back(learner_parameter(learners().front(), learners()));
  entry.uses_history = true;
  entry.former_names = {"active-isotonic"};
  return entry;
}

ConfigureEntry isotonic_entry(std::string name, std::string help, std::unique_ptr<Configure> (*make)(const Parameters&)) {
  return history_entry(std::move(name), std::move(help), make, isotonic_parameters());
}

ConfigureEntry shared_isotonic_entry() {
  ConfigureEntry entry = isotonic_entry(
      "static-isotonic-shared",
      "the thesis's static-isotonic: cheapest predicted to keep the limits, by isotonic regression on shared past runs",
      make_isotonic<Frozen::nothing>);
  entry.parameters.push_back(learner_parameter(learners().back(), {learners().back()}));
  entry.variant_of = "static-isotonic";
  return entry;
}

ConfigureEntry boosting_entry() {
  std::vector<ParameterDeclaration> parameters = guess_parameters();
  parameters.push_back({.name = "rounds", .fallback = 200.0, .help = "trees", .low = 1, .high = 1e5, .whole = true});
  parameters.push_back({.name = "rate", .fallback = 0.1, .help = "share of a tree that is added", .low = 1e-4, .high = 1});
  parameters.push_back(
      {.name = "depth", .fallback = 3.0, .help = "splits above a leaf, at most", .low = 1, .high = 12, .whole = true});
  const auto make = [](const Parameters& p) -> std::unique_ptr<Configure> {
    const TreesOptions trees{
        .rounds = static_cast<int>(p.number("rounds")), .rate = p.number("rate"), .depth = static_cast<int>(p.number("depth"))};
    return std::make_unique<FromHistory>(std::make_unique<BoostedLearner>(p.number("margin_quantile"), trees), history_use(p));
  };
  return history_entry("monotone-boosting",
                       "a peer: boosted monotone trees (Friedman 2001; XGBoost's bounds) on the shared past runs", make,
                       std::move(parameters));
}

ConfigureEntry least_energy_entry() {
  ConfigureEntry entry = configure_entry(
      "least-energy", "the harness: least energy predicted to keep the limits, by an estimator of network structures",
      [](const Parameters& p) -> std::unique_ptr<Configure> {
        return std::make_unique<LeastEnergy>(static_cast<int>(p.number("networks")));
      });
  entry.parameters = {
      {.name = "networks", .fallback = 80.0, .help = "of the benchmark sweep", .low = 10, .high = 10000, .whole = true}};
  return entry;
}

ConfigureEntry random_runs_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<Configure> {
    return std::make_unique<FromHistory>(std::make_unique<MeasuredRuns>(), history_use(p));
  };
  ConfigureEntry entry = history_entry(
      "random-search",
      "a peer: trains random configurations to the end and takes the best that it measured (Bergstra and Bengio 2012)", make,
      {budget_parameter()});
  entry.make_probes = [](const Parameters&) -> std::unique_ptr<ProbeChooser> { return std::make_unique<RandomProbes>(); };
  return entry;
}

ConfigureEntry bayes_opt_entry() {
  std::vector<ParameterDeclaration> parameters{margin_parameter("quantile of the posterior that limits are held against"),
                                               budget_parameter()};
  parameters.push_back({.name = "initial",
                        .fallback = 3.0,
                        .help = "random probes for each instance, at most a third of all",
                        .low = 1,
                        .high = 1e5,
                        .whole = true});
  parameters.push_back(prior_factor_parameter());
  parameters.push_back({.name = "recommends",
                        .fallback = std::string("measured"),
                        .help = "what it chooses from: configurations that were measured, or all, as they are predicted",
                        .choices = {"measured", "predicted"}});
  const auto make = [](const Parameters& p) -> std::unique_ptr<Configure> {
    HistoryUse use = history_use(p);
    use.only_measured = p.text("recommends") == "measured";
    return std::make_unique<FromHistory>(std::make_unique<GaussianLearner>(p.number("margin_quantile"), p.number(kPriorFactor)),
                                         use);
  };
  ConfigureEntry entry = history_entry(
      "bayes-opt",
      "a peer: Gaussian processes, probes of largest expected improvement (CherryPick, NSDI 2017; TrimTuner, MASCOTS 2020)", make,
      std::move(parameters));
  entry.make_probes = [](const Parameters& p) -> std::unique_ptr<ProbeChooser> {
    return std::make_unique<BayesianProbes>(static_cast<std::size_t>(p.number("initial")), p.flag("curves"),
                                            p.number(kPriorFactor));
  };
  return entry;
}

ConfigureEntry oracle_entry() {
  ConfigureEntry entry =
      yardstick(configure_entry("oracle", "the best candidate, found by running each alone in the true world", nullptr));
  entry.make_oracle = [](const Parameters& p) -> std::unique_ptr<OracleConfigure> {
    return std::make_unique<Oracle>(p.text("knows") == "everything" ? Foresight::everything : Foresight::world);
  };
  entry.parameters = {{.name = "knows",
                       .fallback = std::string("everything"),
                       .help = "all that will happen, or what of the world lasts: not what is this job's alone",
                       .choices = {"everything", "world"}}};
  return entry;
}

constexpr const char* kPastRuns = "past_runs";
constexpr const char* kMissChance = "miss_chance";
constexpr const char* kLearnErrors = "learn_errors";
constexpr const char* kWaits = "waits";

ParameterDeclaration past_runs_parameter() {
  return {.name = kPastRuns, .fallback = true, .help = "correct the belief by past runs before a job's first stage"};
}

ParameterDeclaration learn_errors_parameter() {
  return {.name = kLearnErrors, .fallback = false, .help = "believe in errors as large as past runs have shown them"};
}

ParameterDeclaration waits_parameter() {
  return {.name = kWaits, .fallback = false, .help = "may pause for devices that are not free, and is asked when nodes are lost"};
}

std::unique_ptr<Configure> that_may_wait(std::unique_ptr<Configure> strategy, const Parameters& p) {
  if (!p.flag(kWaits)) return strategy;
  return std::make_unique<WaitsForPool>(std::move(strategy));
}

Priors priors(const Parameters& p) { return Priors(p.flag(kPastRuns), p.number(kPriorFactor), p.flag(kLearnErrors)); }

ParameterDeclaration reserve_parameter(double fallback) {
  return {.name = "reserve",
          .fallback = fallback,
          .help = "share of the time to the deadline that is not planned with",
          .low = 0,
          .high = 0.9};
}

ConfigureEntry staged_mpc_entry() {
  ConfigureEntry entry =
      configure_entry("staged-mpc", "plans all stages to come anew at each, on the belief as measurements have corrected it",
                      [](const Parameters& p) -> std::unique_ptr<Configure> {
                        return that_may_wait(std::make_unique<StagedMpc>(p.number("reserve"), priors(p)), p);
                      });
  entry.parameters = {reserve_parameter(0.1), past_runs_parameter(), prior_factor_parameter(), learn_errors_parameter(),
                      waits_parameter()};
  entry.uses_history = true;
  return entry;
}

ConfigureEntry staged_oracle_entry() {
  ConfigureEntry entry = yardstick(
      configure_entry("staged-oracle", "the cheapest plan over all stages, by dynamic programming in the true world", nullptr));
  entry.make_oracle = [](const Parameters& p) -> std::unique_ptr<OracleConfigure> {
    const std::string& knows = p.text("knows");
    return std::make_unique<StagedOracle>(knows == "everything" ? Foresight::everything
                                          : knows == "world"    ? Foresight::world
                                                                : Foresight::world_later,
                                          p.number("reserve"));
  };
  entry.parameters = {{.name = "knows",
                       .fallback = std::string("everything"),
                       .help = "all that will happen, what of the world lasts, or that from the end of the first stage on",
                       .choices = {"everything", "world", "world-later"}},
                      reserve_parameter(0)};
  return entry;
}

ConfigureEntry staged_rl_entry() {
  ConfigureEntry entry =
      configure_entry("staged-rl", "each stage what a trained agent chooses, from what was measured so far", nullptr);
  entry.parameters = {{.name = "agent", .fallback = std::string(), .help = "file of a trained agent; none: the one that ships"}};
  entry.parameters.push_back(past_runs_parameter());
  entry.parameters.push_back(prior_factor_parameter());
  entry.parameters.push_back(learn_errors_parameter());
  entry.parameters.push_back(
      {.name = kMissChance,
       .fallback = 0.0,
       .help = "that a plan ends too late, by what is left unknown of the job; 0: a tenth of the time is kept",
       .low = 0,
       .high = 0.49});
  entry.parameters.push_back(waits_parameter());
  entry.uses_history = true;
  entry.make_agent = [](const Parameters& p, const NetworkState* network) -> std::unique_ptr<Configure> {
    return that_may_wait(std::make_unique<StagedRl>(network, priors(p), p.number(kMissChance)), p);
  };
  entry.blueprint = StagedAgent::blueprint;
  return entry;
}

ConfigureEntry staged_shared_entry() {
  ConfigureEntry entry = configure_entry(
      "staged-shared", "each stage the outlook's plan, moved by what waits and what is free as whole replays have taught",
      nullptr);
  entry.parameters = {{.name = "agent", .fallback = std::string(), .help = "file of a trained agent; none: the one that ships"},
                      {.name = "residual", .fallback = true, .help = "off: the outlook's plan as it is"},
                      {.name = "load", .fallback = true, .help = "off: as if nothing waited and all were free"},
                      past_runs_parameter(),
                      prior_factor_parameter(),
                      learn_errors_parameter()};
  entry.uses_history = true;
  entry.make_agent = [](const Parameters& p, const NetworkState* network) -> std::unique_ptr<Configure> {
    const bool is_trained = network != nullptr && p.flag("residual");
    return std::make_unique<StagedShared>(is_trained ? SharedAgent(*network) : SharedAgent(), priors(p), p.flag("load"));
  };
  entry.blueprint = SharedAgent::blueprint;
  return entry;
}

/// A rule or programme for spot nodes, with the pools of the scenario as its zones.
template <SpotRule rule>
ConfigureEntry spot_entry(std::string name, std::string help) {
  ConfigureEntry entry = configure_entry(std::move(name), std::move(help), [](const Parameters& p) -> std::unique_ptr<Configure> {
    SpotStrategyOptions options{.rule = rule, .step_s = 60 * p.number("step_min")};
    if constexpr (rule == SpotRule::mean || rule == SpotRule::programme)
      options.up_s = 3600 * p.number("up_h"), options.down_s = 3600 * p.number("down_h");
    return std::make_unique<SpotStrategy>(options);
  });
  entry.parameters = {{.name = "step_min", .fallback = 10.0, .help = "minutes in which it counts", .low = 0.1, .high = 1440}};
  if constexpr (rule == SpotRule::mean || rule == SpotRule::programme) {
    const auto hours = [&](const char* of, double fallback, const char* what) {
      entry.parameters.push_back({.name = of, .fallback = fallback, .help = what, .low = 0.01, .high = 1e5});
    };
    hours("up_h", 4, "mean hours for which a spot node is there, of pools that do not announce them");
    hours("down_h", 2, "mean hours for which it is away, likewise");
  }
  return entry;
}

}  // namespace

const std::vector<ConfigureEntry>& configure_strategies() {
  static const std::vector<ConfigureEntry> entries{
      configure_entry("manual", "what an experienced user would set: the publication's batch, a usual pool, enough workers",
                      make_configure<Manual>),
      isotonic_entry("resource-only", "static-isotonic-shared with the batch size of manual", make_isotonic<Frozen::batch>),
      isotonic_entry("batch-only", "static-isotonic-shared with the resources of manual", make_isotonic<Frozen::resources>),
      static_isotonic_entry(),
      shared_isotonic_entry(),
      random_runs_entry(),
      history_entry("nearest-run", "a peer: every choice is like the most similar past run", make_guessing<NearestRun>,
                    guess_parameters()),
      history_entry("ernest", "a peer: step time as 1, batch/n, log n, n with coefficients >= 0 (Venkataraman et al., NSDI 2016)",
                    make_guessing<Ernest>, guess_parameters()),
      history_entry("parametric", "a peer: the model's own equations, fitted to the past runs (Pollux, OSDI 2021)",
                    make_believing<Parametric>, believing_parameters()),
      boosting_entry(),
      bayes_opt_entry(),
      least_energy_entry(),
      yardstick(configure_entry("random-feasible", "a yardstick: any configuration that the belief finds feasible",
                                make_configure<RandomFeasible>)),
      yardstick(configure_entry("median-feasible", "a yardstick: the feasible configuration of median cost, by the belief",
                                make_configure<MedianFeasible>)),
      oracle_entry(),
      configure_entry("staged-greedy", "each stage: the batch nearest to the noise scale seen, on the cheapest feasible workers",
                      make_configure<StagedGreedy>),
      yardstick(
          configure_entry("staged-random", "a yardstick: each stage any feasible configuration", make_configure<StagedRandom>)),
      staged_mpc_entry(),
      staged_rl_entry(),
      staged_shared_entry(),
      spot_entry<SpotRule::uniform_progress>(
          "uniform-progress", "a peer: on spot nodes, on demand when behind an even pace (Wu et al., NSDI 2024, section 4.3)"),
      spot_entry<SpotRule::greedy>("spot-greedy",
                                   "a peer: spot nodes when they are there, on demand at last (Wu et al., NSDI 2024)"),
      spot_entry<SpotRule::mean>("spot-mpc", "on spot nodes, planned anew as if each run to come took the mean"),
      spot_entry<SpotRule::programme>("staged-sdp",
                                      "on spot nodes, the stochastic programme of the mean times that pools announce"),
      staged_oracle_entry(),
  };
  return entries;
}

bool uses_history(const ConfigureEntry& entry, const std::map<std::string, ParameterValue>& given) {
  const auto declares = [](const ParameterDeclaration& parameter) { return parameter.name == kPastRuns; };
  if (!entry.uses_history || std::none_of(entry.parameters.begin(), entry.parameters.end(), declares)) return entry.uses_history;
  return Parameters(entry.parameters, given).flag(kPastRuns);
}

Learning learning_of(const ConfigureEntry& entry, const std::map<std::string, ParameterValue>& given) {
  const auto declares = [&](std::string_view name) {
    return std::any_of(entry.parameters.begin(), entry.parameters.end(), [&](const auto& p) { return p.name == name; });
  };
  Learning learning;
  const Parameters p(entry.parameters, given);
  if (declares("probing")) {
    const std::string& probing = p.text("probing");
    // Who probes by the value of information unless told otherwise has no other way of its own.
    const bool own_is_active = std::any_of(entry.parameters.begin(), entry.parameters.end(), [](const auto& declared) {
      return declared.name == "probing" && declared.fallback == ParameterValue(std::string("active"));
    });
    learning.probing = probing == "active" || (probing == "own" && own_is_active) ? Probing::active
                       : probing == "random"                                      ? Probing::random
                                                                                  : Probing::own;
    learning.jobs = p.flag("learn_from_jobs");
  }
  if (declares(kBudget)) learning.budget = p.number(kBudget);
  if (declares("probability")) {
    learning.envelope = envelope_of(p);
    learning.margins = margins_of(p);
    learning.spread_factor = p.number(kPriorFactor);
    learning.weighs_belief = p.flag(kBelief);
  }
  if (declares("table_tasks")) {
    const auto& transfers = table_transfers();
    const auto transfer = std::ranges::find(transfers, p.text("table_tasks")) - transfers.begin();
    learning.table = {
        .foresees = true, .transfer = static_cast<TaskTransfer>(transfer), .all_limits = p.text("table_limits") == "all"};
  }
  return learning;
}

const std::vector<ThreadsEntry>& threads_strategies() {
  static const std::vector<ThreadsEntry> entries{
      threads_entry("recommended", "intra-op = physical cores, inter-op = sockets",
                    [](const Parameters&, std::uint64_t) -> std::unique_ptr<sim::Threads> {
                      return std::make_unique<RecommendedThreads>();
                    },
                    {}),
      threads_entry("default", "intra-op = inter-op = logical cores",
                    [](const Parameters&, std::uint64_t) -> std::unique_ptr<sim::Threads> {
                      return std::make_unique<PlannedThreads>(std::make_unique<DefaultPlanner>(), BenchNoise{});
                    },
                    {}),
      threads_entry("manual-best", "the quickest of all uniform settings, a profiling step each", make_manual_best_threads,
                    {probing_noise()}),
      threads_entry("hill-climbing",
                    "threads of each operation by hill climbing, and what runs beside what (Liu et al., IPDPS 2019)",
                    make_hill_climbing, hill_climbing_parameters()),
      threads_entry(
          "regression",
          "likewise from hardware counters of three profiling steps, learned on other networks (Liu et al., section III)",
          make_thread_regression, regression_parameters()),
  };
  return entries;
}

std::vector<std::string> names_of(const StrategyEntry& entry) {
  std::vector<std::string> names{entry.name};
  names.insert(names.end(), entry.former_names.begin(), entry.former_names.end());
  return names;
}

const std::string& family_of(const std::string& configure) {
  const ConfigureEntry* entry = find_strategy(configure_strategies(), configure);
  return entry == nullptr || entry->variant_of.empty() ? configure : entry->variant_of;
}

void check_registry() {
  check_names("configure", configure_strategies());
  check_names("place", place_strategies());
  check_names("threads", threads_strategies());
  check_names("queue", queue_strategies());
}

}  // namespace rehearse::policies
