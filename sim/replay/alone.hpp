// A whole job alone on an empty cluster, in closed form: what estimates, the oracle and the manual reference cost are made of.
// Equal to a replay of that one job, to rounding.
#pragma once

#include <unordered_map>

#include "sim/replay/alone_stages.hpp"
#include "sim/money/costs.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/jobs/models.hpp"

namespace rehearse::sim {

struct AloneOutcome {
  bool fits = false;  ///< on the cluster and in memory; otherwise nothing else is set
  FailureReason failure = FailureReason::none;
  double time_s = 0;  ///< start-up included, nothing waited for
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
    double cap, target, batch, learning_rate;
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
