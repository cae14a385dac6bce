// Heterogeneity-aware rounds: a linear programme says which share of its time each job should spend on each pool
// (gavel_allocation), and in each round those run that are furthest behind it. Narayanan et al., "Heterogeneity-Aware Cluster
// Scheduling Policies for Deep Learning Workloads" (Gavel), OSDI 2020, sections 4, 5.
#pragma once

#include <vector>

#include "policies/queue/gavel_allocation.hpp"
#include "policies/queue/job_plan.hpp"
#include "policies/queue/stays.hpp"

namespace rehearse::policies {

enum class GavelObjective { max_min, makespan, cost, finish_time };

struct GavelParameters {
  GavelObjective objective = GavelObjective::max_min;
  double round_s = 360;  ///< the paper's, section 7.1
  bool fills = true;  ///< devices that come free between rounds go to waiting jobs; else they idle, as in the authors' simulator
  bool aware = true;  ///< of how fast a job is on each pool; else all pools that it can run on are alike
};

/// On each pool a job runs the first entry of its menu that stands there and could ever fit. Priority of a job on a pool: time
/// that it should have had there, the coming round included, over time that it had. Jobs that keep their pool keep their devices.
/// Between rounds, devices that come free go to waiting jobs in order of arrival, on the pool where each is quickest (cost:
/// cheapest). A pool of which no node is there has no time to give until one is. Who has been moved or stopped in vain stays for
/// twice as many rounds the next time (stays.hpp).
class Gavel final : public sim::Queue {
 public:
  explicit Gavel(const GavelParameters& parameters) : parameters_(parameters) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  /// A job on one pool.
  struct OnPool {
    int entry = -1;    // of its menu; -1: none stands there
    double share = 0;  // of its time, by the last programme
    double due_s = 0;  // time that it should have had
    double had_s = 0;  // time that it had
  };
  /// What a job may claim in a round, the largest first.
  struct Claim {
    double priority, due_s;
    std::uint64_t number;
    sim::JobSlot slot;
    std::size_t pool;
    auto operator<=>(const Claim&) const = default;
  };
  OnPool& on(sim::JobSlot slot, std::size_t pool) { return on_pool_[slot * pools_ + pool]; }
  /// The job's entry on a pool of which some node is there; -1: none.
  int entry_now(sim::JobSlot slot, std::size_t pool) { return is_there_[pool] ? on(slot, pool).entry : -1; }
  void take_up(const sim::QueueView& view);
  void look_at_pools(const sim::QueueView& view);
  void meet(const sim::QueueView& view, sim::JobSlot slot);
  void account(sim::JobSlot slot, double now_s);
  void change_plan(const sim::QueueView& view, sim::JobSlot slot, int entry);
  double remaining_s(const sim::QueueView& view, sim::JobSlot slot, int entry);
  GavelProblem problem_of(const sim::QueueView& view, const std::vector<sim::JobSlot>& slots);
  void allocate(const sim::QueueView& view);
  void round(const sim::QueueView& view);
  void fill(const sim::QueueView& view);
  void plan_if_it_fits(const sim::QueueView& view, sim::JobSlot slot, int entry);
  std::vector<sim::JobSlot> active() const;

  GavelParameters parameters_;
  JobPlan plan_;
  std::size_t pools_ = 0;
  std::vector<OnPool> on_pool_;  // by slot and pool
  std::vector<bool> is_there_;   // by pool: some node of it
  bool changed_ = false;         // jobs, or the last node of a pool, came or went since the last programme
  GavelMemory memory_;
  std::vector<double> accounted_s_;  // by slot: until when its times are counted
  std::vector<Claim> claims_;
  std::vector<int> next_;  // by slot: what a round gives
  Stays stays_;
  double next_round_s_ = 0;
};

}  // namespace rehearse::policies
