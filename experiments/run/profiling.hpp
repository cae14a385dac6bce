// Past runs to learn from: simulated in the world, so that they cost what profiling would cost, or the user's own. What is
// measured of a profile is measured when its first job arrives; nothing hangs on jobs that have not arrived yet.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/learn/probe_choice.hpp"
#include "policies/registry/registry.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

/// Whose past runs they are.
struct LearningPolicy {
  std::string kind;        ///< of its configure strategy: with the seed it keys the random streams
  std::uint64_t seed = 0;  ///< of the policy
  policies::Learning learning;
  policies::ProbeChooser* chooser = nullptr;  ///< its own way to choose runs; none: the shared ones
};

/// Shared runs: `history.runs` of each (profile, instance) of the pools. Each trains a number of epochs from {1, 2, 4, ..., the
/// model's} with a random configuration of the grid, drawn from the world's streams, so that all learners share it. Who chooses
/// has as many runs of each profile in all, from the same configurations and numbers of epochs. Who has a budget makes fewer of
/// either, or none. Both stand for measurements made before the first job: no time passes. Active probes are made while jobs
/// arrive and wait, and are known when they have ended.
class Profiling final : public policies::PastRuns {
 public:
  /// Everything must outlive it.
  Profiling(const Scenario& scenario, const workloads::Belief& belief, const workloads::World& world, int repetition,
            const LearningPolicy& policy);
  ~Profiling() override;
  Known at_arrival(const sim::Job& job, double now_s) override;
  void on_run(policies::PastRun run) override;
  /// What has been spent on the profile so far; 0 for runs that were not made for it.
  double cost_usd(const sim::Profile& profile) const;

 private:
  class Profiler;
  struct Campaign;
  /// What is there for the measurements of a profile.
  struct Purse {
    int runs = 0;              ///< of each instance, by what a run is believed to cost
    double usd = sim::kNever;  ///< who chooses goes on until it is spent
  };
  Purse purse_for(const sim::Job& job);
  void make_runs(const sim::Job& job);
  Known actively(const sim::Job& job, double now_s);

  const Scenario& scenario_;
  const LearningPolicy policy_;
  std::unique_ptr<Profiler> profiler_;
  std::vector<int> pools_;  ///< the first of each instance
  std::vector<policies::PastRun> runs_;
  policies::RunHistory history_;
  bool is_stale_ = false;          ///< of the history: `runs_` has more
  std::map<int, double> cost_of_;  ///< by profile that has arrived
  std::map<int, std::unique_ptr<Campaign>> campaigns_;
};

}  // namespace rehearse::scenarios
