// Yardsticks: any feasible configuration, and the one of median cost among the feasible, by the belief.
#pragma once

#include "policies/configure/configure.hpp"

namespace rehearse::policies {

class RandomFeasible final : public Configure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
};

class MedianFeasible final : public Configure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
};

}  // namespace rehearse::policies
