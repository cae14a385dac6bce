#include "sim/jobs/checkpoints.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::sim {

double young_daly_interval_s(double write_s, double mtbf_s) {
  if (mtbf_s == kNever) return kNever;
  if (write_s >= 2 * mtbf_s) return mtbf_s;
  const double part = std::sqrt(write_s / (2 * mtbf_s));
  return std::sqrt(2 * write_s * mtbf_s) * (1 + part / 3 + part * part / 9) - write_s;
}

CheckpointTimes checkpoint_times(const Job& job, const CheckpointRules& rules, double checkpoint_s, double mtbf_s) {
  CheckpointTimes times;
  times.write_s = std::isnan(rules.write_s) ? checkpoint_s : rules.write_s;
  if (!std::isnan(job.checkpoint_write_s)) times.write_s = job.checkpoint_write_s;
  times.interval_s = rules.young_daly ? young_daly_interval_s(times.write_s, mtbf_s) : rules.interval_s;
  if (job.checkpoint_interval_s > 0) times.interval_s = job.checkpoint_interval_s;
  times.interval_s = std::max(times.interval_s, kLeastCheckpointInterval_s);  // Young and Daly's follows writes of any length
  return times;
}

}  // namespace rehearse::sim
