// Many jobs over days: replays the jobs of the sources on a cluster under one policy.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/models.hpp"
#include "sim/money/costs.hpp"
#include "sim/nodes/sharing.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/job_network.hpp"
#include "sim/replay/records.hpp"

namespace rehearse::sim {

/// What to do with a job for which no configuration keeps the limits.
enum class Infeasible : std::uint8_t { best_effort, reject };

/// The question that the policy has before it, for a watcher in another thread or, in shared memory, in the process that this one
/// was forked from: an answer that never comes has a name then. Changes no result.
struct AtWork {
  std::atomic<const char*> decision = nullptr;  ///< a literal; null between two questions
  std::atomic<double> date_s = 0;
  std::atomic<std::uint64_t> asked = 0;      ///< questions so far
  std::atomic<std::uint64_t> predicted = 0;  ///< configurations, for this question
};

struct ReplaySetup {
  const Cluster* cluster = nullptr;
  CostRules costs;
  CheckpointRules checkpoints;
  NodeRules nodes;
  SharingRules sharing;
  Models models;  ///< the world; may be empty when all jobs are rigid
  Policy policy;
  std::vector<JobSource*> sources;
  Recorder* recorder = nullptr;
  Infeasible infeasible = Infeasible::best_effort;
  bool pool_samples = false;
  NetworkSolver network_solver = NetworkSolver::fast;      ///< of a cluster with a network
  std::function<void(const ReplayProgress&)> on_progress;  ///< at each end of a job, and now and then between; may be empty
  AtWork* at_work = nullptr;                               ///< shows what is asked; may be null
};

/// Runs to the last event. Throws PolicyError, naming policy, job and simulated time, for a bad answer; CheckFailed when jobs,
/// devices, money or energy do not balance at the end.
ReplayTotals replay(const ReplaySetup& setup, void (*drive)(EventQueue&, EventHandler&) = run_with_simgrid);

}  // namespace rehearse::sim
