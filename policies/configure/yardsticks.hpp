// Yardsticks: any feasible configuration, and the one of median cost among the feasible, by the belief.
#pragma once

#include <cstdint>
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

/// What an oracle knows of the world.
enum class Foresight : std::uint8_t {
  everything,   ///< the world to come, the noise of each job, stage and evaluation included
  world,        ///< all of it that lasts
  world_later,  ///< StagedOracle: the belief before the first stage, from then on what lasts
};

/// Where it knows what lasts alone, it does not know how many examples this very job needs, how its evaluations read and how
/// fast its steps are: every candidate is run for `kLikeIt` jobs like it, and what is least is the mean money, with manual's
/// where a limit is broken. The best that can be earned job by job by who learns all that can be learned.
class Oracle final : public OracleConfigure {
 public:
  explicit Oracle(Foresight knows = Foresight::everything) : knows_(knows) {}
  sim::Menu configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) override;

 private:
  const Foresight knows_;
};
inline constexpr int kLikeIt = 20;

}  // namespace rehearse::policies
