// A job alone on an empty cluster, stage by stage: what staged strategies plan and learn with. Equal to a replay of that one job
// with the same choices, to rounding.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/jobs/models.hpp"
#include "sim/money/costs.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::sim {

/// A node that a minimum time has paid for beyond the present, or that is rented still: as RentedNodes has it.
struct PaidNode {
  PoolId pool = 0;
  long node = 0;
  double rented_since_s = 0, paid_until_s = 0;
};

/// Where the job stands between two stages.
struct Standing {
  Progress progress;
  int stages = 0;                       ///< ended
  const Configuration* held = nullptr;  ///< of the last stage; null before the first
  double time_s = 0;                    ///< since the job took its first devices
  double cost_usd = 0;
  double energy_j = 0;
  double step_s = 0;       ///< of the last stage, its noise included
  double noise_scale = 0;  ///< true, at the end of the last stage
  bool ended = false;
  FailureReason failure = FailureReason::none;
  std::vector<PaidNode> paid;  ///< only where nodes have a minimum time
};

/// Training to the end of a stage. It depends on batch, rate and staleness, not on where it runs.
struct StageTraining {
  Progress end;
  double epochs = 0;  ///< of training time, lost ones included
  int evaluations = 0;
  double noise_scale = 0;
  bool ended = false;  ///< the job, not only the stage
  FailureReason failure = FailureReason::none;
};

/// What an epoch takes and what holding the devices costs, without noise.
struct StageRates {
  bool fits = false;  ///< cluster and memory; otherwise nothing else is set
  EpochTimes epoch;
  double step_s = 0;
  double profiling_s = 0;  ///< at each start
  double usd_per_s = 0;
  double idle_w = 0, busy_w = 0;
};

/// Money, seconds and energy.
struct StageCost {
  double time_s = 0, cost_usd = 0, energy_j = 0;
  StageCost& operator+=(const StageCost& other);
};

class StageRunner {
 public:
  /// Everything must outlive the runner.
  StageRunner(const Cluster& cluster, const CostRules& rules, const Models& models, const Policy& policy)
      : cluster_(cluster), rules_(rules), models_(models), policy_(policy) {}

  /// Runs the choice until its stage or the job ends. False when it does not fit; the standing is then as it was. The choice's
  /// configuration must outlive the standing.
  bool run(const Job& job, const Choice& choice, Standing& standing);

  // The parts of `run`, for planners that try many choices from one standing.

  /// Memoised, until a search has changed the answers of `place`.
  const StageRates& rates(const Job& job, const Configuration& configuration);
  /// Up to the choice's `until_epochs`; `batch_before` as in take_up_batch.
  StageTraining train(const Job& job, const Choice& choice, Progress from, double batch_before) const;
  /// From letting go of `held` (null: nothing) to the first step of `next`; nothing when they are the same. Of money without
  /// what minimum times change.
  StageCost switching(const Job& job, const Configuration* held, const Configuration& next);
  /// What `switching` from any configuration to `next` takes at least, without letting go: nothing boots.
  StageCost taking_up(const Job& job, const Configuration& next);
  /// Writing the checkpoint, holding `held`.
  StageCost letting_go(const Job& job, const Configuration& held);
  /// Where nodes have a minimum time: dollars to add (or to take off, where an earlier minimum has paid) to those of a stage that
  /// takes `cost`, switching from `held` included, and begins when the job has taken `since_s`. Charged ahead: the rest of a
  /// minimum belongs to the stage that takes the node.
  double minimum_usd(const Configuration* held, const Configuration& next, double since_s, const StageCost& cost,
                     std::vector<PaidNode>& paid) const;
  /// What a job holds after these stages of a replay, which charges no minimum before a node is let go.
  void has_rented(std::span<const StageSeen> seen, std::vector<PaidNode>& paid) const;
  /// What has been paid for beyond this time.
  double paid_ahead_usd(std::span<const PaidNode> paid, double time_s) const;
  /// What it takes `other`, at its time, to have paid as far ahead as `paid` has at its own: the difference for each node, and
  /// a whole minimum for one that it has not.
  double paid_further_usd(std::span<const PaidNode> paid, double time_s, std::span<const PaidNode> other,
                          double other_time_s) const;
  bool has_minimum() const { return rules_.billing == Billing::node && rules_.minimum_node_s > 0; }
  /// Of the stage's training and evaluations, `slower` times as long as the rates say.
  static StageCost running(const StageRates& rates, const StageTraining& training, double slower);
  /// How much slower than its rates this stage (from 0) is.
  double noise(const Job& job, const Configuration& configuration, int stage) const;
  const Models& models() const { return models_; }

 private:
  struct Key {
    int profile;
    std::vector<Group> groups;
    Sync sync;
    double power_limit_w;
  };
  struct Less {
    bool operator()(const Key& a, const Key& b) const;
  };
  StageRates compute(const Job& job, const Configuration& configuration) const;
  double node_usd_per_s(PoolId pool) const;
  double pay(const Configuration& configuration, double from_s, double to_s, std::vector<PaidNode>& paid) const;

  const Cluster& cluster_;
  const CostRules rules_;
  const Models models_;
  const Policy policy_;
  std::map<Key, StageRates, Less> rates_;
  std::uint64_t place_changes_ = 0;  // that rates_ knows of
};

// A whole job alone on an empty cluster, in closed form: what estimates, the oracle and the manual reference cost are made of.
// Equal to a replay of that one job, to rounding.

struct AloneOutcome {
  bool fits = false;  ///< on the cluster and in memory; otherwise nothing else is set
  FailureReason failure = FailureReason::none;
  double time_s = 0;     ///< start-up included, nothing waited for; no periodic checkpoints
  double running_s = 0;  ///< of it: training and evaluations
  double cost_usd = 0;
  double energy_j = 0;
  double accuracy = kUnset;  ///< noise-free, of the final weights
  double epochs = 0;         ///< trained, lost ones included
  double step_s = 0;         ///< of one step, noise included; 0 for rigid jobs

  /// By the same rules as JobRecord; `deviation` of one evaluation at that accuracy.
  bool keeps_limits(const Job& job, double deviation) const;
};

class AloneRunner {
 public:
  /// Everything must outlive the runner.
  AloneRunner(const Cluster& cluster, const CostRules& rules, const Models& models, const Policy& policy)
      : cluster_(cluster), rules_(rules), models_(models), policy_(policy), stages_(cluster, rules, models, policy) {}

  AloneOutcome run(const Job& job, const Choice& choice);
  /// As a replay goes on where memory is short: the job starts up again, each time with half of the batch.
  AloneOutcome run_until_it_fits(const Job& job, Choice choice);

  /// Stage by stage, with the same devices, rules and plans.
  StageRunner& stages() { return stages_; }
  StageRunner stages_on(const Models& models) const { return {cluster_, rules_, models, policy_}; }

 private:
  /// Depends on the job and on batch, rate and staleness, not on where it runs: kept.
  struct Training {
    double epochs_trained = 0;
    double epochs_lost = 0;  ///< to divergence; the last one may be a part of an epoch, as under a cap
    int evaluations = 0;
    int divergences = 0;
    double accuracy = kUnset;
    FailureReason failure = FailureReason::none;
  };
  struct Key {
    int profile;
    std::uint64_t individuality;
    double cap, target, readings, batch, learning_rate;
    bool budget;
    int asynchronous_workers;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  Training train(const Job& job, const Configuration& configuration, double cap) const;
  const Training& training(const Job& job, const Configuration& configuration, double cap);

  const Cluster& cluster_;
  const CostRules& rules_;
  const Models models_;
  const Policy policy_;
  std::unordered_map<Key, Training, KeyHash> trainings_;
  StageRunner stages_;
};

}  // namespace rehearse::sim
