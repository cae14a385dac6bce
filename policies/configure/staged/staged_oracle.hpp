// The exact optimum over stages in the true world: what the best staged policy could earn.
#pragma once

#include "policies/configure/configure.hpp"

namespace rehearse::policies {

class StagedOracle final : public OracleConfigure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::World& world,
                            sim::AloneRunner& truth) override;
};

}  // namespace rehearse::policies
