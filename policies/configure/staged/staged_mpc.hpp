// Model-predictive control: at each stage's beginning the dynamic programme over the stages to come, on the belief as the job's
// measurements have corrected it (noise scale, examples needed, speed of the pools it has run on).
#pragma once

#include "policies/configure/configure.hpp"
#include "workloads/revised_belief.hpp"

namespace rehearse::policies {

class StagedMpc final : public Configure {
 public:
  /// Plans for (1 - `reserve`) of the deadline: the belief may be wrong.
  explicit StagedMpc(double reserve) : reserve_(reserve) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  double reserve_;
};

/// What the stages seen say about the job: the geometric mean of seen over believed noise scales, shrunk by the spread of a
/// reading against that of the belief; likewise step times by pool; and the examples factor that explains the measured accuracies
/// best under its own spread.
workloads::Revision revise(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::Belief& belief);

}  // namespace rehearse::policies
