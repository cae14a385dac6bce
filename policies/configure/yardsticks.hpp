// Yardsticks: any feasible configuration, and the one of median cost among the feasible, by the belief.
#pragma once

#include <optional>

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

// The oracle: every candidate run alone in the true world, the best kept. What no policy can beat job by job; not a policy that
// anybody could use.

/// What running the job alone with this configuration shows; nothing when it does not fit. A floor counts as kept by the same
/// rule as in the job's record. `epochs` is what a budget trains.
std::optional<sim::Choice> tried(const sim::Job& job, const sim::Configuration& configuration, double epochs,
                                 const workloads::World& world, sim::AloneRunner& truth);

class Oracle final : public OracleConfigure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) override;
};

}  // namespace rehearse::policies
