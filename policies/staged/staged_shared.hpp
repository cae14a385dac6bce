// Stages of jobs that share a cluster under a queue that lets them grow and shrink: one agent for all jobs. What each stage takes
// is the outlook's cheapest plan, moved by five levers: linear functions of how short the time is, of what waits and of what is
// free. Their weights are found by whole replays (experiments/train/shared_training), for what one job takes costs the others.
#pragma once

#include <array>
#include <memory>

#include "policies/configure/configure.hpp"
#include "policies/staged/prior.hpp"
#include "policies/staged/staged_rl.hpp"

namespace rehearse::policies {

/// What the levers are functions of: 1, the fastest way to the end over the time left, log(1 + devices waited for / devices), and
/// the share of devices that is free.
inline constexpr std::size_t kSharedSights = 4;
using SharedSight = std::array<double, kSharedSights>;

/// By what the outlook's plan is moved; all 0: not at all.
struct SharedLevers {
  double hold = 0;     ///< in favour of the devices held: a share of the money
  double hurry = 0;    ///< a share of the money for each e-fold of the time to the end
  double narrow = 0;   ///< a share of the money for a whole pool that is taken
  double offer = 0;    ///< the queue is offered what costs at most exp(2 exp(offer)) times the cheapest
  double reserve = 0;  ///< of the training time, beside a tenth
};
inline constexpr std::size_t kSharedLevers = 5;

class SharedAgent {
 public:
  static constexpr const char* kKind = "staged-shared";
  using Weights = std::array<double, kSharedLevers * kSharedSights>;  ///< lever after lever

  SharedAgent() = default;
  explicit SharedAgent(const Weights& weights) : weights_(weights) {}
  explicit SharedAgent(const NetworkState& state);
  static NetworkBlueprint blueprint();
  NetworkState state(NetworkOrigin origin) const;
  const Weights& weights() const { return weights_; }
  SharedLevers levers(const SharedSight& sight) const;

 private:
  Weights weights_{};
};

/// What a decision sees of the load: the first and the last two of SharedSight. Without a sight: nothing waits, all is free.
SharedSight load_seen(const ConfigureView& view);

/// The option of least log money with the levers, of those that are not masked and whose devices are free or held; -1: none.
/// `free` has each option's.
int best_shared(const Outlook& outlook, const StageTable& table, const sim::Standing& from, const SharedLevers& levers,
                std::span<const double> mask, std::span<const char> free, const sim::Cluster& cluster);

class StagedShared final : public Configure {
 public:
  /// `sees_load`: whether what waits and what is free moves the levers.
  StagedShared(SharedAgent agent, Priors priors, bool sees_load)
      : agent_(agent), priors_(std::move(priors)), sees_load_(sees_load) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  const SharedAgent agent_;
  Priors priors_;
  StageTables tables_;
  const bool sees_load_;
};

}  // namespace rehearse::policies
