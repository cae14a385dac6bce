// What the replay asks of the models behind it. `workloads` implements both, once as the world and once as the belief.
#pragma once

#include <span>
#include <vector>

#include "sim/jobs/configuration.hpp"
#include "sim/jobs/job.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::sim {

/// Where a configuration runs: for each group the devices on each node.
using Layout = std::vector<std::vector<NodeShare>>;

/// The bundle's answers for one group.
struct Plans {
  StepPlan step;
  ThreadPlan threads;
};

/// One synchronised step of a configuration. Seconds are noise-free.
struct StepTiming {
  double step_s = 0;
  double forward_s = 0;      ///< of one local batch, as an evaluation runs it
  double profiling_s = 0;    ///< before the first step: what finding the thread plans takes
  double busy_fraction = 1;  ///< of the step in which the devices compute
  double power_fraction =
      1;  ///< of the way from a device's idle_w to its busy_w, on average over the step; above 1 if it draws more
  double waiting_power_fraction = 0;  ///< the same of a device that waits for others in the middle of a step
  double input_bytes = 0;             ///< of training data that all workers read for a step
  double network_bytes = 0;  ///< of a step through each node's network, each way, where several nodes make a ring; else 0
  double memory_bytes = 0;   ///< on the fullest device
  bool fits = true;          ///< in the memory of every device
};

class StepTimes {
 public:
  virtual ~StepTimes() = default;
  virtual const OpGraph& graph(const Profile& profile) const = 0;
  virtual StepTiming timing(const Job& job, const Configuration& configuration, const Layout& layout,
                            std::span<const Plans> plans) const = 0;
  /// How much slower than `timing` the steps of this stage are, on those nodes: measuring-window and node noise.
  virtual double noise(const Job& job, const Configuration& configuration, const Layout& layout, int stage) const = 0;
  /// Of a checkpoint: parameters and what the optimiser keeps of each.
  virtual double checkpoint_bytes(const Profile& profile) const { return 4 * graph(profile).parameters; }
};

/// Where a training stands, in statistical terms. A value: a checkpoint is a copy.
struct TrainingState {
  double progress = 0;             ///< steps at the reference batch
  double examples = 0;             ///< samples seen
  double log2_batch_examples = 0;  ///< integral of log2(global batch) over examples
  double staleness_examples = 0;   ///< integral of (asynchronous workers - 1) over examples
  double warmup_examples = 0;      ///< samples left of the learning rate's warm-up after another batch size was taken up
  bool diverged = false;           ///< no progress since
};

/// What one epoch did.
struct EpochOutcome {
  bool diverged = false;   ///< the state is then as it was before
  double noise_scale = 0;  ///< at the end of the epoch, samples
};

/// A job trains at most so many epochs: its course is kept epoch by epoch.
inline constexpr double kMostEpochs = 1e6;
/// The third divergence ends a job as failed.
inline constexpr int kMostDivergences = 3;

class Convergence {
 public:
  virtual ~Convergence() = default;
  /// Jobs with equal specifications and equal numbers here train alike; 0 when all do.
  virtual std::uint64_t individuality(const Job& job) const = 0;
  virtual double samples_per_epoch(const Profile& profile) const = 0;
  virtual double evaluation_samples(const Profile& profile) const = 0;
  /// Cap where the job names none: three times the model's epochs at the reference batch.
  virtual double default_epoch_cap(const Profile& profile) const = 0;
  virtual EpochOutcome train(const Job& job, const Configuration& configuration, double examples, TrainingState& state) const = 0;
  /// Noise-free.
  virtual double accuracy(const Job& job, const TrainingState& state) const = 0;
  /// What an evaluation after this epoch (from 1) reads.
  virtual double measured_accuracy(const Job& job, int epoch, double accuracy) const = 0;
  /// What is read of the noise scale over a stage (from 0) that ended at this one.
  virtual double measured_noise_scale(const Job&, int /*stage*/, double noise_scale) const { return noise_scale; }
  /// Standard deviation of one evaluation.
  virtual double evaluation_deviation(const Profile& profile, double accuracy) const = 0;
};

struct Models {
  const StepTimes* step_times = nullptr;
  const Convergence* convergence = nullptr;
};

}  // namespace rehearse::sim
