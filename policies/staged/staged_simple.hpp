// Staged strategies without a plan: yardsticks for those with one.
#pragma once

#include "policies/configure/configure.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
