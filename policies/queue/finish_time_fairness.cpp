#include "policies/queue/finish_time_fairness.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "policies/queue/job_plan.hpp"

namespace rehearse::policies {

namespace {

/// What a job runs with a lease: the entry that it has goes on, or its first that fits an empty cluster.
int leased_entry(const sim::QueueJob& job) {
  return job.service.entry >= 0 && job.service.state == sim::JobState::running ? job.service.entry : job.first_fitting_entry;
}

}  // namespace

double FinishTime::rho() const {
  const double part = pool_devices / contention;
  return (elapsed_s + remaining_s) / (alone_s * std::max(1.0, devices / part));
}

void FinishTimeFairness::take_up(const sim::QueueView& view) {
  if (pools_.empty())
    for (const int devices : pool_sizes(*view.cluster)) pools_.push_back({.devices = devices});
  for (Pool& pool : pools_) pool.job_s += pool.jobs * (view.now_s - counted_s_);
  counted_s_ = view.now_s;
  plan_.update(view);
  for (const sim::JobSlot slot : view.queued) {
    if (entries_.size() <= slot) entries_.resize(slot + 1);
    Entry& entry = entries_[slot];
    const sim::QueueJob& job = view.jobs[slot];
    if (entry.pool < 0) {
      entry.pool = configuration_of(job, job.first_fitting_entry).groups.front().pool;
      Pool& pool = pools_[static_cast<std::size_t>(entry.pool)];
      entry.job_s_before = pool.job_s;
      ++pool.jobs;
    }
    note(view, slot);
    if (plan_.of(slot) < 0) join(slot);
  }
  for (const sim::JobSlot slot : view.ended) {
    leases_.remove(slot);
    stays_.forget(slot);
    if (slot >= entries_.size() || entries_[slot].pool < 0) continue;
    --pools_[static_cast<std::size_t>(entries_[slot].pool)].jobs;
    entries_[slot] = {};
  }
}

void FinishTimeFairness::note(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  Entry& entry = entries_[slot];
  const int menu_entry = plan_.of(slot) >= 0 ? plan_.of(slot) : job.first_fitting_entry;
  const double alone_s = job.menu.ranked[static_cast<std::size_t>(menu_entry)].predicted.time_s;
  entry.number = job.number;
  entry.waits = job.service.state == sim::JobState::queued;
  entry.submit_s = job.job.submit_s;
  entry.remaining_s = expected_remaining_s(job, menu_entry, view.now_s);
  entry.alone_s = alone_s > 0 ? alone_s : entry.remaining_s;
  entry.devices = static_cast<double>(configuration_of(job, menu_entry).workers());
  entry.room = configuration_of(job, leased_entry(job)).groups.front();
}

void FinishTimeFairness::join(sim::JobSlot slot) {
  Entry& entry = entries_[slot];
  if (!entry.bids) bids_.push_back({.number = entry.number, .slot = slot});
  entry.bids = true;
}

double FinishTimeFairness::rho(const Entry& entry, double now_s) const {
  const Pool& pool = pools_[static_cast<std::size_t>(entry.pool)];
  const double elapsed_s = now_s - entry.submit_s;
  const double contention = elapsed_s > 0 ? std::max(1.0, (pool.job_s - entry.job_s_before) / elapsed_s) : std::max(1, pool.jobs);
  return FinishTime{.elapsed_s = elapsed_s,
                    .remaining_s = entry.remaining_s,
                    .alone_s = entry.alone_s,
                    .devices = entry.devices,
                    .pool_devices = static_cast<double>(pool.devices),
                    .contention = contention}
      .rho();
}

/// False only if it is known that no lease can be given to the job now.
bool FinishTimeFairness::may_fit(const Entry& entry) const {
  return !entry.waits || entry.room.workers <= plan_.left()[static_cast<std::size_t>(entry.room.pool)];
}

bool FinishTimeFairness::some_left() const {
  return std::any_of(plan_.left().begin(), plan_.left().end(), [](int devices) { return devices > 0; });
}

std::vector<sim::JobSlot> FinishTimeFairness::expired(const sim::QueueView& view) {
  std::vector<sim::JobSlot> slots;
  std::vector<OrderedQueue::Item> prolonged;
  for (const OrderedQueue::Item& lease : leases_) {
    if (lease.key > view.now_s) break;
    const sim::QueueJob& job = view.jobs[lease.slot];
    if (job.service.state != sim::JobState::running) continue;
    if (const double until_s = stays_.until_s(job, lease.slot, parameters_.lease_s); until_s > view.now_s)
      prolonged.push_back({until_s, job.number, lease.slot});
    else
      slots.push_back(lease.slot);
  }
  for (const OrderedQueue::Item& lease : prolonged) leases_.put(lease.slot, lease.key, lease.number);
  return slots;
}

/// A lease for a job, if there is room.
void FinishTimeFairness::give(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  const int entry = leased_entry(job);
  if (!plan_.fits(slot, configuration_of(job, entry))) return;
  plan_.set(view, slot, entry);
  leases_.put(slot, view.now_s + parameters_.lease_s, job.number);
}

/// Of all jobs without a plan. Those whose lease is over bid with what they run, and then have none.
void FinishTimeFairness::take_bids(const sim::QueueView& view, const std::vector<sim::JobSlot>& expired) {
  std::size_t kept = 0;
  for (const Bid& bid : bids_) {
    Entry& entry = entries_[bid.slot];
    if (entry.pool < 0 || entry.number != bid.number) continue;
    entry.bids = plan_.of(bid.slot) < 0;
    if (!entry.bids) continue;
    if (!entry.waits) note(view, bid.slot);
    bids_[kept++] = {.worth = rho(entry, view.now_s), .number = bid.number, .slot = bid.slot};
  }
  bids_.resize(kept);
  for (const sim::JobSlot slot : expired) {
    note(view, slot);
    join(slot);
    bids_.back().worth = rho(entries_[slot], view.now_s);
    plan_.set(view, slot, -1);
    leases_.remove(slot);
  }
}

void FinishTimeFairness::auction(const sim::QueueView& view, const std::vector<sim::JobSlot>& expired) {
  take_bids(view, expired);
  const auto offered =
      static_cast<std::ptrdiff_t>(std::max(1.0, std::ceil((1 - parameters_.filter) * static_cast<double>(bids_.size()) - 1e-9)));
  const auto end = bids_.begin() + std::min(offered, static_cast<std::ptrdiff_t>(bids_.size()));
  if (end != bids_.end()) std::nth_element(bids_.begin(), end, bids_.end(), std::greater<>());
  std::vector<Bid> takers;  // who does not fit now does not when less is left
  for (auto bid = bids_.begin(); bid != end; ++bid) {
    const Entry& entry = entries_[bid->slot];
    if (!may_fit(entry)) continue;
    // By how much rho falls relatively if the job need not wait for another lease, a device.
    const double gain = parameters_.lease_s / (view.now_s - entry.submit_s + entry.remaining_s) / entry.devices;
    takers.push_back({.worth = gain, .number = bid->number, .slot = bid->slot});
  }
  const auto later = [](const Bid& a, const Bid& b) { return b > a; };
  std::make_heap(takers.begin(), takers.end(), later);
  for (; !takers.empty() && some_left(); takers.pop_back()) {
    std::pop_heap(takers.begin(), takers.end(), later);
    give(view, takers.back().slot);
  }
  // What is left goes to the others: those whose lease is over keep what nobody else got, then who waits longest.
  for (const sim::JobSlot slot : expired)
    if (plan_.of(slot) < 0) give(view, slot);
  if (!some_left()) return;
  takers.clear();
  for (const Bid& bid : bids_)
    if (plan_.of(bid.slot) < 0 && may_fit(entries_[bid.slot])) takers.push_back(bid);
  std::sort(takers.begin(), takers.end(), [](const Bid& a, const Bid& b) { return a.number < b.number; });
  for (const Bid& bid : takers) give(view, bid.slot);
}

void FinishTimeFairness::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  take_up(view);
  if (!plan_.unplanned().empty()) {
    const std::vector<sim::JobSlot> over = expired(view);
    const auto fits = [this](const Bid& bid) { return may_fit(entries_[bid.slot]); };
    if (!over.empty() || (some_left() && std::any_of(bids_.begin(), bids_.end(), fits))) auction(view, over);
    for (const sim::JobSlot slot : over)
      if (plan_.of(slot) < 0) stays_.take(slot);
  }
  plan_.act(view, answer);
  if (plan_.unplanned().empty()) return;
  for (const OrderedQueue::Item& lease : leases_)
    if (lease.key > view.now_s) {
      answer.wake_at_s = lease.key;
      break;
    }
}

}  // namespace rehearse::policies
