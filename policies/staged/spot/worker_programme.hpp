// Stage by stage on spot or on-demand nodes and on how many: the stochastic programme by backward induction (Puterman 1994,
// chapter 4), re-planning for expected availability, and who knows the future.
#pragma once

#include <memory>
#include <string>

#include "policies/staged/spot/worker_job.hpp"

namespace rehearse::policies {

struct StageStep {
  int to = 0;
  float probability = 0;
};

/// A chain over what is known of the market: the market's state in each, and where each leads.
struct StageLaw {
  std::vector<int> market;
  std::vector<std::vector<StageStep>> steps;

  static StageLaw of(const MarketChain& chain);
  int states() const { return static_cast<int>(market.size()); }
};

/// What to do in each stage, with any work left, whatever was held and in each state.
class WorkerTable {
 public:
  /// Exact for the law, with the deadline kept for certain. `allowed`: actions that may be chosen, all when empty; on demand with
  /// the most workers is always among them.
  static WorkerTable solve(const WorkerTerms& terms, const StageLaw& law, const std::vector<bool>& allowed = {});
  /// What re-planning in each stage does: the cheapest plan when spot is there, in part, as the chain expects it from now on. A
  /// chain that stays where it is plans without forecasts.
  static WorkerTable plan(const WorkerTerms& terms, const MarketChain& chain);

  int choice(int time, int work_left, int held, int state) const { return choices_[at(time, work_left, held, state)]; }
  /// Expected money of a whole job from a state; of solve() alone.
  double expected_usd(int state) const { return at_start_.at(static_cast<std::size_t>(state)); }

 private:
  WorkerTable(const WorkerTerms& terms, int states);
  std::size_t at(int time, int work_left, int held, int state) const {
    return ((static_cast<std::size_t>(time) * states_ + static_cast<std::size_t>(state)) * actions_ +
            static_cast<std::size_t>(held)) *
               rows_ +
           static_cast<std::size_t>(work_left);
  }
  void plan_from(const WorkerTerms& terms, const MarketChain& chain, std::vector<double> state, int time);

  std::size_t states_ = 0, actions_ = 0, rows_ = 0;
  std::vector<std::uint8_t> choices_;
  std::vector<float> at_start_;
};

/// Follows a table whose states are the market's.
std::unique_ptr<WorkerPolicy> make_stage_policy(std::string name, std::shared_ptr<const WorkerTable> table);

/// The least that the job can cost when the market's future is known: a bound of every policy.
double omniscient_usd(const WorkerTerms& terms, std::span<const std::uint8_t> market);

}  // namespace rehearse::policies
