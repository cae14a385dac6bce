// Where a job's training is cut into stages: the same for every staged strategy, so that they differ in what they choose alone.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "policies/learn/run_learner.hpp"
#include "sim/base/random.hpp"
#include "sim/replay/alone.hpp"
#include "sim/replay/decisions.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

enum class StagesBy : std::uint8_t { epochs, accuracy };

struct StageRules {
  int count = 5;  ///< at most; fewer when there are fewer epochs
  StagesBy by = StagesBy::epochs;
};

/// Trained epochs, whole and increasing, at which all stages but the last end: equal shares of the epochs that the job is
/// believed to train with `usual`, or those at which that training has gained equal shares of its accuracy. Empty: a single
/// stage.
std::vector<double> stage_ends(const sim::Job& job, const sim::Configuration& usual, const StageRules& rules,
                               sim::StageRunner& believed);

// The interface of configure strategies: a job and what may be known of it in, a ranked menu of configurations out.
// Answered at the job's arrival, for the whole job; staged strategies answer again at the ends of stages. What a strategy keeps
// (fits, tables) must not change a later answer.

/// One job, and what every strategy may ask about it. Read-only.
struct ConfigureView {
  const sim::Job& job;
  const sim::Cluster& cluster;
  const sim::CostRules& costs;
  double now_s = 0;
  /// The grid that all strategies choose from: pools, powers of two of workers, powers of two of the publication's batch, those
  /// that fit; and the manual configuration.
  const std::vector<sim::Configuration>& candidates;
  const sim::Configuration& manual;
  /// Time, money and accuracy by the belief, through the policy's own place and threads, without waiting; memoised.
  const std::function<sim::Prediction(const sim::Configuration&)>& estimate;
  /// Past runs of the scenario's models; null when the strategy did not ask for them.
  const RunHistory* history = nullptr;
  /// The strategy's own random stream for this job.
  std::uint64_t random_key = 0;
  /// Where training is cut into stages, for strategies that choose again.
  StageRules stage_rules;
  /// The job alone on an empty cluster, by the belief, through the policy's own place and threads.
  sim::AloneRunner* believed = nullptr;
  /// Prices, revocations, free devices and the queue as they are at `now_s`; null outside of a replay.
  const sim::Sight* sight = nullptr;

  double time_left_s() const { return sim::time_left_s(job, now_s); }
};

class Configure {
 public:
  virtual ~Configure() = default;
  virtual sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) = 0;
  /// At the end of a stage of a choice with `until_epochs` (sim::Configurator::configure_again).
  virtual sim::Menu configure_again(const ConfigureView& /*view*/, std::span<const sim::StageSeen> /*seen*/,
                                    const workloads::Belief& /*belief*/) {
    return {};
  }
};

/// A strategy that may see the true world: its name says "oracle".
class OracleConfigure {
 public:
  virtual ~OracleConfigure() = default;
  /// `truth` runs the job alone in the true world, noise included.
  virtual sim::Menu configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) = 0;
  virtual sim::Menu configure_again(const ConfigureView& /*view*/, std::span<const sim::StageSeen> /*seen*/,
                                    const workloads::World& /*world*/, sim::AloneRunner& /*truth*/) {
    return {};
  }
};

}  // namespace rehearse::policies
