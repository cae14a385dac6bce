// The decision `configure`, made by a process.
#pragma once

#include "policies/configure/configure.hpp"
#include "experiments/process/policy_process.hpp"

namespace rehearse::scenarios {

class ProcessConfigure final : public policies::Configure {
 public:
  ProcessConfigure(const ProcessSettings& settings, const policies::OutsideInputs& inputs)
      : process_(settings, "configure", inputs) {}
  sim::Menu configure(const policies::ConfigureView& view, const workloads::Belief& belief) override;
  /// The process is told of the last stage alone.
  sim::Menu configure_again(const policies::ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  sim::Menu ask(const policies::ConfigureView& view, const sim::StageSeen* seen);

  PolicyProcess process_;
};

}  // namespace rehearse::scenarios
