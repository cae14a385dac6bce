// A global batch over unlike devices, so that all finish a step together; and whether the slow ones pay.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "workloads/world/world.hpp"

namespace rehearse::policies {

/// Seconds of a step of one worker at so many samples, from 1 on; rising. Without the exchange of gradients.
using WorkerTime = std::function<double(int samples)>;

/// Workers are alike that take no longer than so many times the quickest, at the same batch.
inline constexpr double kAlikeTimes = 1.05;

struct SplitWorker {
  WorkerTime time_s;
  int most_samples = 0;  ///< that its memory holds
  int alike = 1;         ///< it stands for so many of them
};

struct Split {
  std::vector<int> samples;     ///< of each worker; their sum is the global batch. 0: left out, it would only hold the others up
  std::vector<double> weights;  ///< of each worker's mean gradient in the sum: samples over the global batch
  double batch = 0;             ///< less than was asked for where all memories together hold less
  double step_s = 0;            ///< of the slowest, without the exchange
};

/// Each sample goes to the worker that would finish first with it; those that are alike get the same number, the first of them
/// one more where it does not come out even. No other split among all of them has a quicker step, exchange
/// aside; two workers differ by no more than the time of one more sample of the quicker one, unless its memory is full.
Split uneven_split(const std::vector<SplitWorker>& workers, int batch);

/// The same number each, the first of them one more where it does not come out even; empty samples when a memory is too small.
Split equal_split(const std::vector<SplitWorker>& workers, int batch);

/// Splits with the exchange of gradients among those that take part; infinite when a split cannot be.
struct SplitComparison {
  Split uneven;
  double uneven_s = 0, equal_s = 0;
  double fast_alone_s = 0;  ///< the best of the workers that are as quick as the quickest, alone
  bool slow_pay = false;    ///< uneven_s is the least
};
/// `exchange_s`: seconds that so many workers add to a step.
SplitComparison compare_splits(const std::vector<SplitWorker>& workers, int batch,
                               const std::function<double(int workers)>& exchange_s);

/// The learning rate after the global batch changed, by the noise scale phi (docs/explain/model.md, "Convergence"): the rate that
/// is as useful, rate (1 + phi/before)^e / (1 + phi/after)^e. Equal batches keep it, whatever the split: the weights see to that.
double retuned_rate(double rate, double batch_before, double batch_after, double noise_scale, double exponent = 1);

// A global batch over the workers of several pools: the uneven split beside the equal one and the fast workers alone, each
// predicted by the equations and timed by the simulation's own step times for such a mixed configuration.

struct PoolWorkers {
  sim::PoolId pool = 0;
  int workers = 0;
  bool operator==(const PoolWorkers&) const = default;
};

/// One way to train the batch. Times are infinite when the memories do not hold it.
struct MixedSplit {
  std::vector<PoolWorkers> mix;                                  ///< that take part
  Split split;                                                   ///< of their workers, pool after pool
  sim::Configuration configuration;                              ///< a group for each pool and number of samples
  double predicted_s = std::numeric_limits<double>::infinity();  ///< a step, by docs/explain/step.md, "Synchronisation"
  double simulated_s = std::numeric_limits<double>::infinity();  ///< StepTiming::step_s of the configuration on an empty cluster
};

struct MixedComparison {
  MixedSplit uneven, equal, fast_alone;
  bool all_fast = false;  ///< nobody is slower than the fastest by more than 5 %
  bool slow_pay = false;  ///< some workers are slower than the fastest, and with them a simulated step is quicker
};

/// The mix must be there in the belief's cluster. Workers, or whole pools, without which a step is quicker are left out of the
/// uneven split, which is never slower than any pool of the mix alone.
MixedComparison compare_mixed(const workloads::Belief& belief, const sim::Profile& profile, const std::vector<PoolWorkers>& mix,
                              int batch);

}  // namespace rehearse::policies
