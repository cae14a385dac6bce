// Yardsticks for staged strategies: without a plan, and the exact optimum in the true world.
#pragma once

#include "policies/configure/configure.hpp"
#include "policies/configure/yardsticks.hpp"

namespace rehearse::policies {

// Staged strategies without a plan: yardsticks for those with one.

/// At each stage the batch size of the grid nearest to the noise scale seen (McCandlish et al. 2018, section 2.3: the batch at
/// which a step is worth half of the best one), on the cheapest workers that keep the limits if nothing changes any more.
class StagedGreedy final : public Configure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;
};

/// At each stage any configuration that keeps the limits if nothing changes any more.
class StagedRandom final : public Configure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;
};

// The exact optimum over stages in the true world: what the best staged policy could earn. Told less of the world, it is what a
// policy could earn that knew so much and no more.

class StagedOracle final : public OracleConfigure {
 public:
  StagedOracle() = default;
  /// Plans for (1 - `reserve`) of the time to the deadline.
  StagedOracle(Foresight knows, double reserve) : knows_(knows), reserve_(reserve) {}
  sim::Menu configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::World& world,
                            sim::AloneRunner& truth) override;

 private:
  Foresight knows_ = Foresight::everything;
  double reserve_ = 0;
};

}  // namespace rehearse::policies
