// The harness's recommendation: of all configurations that are predicted to keep the limits the one with the least energy (or
// money, or time), over pool, number of workers, batch and power limit; what else would do, and what each limit costs.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/harness/estimator.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

enum class Goal { energy, cost, time };

/// A global batch that may be chosen, and the epochs that it needs.
struct BatchOption {
  double batch = 0;
  double epochs = 0;
};

struct PlanJob {
  workloads::StructureFeatures features;
  double samples = 0;             ///< of one epoch
  double evaluation_samples = 0;  ///< after each epoch, a forward pass each
  std::vector<BatchOption> batches;
  double sample_bytes = 0;  ///< of one sample as it is stored, which each worker reads; 0: no time for that
};

/// What a user demands; each may cost something. Times and money are held against the upper ends of their intervals.
struct PlanLimits {
  double deadline_s = std::numeric_limits<double>::infinity();
  double cost_usd = std::numeric_limits<double>::infinity();
  int pool = -1;                  ///< the only one; -1: any
  int workers = 0;                ///< exactly so many; 0: any number
  std::vector<int> free_devices;  ///< by pool: what is free right now; empty: all
};

struct PlanChoice {
  int pool = 0, workers = 1;
  double batch = 0;          ///< global
  double power_limit_w = 0;  ///< of each GPU; 0: none
  double epochs = 0;
  long nodes = 1;                                             ///< that the workers are on
  Interval step_s, time_s, energy_j, cost_usd, memory_bytes;  ///< of a global step; of the whole job; memory of one worker
  Interval utilization;                                       ///< of the devices' peak, exchange of gradients included
  double by(Goal goal) const;
};

/// What keeping a limit costs: the best choice with all the others alone.
struct LimitCost {
  std::string limit;  ///< "deadline", "cost limit", "pool", "workers", "free devices"
  PlanChoice without;
};

struct Recommendation {
  std::optional<PlanChoice> best;        ///< none: nothing keeps the limits
  std::vector<PlanChoice> alternatives;  ///< the three next best that differ from it in pool or workers, and from each other
  std::vector<LimitCost> costs;          ///< of those limits without which something better would do
  std::optional<PlanChoice> soonest;     ///< of all that keep everything but deadline and money: what a deadline can ask for
  std::optional<PlanChoice> cheapest;    ///< likewise
};

/// The choice (pool, workers, batch, epochs) with what it takes: nodes, step, time, money, energy and use of the peak, from its
/// worker's own step and from the global step that follows of a worker's seconds. Evaluations are a third of a step; start-up and
/// boot are paid for; of nodes that are rented whole the unused devices draw power too.
PlanChoice priced(const sim::Cluster& cluster, const sim::CostRules& costs, const PlanJob& job, PlanChoice choice,
                  const StepEstimate& step, const std::function<double(double compute_s)>& global_step_s);

class Recommender {
 public:
  /// All must outlive it. A job's own network bandwidth and latency are those of its pool's instance.
  Recommender(const sim::Cluster& cluster, const sim::CostRules& costs, const EstimatorSet& estimators)
      : cluster_(cluster), costs_(costs), estimators_(estimators) {}

  /// What is predicted of one choice (pool, workers, batch, limit, epochs); nothing when it does not fit memory.
  std::optional<PlanChoice> evaluate(const PlanJob& job, const PlanChoice& choice) const;

  /// Every choice of the grid that fits memory, whether or not it keeps the limits: numbers of workers up to 16, then powers of
  /// two, all there are, all that are free and the number that is demanded; every batch that gives each worker a whole sample;
  /// every power limit.
  std::vector<PlanChoice> choices(const PlanJob& job, const PlanLimits& limits) const;

  Recommendation recommend(const PlanJob& job, const PlanLimits& limits, Goal goal) const;

 private:
  std::vector<int> counts(int pool, const PlanLimits& limits) const;
  std::optional<PlanChoice> evaluated(const PlanJob& job, const PlanChoice& choice, const Estimator& estimator) const;
  const sim::Cluster& cluster_;
  const sim::CostRules& costs_;
  const EstimatorSet& estimators_;
};

bool keeps(const PlanLimits& limits, const PlanChoice& choice);

}  // namespace rehearse::policies
