// Strategies that are made elsewhere: by a process of the user's own, say (scenarios/process). They stand in a policy in the
// place of a registered one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "policies/configure/configure.hpp"
#include "policies/configure/manual.hpp"
#include "policies/configure/menu.hpp"
#include "policies/place/data_parallel.hpp"
#include "policies/queue/partitions.hpp"
#include "policies/registry/place_planned.hpp"
#include "policies/registry/registry.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/replay/alone.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/replay.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

/// What such a strategy is made with, in one run. Pointers must outlive it.
struct OutsideInputs {
  std::string policy;  ///< its name
  const sim::Cluster* cluster = nullptr;
  const workloads::Belief* belief = nullptr;
  std::uint64_t policy_seed = 0;
  int repetition = 0;
  std::string folder;  ///< for files about it; empty: none
};

/// Makes one for whichever decision it stands in for. Throws PolicyError when it cannot.
class OutsideStrategy {
 public:
  virtual ~OutsideStrategy() = default;
  virtual std::unique_ptr<Configure> configure(const OutsideInputs& inputs) const = 0;
  virtual std::unique_ptr<sim::Place> place(const OutsideInputs& inputs) const = 0;
  virtual std::unique_ptr<sim::Threads> threads(const OutsideInputs& inputs) const = 0;
  virtual std::unique_ptr<sim::Queue> queue(const OutsideInputs& inputs) const = 0;
};

// A policy in the making: four strategies, named with their parameters, and the bundle that answers the replay with them.

struct StrategyChoice {
  std::string name;
  std::map<std::string, ParameterValue> parameters;
  std::vector<Partition> partitions = {};                 ///< of a queue: one for each, with these parameters; none: one for all
  std::shared_ptr<const NetworkState> network = nullptr;  ///< of a strategy with an agent; none: an untrained one
  std::shared_ptr<const OutsideStrategy> outside = nullptr;  ///< instead of a registered one; the name is then for messages alone
};

/// What is left out has its default.
struct PolicySpec {
  std::string name;
  StrategyChoice configure{"manual", {}};
  FreeKnobs free;  ///< what `configure` may choose otherwise than manual
  StrategyChoice place{"data-parallel", {}};
  StrategyChoice threads{"recommended", {}};
  StrategyChoice queue{"fifo", {}};
  std::optional<std::uint64_t> policy_seed = std::nullopt;  ///< of its random streams; none: the scenario's
};

/// Whether one of its strategies is a yardstick.
bool is_yardstick(const PolicySpec& spec);
/// May this queue stop running jobs? Of one that is made elsewhere nothing is known: no.
bool may_preempt(const StrategyChoice& queue);
/// Does it go by users' time limits? Of one that is made elsewhere nothing is known: no.
bool reads_limits(const StrategyChoice& queue);

struct BundleInputs {
  const sim::Cluster* cluster = nullptr;
  sim::CostRules costs;
  const workloads::Belief* belief = nullptr;
  const workloads::World* world = nullptr;  ///< handed on to oracles alone
  const RunHistory* history = nullptr;
  PastRuns* past_runs = nullptr;  ///< instead of a history that is there from the beginning
  const ManualRules* manual = nullptr;
  StageRules stage_rules;
  double profiling_reuse_jobs = 50;  ///< that share the price of what is measured once
  std::uint64_t policy_seed = 0;
  int repetition = 0;
  std::string folder = {};         ///< for files about strategies that are made elsewhere; empty: none
  sim::AtWork* at_work = nullptr;  ///< shows what is predicted; may be null
};

/// The four strategies of one policy in one run. The inputs must outlive it.
class Bundle final : public sim::Configurator {
 public:
  Bundle(const PolicySpec& spec, const BundleInputs& inputs);
  void look(const sim::Sight& sight) override { sight_ = &sight; }
  sim::Menu configure(const sim::Job& job, double now_s) override;
  sim::Menu configure_again(const sim::Job& job, std::span<const sim::StageSeen> seen, double now_s) override;
  void on_run(const sim::RunSeen& run) override;
  void on_out_of_memory(const sim::Job& job, const sim::Configuration& configuration) override;
  sim::Policy policy();

  /// What the job's manual configuration costs alone on an empty cluster in the world, by the closed form; for a rigid job,
  /// what its own run costs.
  double manual_alone_usd(const sim::Job& job);

  /// Steps that searches for placements have tried so far.
  double searched_steps() const { return searched_steps_; }

  /// How long that takes, and on what. NaN seconds: it fits nowhere.
  struct AloneRun {
    double time_s = sim::kUnset;
    double running_s = 0;  ///< of it: training and evaluations, in which periodic checkpoints would be written
    double devices = 0;
    sim::Configuration configuration;
  };
  AloneRun manual_alone(const sim::Job& job);

 private:
  sim::Choice manual_choice(const sim::Job& job);
  bool joins_the_past(const sim::Job& job, const sim::Configuration& c) const;
  PastRun past_run_of(const sim::Job& job, const sim::Configuration& c) const;
  void make_configure(const OutsideInputs& outside);
  /// Asks the strategy, about a new job when nothing is seen of it yet.
  sim::Menu ask(const sim::Job& job, std::span<const sim::StageSeen> seen, double now_s);
  /// Throws PolicyError where a choice differs from `manual` in more than the policy may choose.
  void check_free(const sim::Menu& menu, const sim::Configuration& manual) const;
  /// What there is to learn from, for a job that arrives or goes on.
  PastRuns::Known known(const sim::Job& job, bool arrives, double now_s);
  /// A search for a placement, with these models: seconds and dollars of those that share its price.
  struct SearchPrice {
    double time_s = 0, cost_usd = 0, evaluations = 0;
  };
  SearchPrice price_of(const sim::Job& job, const sim::Configuration& configuration, std::span<const sim::Plans> plans,
                       const sim::Models& models) const;
  std::vector<sim::Plans> ask_place(const sim::Job& job, const sim::Configuration& configuration,
                                    const sim::AloneOutcome& expected, bool decides);
  /// Of a candidate: what a search for its placement is expected to take and to gain.
  void expect_search(const sim::Job& job, const sim::Configuration& configuration, const sim::AloneOutcome& outcome,
                     sim::Prediction& p);
  /// Searches for the placement of the menu's first choice, if `place` asks for that: the job waits for it, and pays.
  void search(const sim::Job& job, sim::Menu& menu);
  sim::Prediction estimate(const sim::Job& job, const sim::Configuration& configuration, sim::AloneRunner& believed);

  const PolicySpec& spec_;
  BundleInputs inputs_;
  const RunHistory* last_known_ = nullptr;
  double searched_steps_ = 0;
  const sim::Sight* sight_ = nullptr;
  std::unique_ptr<Configure> configure_;
  std::unique_ptr<OracleConfigure> oracle_;
  std::unique_ptr<sim::Place> place_;
  std::unique_ptr<sim::Threads> threads_;
  std::unique_ptr<sim::Queue> queue_;
  std::unique_ptr<sim::AloneRunner> believed_;
  std::unique_ptr<sim::AloneRunner> truth_;
  /// The manual reference is the same for every policy: data-parallel, recommended threads.
  DataParallel reference_place_;
  RecommendedThreads reference_threads_;
  std::unique_ptr<sim::AloneRunner> reference_believed_, reference_;
};

}  // namespace rehearse::policies
