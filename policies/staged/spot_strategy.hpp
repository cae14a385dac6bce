// Strategies of the replay that pause, and act when their nodes are taken away: the rules and programmes of spot/ on the pools of
// a scenario, and any staged strategy that may wait for the pool that it wants.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/configure/configure.hpp"
#include "policies/staged/spot/spot_job.hpp"
#include "policies/staged/spot/spot_programme.hpp"

namespace rehearse::policies {

enum class SpotRule : std::uint8_t { uniform_progress, greedy, mean, programme };

struct SpotStrategyOptions {
  SpotRule rule = SpotRule::uniform_progress;
  double step_s = 600;  ///< in which it counts; longer for jobs of more than kMostSpotWork of them
  /// Mean times for which a pool's nodes are there and away, of pools that announce none.
  double up_s = 4 * 3600, down_s = 2 * 3600;
};
inline constexpr int kMostSpotWork = 256;

/// A rule of spot/ for each job, on one configuration that stays: the cheapest that the belief has keep the limits on nodes that
/// nobody takes away, of an instance that a spot pool has too, if there is one. The spot pools of that instance are its zones.
class SpotStrategy final : public Configure {
 public:
  explicit SpotStrategy(const SpotStrategyOptions& options) : options_(options) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  struct Course {  ///< of a job
    sim::Configuration on_demand;
    sim::Prediction predicted;         ///< of that
    std::vector<sim::Choice> on_spot;  ///< by zone
    double step_s = 0;
    SpotTerms terms;
    std::unique_ptr<SpotPolicy> rule;
    std::vector<ZoneHistory> zones;
    int seen_at = -1;  ///< step at which they were looked at last
  };
  Course begin(const ConfigureView& view) const;
  std::unique_ptr<SpotPolicy> make_rule(const ConfigureView& view, const Course& course);
  sim::Menu answer(const ConfigureView& view, Course& course, int mode, double epochs) const;

  const SpotStrategyOptions options_;
  std::map<std::string, Course> courses_;  ///< by job
};

/// Another strategy that may wait: where the devices of its choice are not free and what is free costs more, the job pauses for
/// them, as long as the free ones would still be in time by what that strategy predicts. It is asked again when nodes are lost.
class WaitsForPool final : public Configure {
 public:
  explicit WaitsForPool(std::unique_ptr<Configure> inner) : inner_(std::move(inner)) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  std::unique_ptr<Configure> inner_;
};

}  // namespace rehearse::policies
