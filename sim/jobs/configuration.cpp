#include "sim/jobs/configuration.hpp"

namespace rehearse::sim {

int Configuration::workers() const {
  int sum = 0;
  for (const Group& group : groups) sum += group.workers;
  return sum;
}

long Configuration::workers_of(PoolId pool) const {
  long sum = 0;
  for (const Group& group : groups)
    if (group.pool == pool) sum += group.workers;
  return sum;
}

double Configuration::batch_size() const {
  if (sync.kind == SyncKind::servers_async) return groups.front().batch_per_worker;
  double sum = 0;
  for (const Group& group : groups) sum += static_cast<double>(group.workers) * group.batch_per_worker;
  return sum;
}

void QueueAnswer::clear() {
  starts.clear();
  preempts.clear();
  resizes.clear();
  rejects.clear();
  heads.clear();
  wake_at_s = std::numeric_limits<double>::infinity();
}

}  // namespace rehearse::sim
