// Model-predictive control: at each stage's beginning the dynamic programme over the stages to come, on the belief as the job's
// measurements have corrected it (noise scale, examples needed, speed of the pools it has run on).
#pragma once

#include "policies/configure/configure.hpp"
#include "policies/staged/prior.hpp"

namespace rehearse::policies {

class StagedMpc final : public Configure {
 public:
  /// Plans for (1 - `reserve`) of the deadline: the belief may be wrong.
  StagedMpc(double reserve, Priors priors) : reserve_(reserve), priors_(std::move(priors)) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  double reserve_;
  Priors priors_;
};

/// The prior's mean as the stages seen correct it: the geometric mean of seen over believed noise scales, shrunk by the spread of
/// a reading against the prior's; likewise step times by pool; and the examples factor that explains the measured accuracies best
/// under its own spread. What is left of the spreads with it.
Prior corrected(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::Belief& belief,
                const Prior& prior);
/// Its mean.
workloads::Revision revise(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::Belief& belief,
                           const Prior& prior = {});

}  // namespace rehearse::policies
