// What a scheduler sees of the cluster at a date, beside the job that it decides about: what is and what was, not what comes.
// Asked for piece by piece: who does not look pays nothing.
#pragma once

#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"
#include "sim/jobs/job.hpp"

namespace rehearse::sim {

struct PoolSight {
  double price_usd_per_hour = 0;             ///< of a node, now
  std::span<const StepSeries::Step> prices;  ///< so far, the one now last; empty: it never changes
  int nodes = 0;                             ///< of the pool
  int nodes_away = 0;                        ///< failed, in maintenance, taken away, or about to go
  int devices = 0, free_devices = 0;         ///< workers: of all nodes; free, of those that are there
  long revocations = 0;                      ///< nodes that the cloud has taken away so far, each time counted
  /// As the pool announces it: mean time until a node is taken away by itself, until another takes its place, of the warning;
  /// the bid. Infinite, 0 and 0 where nothing is.
  double mean_up_s = kNever, down_s = 0, warning_s = 0, bid_usd_per_hour = kNever;
};

/// A job in the queue.
struct WaitingJob {
  const Job* job = nullptr;
  double since_s = 0;                    ///< in the queue
  const Configuration* wants = nullptr;  ///< the first entry of its menu that ever fits
};

class Sight {
 public:
  virtual ~Sight() = default;
  virtual double now_s() const = 0;
  virtual PoolSight pool(PoolId pool) const = 0;
  virtual int queue_length() const = 0;
  /// In order of arrival; valid until anything changes.
  virtual std::vector<WaitingJob> waiting() const = 0;
};

/// Until the job's deadline, of which waiting is a part too; negative when it has passed, infinite without one.
inline double time_left_s(const Job& job, double now_s) {
  return job.has_deadline() ? job.submit_s + job.deadline_s - now_s : kNever;
}

}  // namespace rehearse::sim
