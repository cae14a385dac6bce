#include "policies/queue/finish_time_fairness.hpp"

#include <algorithm>
#include <cmath>

#include "policies/queue/usable_entries.hpp"

namespace rehearse::policies {

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
    if (entry.pool >= 0) continue;
    const sim::QueueJob& job = view.jobs[slot];
    entry.pool = configuration_of(job, job.first_fitting_entry).groups.front().pool;
    Pool& pool = pools_[static_cast<std::size_t>(entry.pool)];
    entry.job_s_before = pool.job_s;
    ++pool.jobs;
  }
  for (const sim::JobSlot slot : view.ended) {
    leases_.remove(slot);
    if (slot >= entries_.size() || entries_[slot].pool < 0) continue;
    --pools_[static_cast<std::size_t>(entries_[slot].pool)].jobs;
    entries_[slot] = {};
  }
}

FinishTimeFairness::Bid FinishTimeFairness::bid(const sim::QueueView& view, sim::JobSlot slot) const {
  const sim::QueueJob& job = view.jobs[slot];
  const Pool& pool = pools_[static_cast<std::size_t>(entries_[slot].pool)];
  const int menu_entry = plan_.of(slot) >= 0 ? plan_.of(slot) : job.first_fitting_entry;
  const double elapsed_s = view.now_s - job.job.submit_s;
  const double alone_s = job.menu.ranked[static_cast<std::size_t>(menu_entry)].predicted.time_s;
  FinishTime time{.elapsed_s = elapsed_s,
                  .remaining_s = expected_remaining_s(job, menu_entry, view.now_s),
                  .devices = static_cast<double>(configuration_of(job, menu_entry).workers()),
                  .pool_devices = static_cast<double>(pool.devices)};
  time.alone_s = alone_s > 0 ? alone_s : time.remaining_s;
  time.contention =
      elapsed_s > 0 ? std::max(1.0, (pool.job_s - entries_[slot].job_s_before) / elapsed_s) : std::max(1, pool.jobs);
  return {.rho = time.rho(),
          .gain = parameters_.lease_s / (elapsed_s + time.remaining_s) / time.devices,
          .number = job.number,
          .slot = slot};
}

std::vector<sim::JobSlot> FinishTimeFairness::expired(const sim::QueueView& view) const {
  std::vector<sim::JobSlot> slots;
  for (const OrderedQueue::Item& lease : leases_) {
    if (lease.key > view.now_s) break;
    if (view.jobs[lease.slot].service.state == sim::JobState::running) slots.push_back(lease.slot);
  }
  return slots;
}

/// A lease for a job: the one that it has goes on, or its first fitting entry, if that fits.
void FinishTimeFairness::give(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  const int entry =
      job.service.entry >= 0 && job.service.state == sim::JobState::running ? job.service.entry : job.first_fitting_entry;
  if (!plan_.fits(slot, configuration_of(job, entry))) return;
  plan_.set(view, slot, entry);
  leases_.put(slot, view.now_s + parameters_.lease_s, job.number);
}

void FinishTimeFairness::auction(const sim::QueueView& view, const std::vector<sim::JobSlot>& expired) {
  std::vector<Bid> bids;
  for (const OrderedQueue::Item& item : plan_.unplanned()) bids.push_back(bid(view, item.slot));
  for (const sim::JobSlot slot : expired) {
    bids.push_back(bid(view, slot));
    plan_.set(view, slot, -1);
    leases_.remove(slot);
  }
  const auto offered =
      static_cast<std::ptrdiff_t>(std::max(1.0, std::ceil((1 - parameters_.filter) * static_cast<double>(bids.size()) - 1e-9)));
  const auto end = bids.begin() + std::min(offered, static_cast<std::ptrdiff_t>(bids.size()));
  const auto worse_off = [](const Bid& a, const Bid& b) { return a.rho != b.rho ? a.rho > b.rho : a.number < b.number; };
  if (end != bids.end()) std::nth_element(bids.begin(), end, bids.end(), worse_off);
  std::sort(bids.begin(), end,
            [](const Bid& a, const Bid& b) { return a.gain != b.gain ? a.gain > b.gain : a.number < b.number; });
  for (auto winner = bids.begin(); winner != end; ++winner) give(view, winner->slot);
  // What is left goes to the others: those whose lease is over keep what nobody else got, then who waits longest.
  for (const sim::JobSlot slot : expired)
    if (plan_.of(slot) < 0) give(view, slot);
  for (auto next = plan_.unplanned().begin(); next != plan_.unplanned().end();) give(view, (next++)->slot);
}

void FinishTimeFairness::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  take_up(view);
  if (!plan_.unplanned().empty()) {
    const std::vector<sim::JobSlot> over = expired(view);
    const bool some_left = std::any_of(plan_.left().begin(), plan_.left().end(), [](int devices) { return devices > 0; });
    if (some_left || !over.empty()) auction(view, over);
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
