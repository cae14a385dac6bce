#include "policies/queue/least_attained_service.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/base/units.hpp"

namespace rehearse::policies {

LeastAttainedService::LeastAttainedService(const LeastAttainedServiceParameters& parameters)
    : LineQueue(parameters.line),
      parameters_(parameters),
      levels_(parameters.levels, parameters.threshold_device_s, parameters.ratio),
      index_(parameters.quantum_device_s) {
  for (const auto& [name, device_s] : parameters.services) index_.learn(device_s);
  index_.renew();
}

double LeastAttainedService::key_of(const Job& job) const {
  return parameters_.gittins ? -index_.of(job.attained_device_s) : job.level;
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
  if (parameters_.promote_after > 0 && (job.level > 0 || (parameters_.gittins && job.attained_device_s > 0))) {
    const double waits_s = parameters_.promote_after * (job.ran_s - job.ran_at_promotion_s);
    promotions_.put(slot, view.jobs[slot].service.since_s + waits_s, job.number);
  }
  return key_of(job);
}

double LeastAttainedService::running_key(const sim::QueueView& view, sim::JobSlot slot) {
  Job& job = settle_service(view, slot);
  const sim::Service& service = view.jobs[slot].service;
  job.devices = service.devices_held;
  watch(slot, service.since_s, job.attained_device_s, job.devices);
  return key_of(job);
}

/// Notes when a job that works from a date on reaches its next level or index.
void LeastAttainedService::watch(sim::JobSlot slot, double since_s, double attained_device_s, double devices) {
  const Job& job = jobs_[slot];
  const double next_device_s =
      parameters_.gittins ? std::max(index_.changes_at(attained_device_s), attained_device_s * (1 + parameters_.index_growth))
                          : levels_.end(job.level);
  if (next_device_s == std::numeric_limits<double>::infinity()) return;
  crossings_.put(slot, since_s + (next_device_s - job.attained_device_s) / devices, job.number);
}

/// It may begin to work at once, and then nobody asks before it ends.
void LeastAttainedService::starts(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  promotions_.remove(slot);
  const sim::Configuration& configuration = job.menu.ranked[static_cast<std::size_t>(job.first_fitting_entry)].configuration;
  watch(slot, view.now_s, jobs_[slot].attained_device_s, configuration.devices_held());
}

/// Until now.
double LeastAttainedService::attained_device_s(const sim::QueueView& view, sim::JobSlot slot) const {
  const sim::Service& service = view.jobs[slot].service;
  const Job& job = jobs_[slot];
  const bool runs = service.state == sim::JobState::running;
  return job.attained_device_s + (runs ? job.devices * (view.now_s - service.since_s) : 0);
}

/// Other jobs have ended: everybody has another index.
void LeastAttainedService::rank_anew(const sim::QueueView& view) {
  for (sim::JobSlot slot = 0; slot < jobs_.size(); ++slot)
    if (jobs_[slot].number == view.jobs[slot].number) change_key(slot, -index_.of(attained_device_s(view, slot)));
}

/// A running job has reached its next level or index.
void LeastAttainedService::pass_on(const sim::QueueView& view, sim::JobSlot slot) {
  Job& job = jobs_[slot];
  const sim::Service& service = view.jobs[slot].service;
  const double attained = attained_device_s(view, slot);
  if (!parameters_.gittins) ++job.level;
  watch(slot, service.since_s, attained, service.devices_held);
  if (!parameters_.gittins) {
    move(slot, job.level);
    return;
  }
  change_key(slot, -index_.of(attained));
  // By rounding it may seem to be just short of the service that it has reached.
  if (crossings_.contains(slot) && crossings_.key_of(slot) <= view.now_s)
    crossings_.put(slot, view.now_s + sim::kDateGrid, job.number);
}

void LeastAttainedService::prepare(const sim::QueueView& view) {
  if (parameters_.gittins && index_.renew()) rank_anew(view);
  for (const sim::JobSlot slot : view.changed)
    if (view.jobs[slot].service.state == sim::JobState::checkpointing) crossings_.remove(slot);
  while (!crossings_.empty() && crossings_.first().key <= view.now_s) {
    const sim::JobSlot slot = crossings_.first().slot;
    crossings_.remove(slot);
    if (view.jobs[slot].service.state == sim::JobState::running) pass_on(view, slot);
  }
  while (!promotions_.empty() && promotions_.first().key <= view.now_s) {
    const sim::JobSlot slot = promotions_.first().slot;
    promotions_.remove(slot);
    Job& job = jobs_[slot];
    job.level = 0;
    job.attained_device_s = 0;
    job.ran_at_promotion_s = job.ran_s;
    move(slot, key_of(job));
  }
}

/// A level is left at its date; another index counts from the next decision on, as in Tiresias' code.
double LeastAttainedService::changes_at_s(const sim::QueueView&) {
  double next_s = sim::kNever;
  for (const OrderedQueue* dates : {&crossings_, &promotions_})
    if (!dates->empty() && (dates == &promotions_ || !parameters_.gittins)) next_s = std::min(next_s, dates->first().key);
  return next_s;
}

void LeastAttainedService::forget(const sim::QueueView& view, sim::JobSlot slot) {
  const Job& job = settle_service(view, slot);
  if (parameters_.gittins && parameters_.services.empty() && view.jobs[slot].service.state == sim::JobState::finished)
    index_.learn(job.total_device_s);
  jobs_[slot] = {};
}

bool GittinsIndex::renew() {
  if (new_.empty() || static_cast<double>(new_.size()) * 20 < static_cast<double>(services_.size())) return false;
  services_.insert(services_.end(), new_.begin(), new_.end());
  new_.clear();
  std::sort(services_.begin(), services_.end());
  std::vector<double> sum(services_.size() + 1, 0);
  std::partial_sum(services_.begin(), services_.end(), sum.begin() + 1);
  index_.clear();
  for (const double next : services_) {
    // Just before it: of those that get beyond, the share that ends within a quantum, over the mean service till then.
    const double from = next - 1;
    const auto beyond = static_cast<std::size_t>(std::upper_bound(services_.begin(), services_.end(), from) - services_.begin());
    const auto until = static_cast<std::size_t>(std::upper_bound(services_.begin(), services_.end(), from + quantum_device_s_) -
                                                services_.begin());
    const double served = sum[until] - sum[beyond] + quantum_device_s_ * static_cast<double>(services_.size() - until);
    index_.push_back(static_cast<double>(until - beyond) / served);
  }
  return true;
}

double GittinsIndex::of(double device_s) const {
  const auto next = std::upper_bound(services_.begin(), services_.end(), device_s);
  return next == services_.end() ? -device_s : index_[static_cast<std::size_t>(next - services_.begin())];
}

double GittinsIndex::changes_at(double device_s) const {
  const auto next = std::upper_bound(services_.begin(), services_.end(), device_s);
  return next == services_.end() ? std::numeric_limits<double>::infinity() : *next;
}

ServiceLevels::ServiceLevels(int levels, double first_device_s, double ratio) : begins_{0} {
  for (double begin = first_device_s; count() < levels; begin *= ratio) begins_.push_back(begin);
}

double ServiceLevels::end(int level) const {
  return level + 1 < count() ? begin(level + 1) : std::numeric_limits<double>::infinity();
}

int ServiceLevels::level_of(double device_s) const {
  return static_cast<int>(std::upper_bound(begins_.begin(), begins_.end(), device_s) - begins_.begin()) - 1;
}

}  // namespace rehearse::policies
