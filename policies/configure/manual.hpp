// What an experienced user would set, written down as rules (docs/explain/strategies.md, "Manual configuration"):
//   batch    the publication's global batch, halved while no power of two of workers holds it in memory;
//   pool     the one the job names, else the pool of median price for a predicted sample, or the cheapest, or the fastest;
//   workers  the GPUs the trace gave the job, or the most of them that share its batch evenly where that is fixed; else the
//            smallest power of two whose data-sheet time meets 0.8 x deadline; where none does, the fastest. With the objective
//            min-time the fastest within 0.8 x cost limit; where none is, the cheapest. Under node billing whole nodes.
#pragma once

#include <map>
#include <optional>

#include "policies/configure/configure.hpp"

namespace rehearse::policies {

/// Which pool the user takes out of habit, by what a predicted sample takes there with the fewest workers that hold the batch.
enum class PoolHabit {
  median,    ///< the pool of median price; of two middle ones the cheaper
  cheapest,  ///< the least price
  fastest,   ///< the least time of a worker
};

/// Of a limit: what a careful user plans with, the rest is for surprises.
inline constexpr double kCarefulShare = 0.8;

/// What the scenario sets by hand instead of a rule.
struct ManualOverride {
  std::optional<int> pool;
  PoolHabit pool_habit = PoolHabit::median;  ///< where no pool is named
  std::optional<int> workers;
  std::optional<double> batch_size;  ///< global
  std::optional<double> learning_rate;
  std::optional<sim::Sync> sync;
};

class ManualRules {
 public:
  /// `by_model` goes before `for_all`.
  ManualRules(ManualOverride for_all, std::map<std::string, ManualOverride> by_model)
      : for_all_(for_all), by_model_(std::move(by_model)) {}
  ManualRules() = default;

  /// Always answers; where nothing fits memory, with one worker of the chosen pool. `truth` need not be true: an AloneRunner on
  /// the belief.
  sim::Configuration configuration(const sim::Job& job, const sim::Cluster& cluster, const sim::CostRules& costs,
                                   const workloads::Belief& belief, sim::AloneRunner& believed) const;
  /// What is set by hand for it.
  ManualOverride for_job(const sim::Job& job) const;

 private:
  ManualOverride for_all_;
  std::map<std::string, ManualOverride> by_model_;
};

class Manual final : public Configure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
};

}  // namespace rehearse::policies
