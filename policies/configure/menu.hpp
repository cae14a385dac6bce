// What configure strategies share: the grid of candidates, and ranking by the job's objective under its limits.
#pragma once

#include <vector>

#include "sim/money/costs.hpp"
#include "sim/replay/decisions.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

/// Devices of a pool that a job can have: of one that needs a part of a GPU, one, where there are any.
long most_workers(const sim::Job& job, const sim::Cluster& cluster, int pool);

/// The grid that candidates are taken from: the pools that the job may use, powers of two of workers, batches around the
/// publication's. Without a look at memory.
std::vector<sim::Configuration> configuration_grid(const sim::Job& job, const sim::Cluster& cluster,
                                                   const workloads::Belief& belief);

/// Every configuration of the grid that fits memory and cluster, in a fixed order; `manual`, unless it has no groups, among them
/// when it fits, or alone when nothing does.
std::vector<sim::Configuration> candidate_configurations(const sim::Job& job, const sim::Cluster& cluster,
                                                         const workloads::Belief& belief, const sim::Configuration& manual);

/// The global batch that every configuration of the job must have; 0 when it is free. Beside epochs or a target a job's batch
/// size is what its user would set: the manual configuration's, and nobody else's.
inline double binding_batch(const sim::Job& job) { return job.work == sim::Work::steps ? job.batch_size : 0; }

/// Workers of one pool, sharing the global batch; nothing when that cannot be: the batch of a job with a fixed one must come out
/// exactly, others are rounded to whole samples a worker.
std::vector<sim::Configuration> split_batch(const sim::Job& job, int pool, int workers, double global_batch);

/// The parts of the manual configuration that a policy may change; the others stay as they are.
struct FreeKnobs {
  bool pool = true, workers = true, batch = true;
  bool operator==(const FreeKnobs&) const = default;
};

/// Whether two configurations of one group differ in free knobs alone. The batch is the global one.
bool differ_only_in(const FreeKnobs& free, const sim::Configuration& a, const sim::Configuration& b);

/// Which samples a worker fit the memory of this pool's workers.
bool fits_memory(const sim::Job& job, const sim::Cluster& cluster, const workloads::Belief& belief,
                 const sim::Configuration& configuration);

/// Does the prediction keep the job's deadline, accuracy floor and cost limit? NaN predictions keep nothing that the job limits.
bool keeps_limits(const sim::Job& job, const sim::Prediction& prediction);

/// Sets `feasible` of each choice and of the menu, and says what would make the job feasible. The order stays.
sim::Menu judge(const sim::Job& job, std::vector<sim::Choice> choices);

/// As judge(), with feasible choices first, best by the job's objective; then the others, least violation first. Equal choices
/// keep their order.
sim::Menu rank(const sim::Job& job, std::vector<sim::Choice> choices);

}  // namespace rehearse::policies
