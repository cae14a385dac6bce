#include "policies/queue/least_attained_service.hpp"

#include <algorithm>
#include <limits>

namespace rehearse::policies {

LeastAttainedService::LeastAttainedService(const LeastAttainedServiceParameters& parameters)
    : LineQueue(parameters.placement),
      parameters_(parameters),
      levels_(parameters.levels, parameters.threshold_device_s, parameters.ratio) {
  for (int level = 0; level < levels_.count(); ++level) rank_.push_back(level);
}

/// Counts the work since the job last began or stopped. Start-ups and checkpoints are no service: a job that they alone took to
/// the next level could be preempted before it has done anything, for ever.
LeastAttainedService::Job& LeastAttainedService::settle_service(const sim::QueueView& view, sim::JobSlot slot) {
  if (jobs_.size() < view.jobs.size()) jobs_.resize(view.jobs.size());
  const sim::QueueJob& seen = view.jobs[slot];
  Job& job = jobs_[slot];
  if (job.number != seen.number) job = {.number = seen.number};
  const double device_s = (seen.service.ran_s - job.ran_s) * job.devices;
  job.attained_device_s += device_s;
  job.total_device_s += device_s;
  job.ran_s = seen.service.ran_s;
  job.level = std::max(job.level, levels_.level_of(job.attained_device_s));
  crossings_.remove(slot);
  promotions_.remove(slot);
  return job;
}

double LeastAttainedService::waiting_key(const sim::QueueView& view, sim::JobSlot slot) {
  Job& job = settle_service(view, slot);
  job.devices = 0;
  if (parameters_.promote_after > 0 && job.level > 0) {
    const double waits_s = parameters_.promote_after * (job.ran_s - job.ran_at_promotion_s);
    promotions_.put(slot, view.jobs[slot].service.since_s + waits_s, job.number);
  }
  return key_of(job.level);
}

double LeastAttainedService::running_key(const sim::QueueView& view, sim::JobSlot slot) {
  Job& job = settle_service(view, slot);
  const sim::Service& service = view.jobs[slot].service;
  job.devices = service.devices * service.fraction;
  watch(slot, service.since_s, service.devices * service.fraction);
  return key_of(job.level);
}

/// Notes when a job that works from a date on reaches its next level.
void LeastAttainedService::watch(sim::JobSlot slot, double since_s, double devices) {
  const Job& job = jobs_[slot];
  if (job.level + 1 == levels_.count()) return;
  crossings_.put(slot, since_s + (levels_.end(job.level) - job.attained_device_s) / devices, job.number);
}

/// It may begin to work at once, and then nobody asks before it ends.
void LeastAttainedService::starts(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  promotions_.remove(slot);
  const sim::Configuration& configuration = job.menu.ranked[static_cast<std::size_t>(job.first_fitting_entry)].configuration;
  watch(slot, view.now_s, configuration.workers() * configuration.share.fraction);
}

/// Jobs of one level are equals, whenever they came into it: when the order of the levels changes, all jobs move.
void LeastAttainedService::rank_levels() {
  std::vector<double> index;
  for (int level = 0; level < levels_.count(); ++level) index.push_back(levels_.gittins(level));
  std::vector<double> rank;
  for (const double own : index)
    rank.push_back(static_cast<double>(std::count_if(index.begin(), index.end(), [own](double i) { return i > own; })));
  if (rank == rank_) return;
  rank_ = std::move(rank);
  for (sim::JobSlot slot = 0; slot < jobs_.size(); ++slot) move(slot, key_of(jobs_[slot].level), jobs_[slot].number);
}

void LeastAttainedService::prepare(const sim::QueueView& view) {
  if (learned_) rank_levels();
  learned_ = false;
  for (const sim::JobSlot slot : view.changed)
    if (view.jobs[slot].service.state == sim::JobState::checkpointing) crossings_.remove(slot);
  while (!crossings_.empty() && crossings_.first().key <= view.now_s) {
    const sim::JobSlot slot = crossings_.first().slot;
    const sim::Service& service = view.jobs[slot].service;
    crossings_.remove(slot);
    if (service.state != sim::JobState::running) continue;
    ++jobs_[slot].level;
    watch(slot, service.since_s, service.devices * service.fraction);
    move(slot, key_of(jobs_[slot].level), jobs_[slot].number);
  }
  while (!promotions_.empty() && promotions_.first().key <= view.now_s) {
    const sim::JobSlot slot = promotions_.first().slot;
    promotions_.remove(slot);
    Job& job = jobs_[slot];
    job.level = 0;
    job.attained_device_s = 0;
    job.ran_at_promotion_s = job.ran_s;
    move(slot, key_of(0), job.number);
  }
}

void LeastAttainedService::conclude(const sim::QueueView& view, sim::QueueAnswer& answer) {
  double next_s = sim::kNever;
  for (const OrderedQueue* dates : {&crossings_, &promotions_})
    if (!dates->empty()) next_s = std::min(next_s, dates->first().key);
  if (next_s > view.now_s && next_s != sim::kNever && (next_s < wake_at_s_ || wake_at_s_ <= view.now_s))
    answer.wake_at_s = wake_at_s_ = next_s;
}

void LeastAttainedService::forget(const sim::QueueView& view, sim::JobSlot slot) {
  const Job& job = settle_service(view, slot);
  if (!parameters_.gittins || view.jobs[slot].service.state != sim::JobState::finished) return;
  levels_.learn(job.total_device_s);
  learned_ = true;
}

ServiceLevels::ServiceLevels(int levels, double first_device_s, double ratio) : begins_{0} {
  for (double begin = first_device_s; count() < levels; begin *= ratio) begins_.push_back(begin);
  ended_.resize(begins_.size(), 0);
  sum_.resize(begins_.size(), 0);
}

double ServiceLevels::end(int level) const {
  return level + 1 < count() ? begin(level + 1) : std::numeric_limits<double>::infinity();
}

int ServiceLevels::level_of(double device_s) const {
  return static_cast<int>(std::upper_bound(begins_.begin(), begins_.end(), device_s) - begins_.begin()) - 1;
}

void ServiceLevels::learn(double device_s) {
  const auto level = static_cast<std::size_t>(level_of(device_s));
  ended_[level] += 1;
  sum_[level] += device_s;
}

double ServiceLevels::gittins(int level) const {
  double above = 0;
  for (auto l = static_cast<std::size_t>(level); l < ended_.size(); ++l) above += ended_[l];
  if (above == 0) return 1 / (begin(level) + begins_[std::min<std::size_t>(1, begins_.size() - 1)] + 1);
  // Served up to the end of each level j: E[ended] / E[service], both of the jobs that came as far as `level`.
  double best = 0, ended = 0, served = 0;
  for (int j = level; j < count(); ++j) {
    const auto at = static_cast<std::size_t>(j);
    ended += ended_[at];
    served += sum_[at] - ended_[at] * begin(level);
    const double others = above - ended;
    const double whole = others > 0 ? served + others * (end(j) - begin(level)) : served;
    if (whole > 0) best = std::max(best, ended / whole);
    if (others == 0) break;
  }
  return best;
}

}  // namespace rehearse::policies
