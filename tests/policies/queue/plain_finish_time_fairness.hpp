// Finish-time fairness as its definition reads: every job that waits is asked for a bid at every decision, and everything left
// is offered to all of them. What the discipline itself, which notes bids and leaves out who cannot fit, is compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "policies/queue/finish_time_fairness.hpp"
#include "policies/queue/job_plan.hpp"
#include "policies/queue/stays.hpp"

class PlainFinishTimeFairness final : public rehearse::sim::Queue {
 public:
  explicit PlainFinishTimeFairness(const rehearse::policies::FinishTimeFairnessParameters& parameters)
      : parameters_(parameters) {}
  void decide(const rehearse::sim::QueueView& view, rehearse::sim::QueueAnswer& answer) override {
    take_up(view);
    if (!plan_.unplanned().empty()) {
      const std::vector<rehearse::sim::JobSlot> over = expired(view);
      const bool some_left = std::any_of(plan_.left().begin(), plan_.left().end(), [](int devices) { return devices > 0; });
      if (some_left || !over.empty()) auction(view, over);
      for (const rehearse::sim::JobSlot slot : over)
        if (plan_.of(slot) < 0) stays_.take(slot);
    }
    plan_.act(view, answer);
    if (plan_.unplanned().empty()) return;
    for (const rehearse::policies::OrderedQueue::Item& lease : leases_)
      if (lease.key > view.now_s) {
        answer.wake_at_s = lease.key;
        break;
      }
  }

 private:
  struct Bid {
    double rho = 0, gain = 0;
    std::uint64_t number = 0;
    rehearse::sim::JobSlot slot = 0;
  };
  struct Pool {
    int devices = 0, jobs = 0;
    double job_s = 0;
  };
  struct Entry {
    int pool = -1;
    double job_s_before = 0;
  };

  void take_up(const rehearse::sim::QueueView& view) {
    if (pools_.empty())
      for (const int devices : rehearse::policies::pool_sizes(*view.cluster)) pools_.push_back({.devices = devices});
    for (Pool& pool : pools_) pool.job_s += pool.jobs * (view.now_s - counted_s_);
    counted_s_ = view.now_s;
    plan_.update(view);
    for (const rehearse::sim::JobSlot slot : view.queued) {
      if (entries_.size() <= slot) entries_.resize(slot + 1);
      Entry& entry = entries_[slot];
      if (entry.pool >= 0) continue;
      const rehearse::sim::QueueJob& job = view.jobs[slot];
      entry.pool = rehearse::sim::configuration_of(job, job.first_fitting_entry).groups.front().pool;
      Pool& pool = pools_[static_cast<std::size_t>(entry.pool)];
      entry.job_s_before = pool.job_s;
      ++pool.jobs;
    }
    for (const rehearse::sim::JobSlot slot : view.ended) {
      leases_.remove(slot);
      stays_.forget(slot);
      if (slot >= entries_.size() || entries_[slot].pool < 0) continue;
      --pools_[static_cast<std::size_t>(entries_[slot].pool)].jobs;
      entries_[slot] = {};
    }
  }

  Bid bid(const rehearse::sim::QueueView& view, rehearse::sim::JobSlot slot) const {
    const rehearse::sim::QueueJob& job = view.jobs[slot];
    const Pool& pool = pools_[static_cast<std::size_t>(entries_[slot].pool)];
    const int menu_entry = plan_.of(slot) >= 0 ? plan_.of(slot) : job.first_fitting_entry;
    const double elapsed_s = view.now_s - job.job.submit_s;
    const double alone_s = job.menu.ranked[static_cast<std::size_t>(menu_entry)].predicted.time_s;
    rehearse::policies::FinishTime time{
        .elapsed_s = elapsed_s,
        .remaining_s = rehearse::policies::expected_remaining_s(job, menu_entry, view.now_s),
        .devices = static_cast<double>(rehearse::sim::configuration_of(job, menu_entry).workers()),
        .pool_devices = static_cast<double>(pool.devices)};
    time.alone_s = alone_s > 0 ? alone_s : time.remaining_s;
    time.contention =
        elapsed_s > 0 ? std::max(1.0, (pool.job_s - entries_[slot].job_s_before) / elapsed_s) : std::max(1, pool.jobs);
    return {.rho = time.rho(),
            .gain = parameters_.lease_s / (elapsed_s + time.remaining_s) / time.devices,
            .number = job.number,
            .slot = slot};
  }

  std::vector<rehearse::sim::JobSlot> expired(const rehearse::sim::QueueView& view) {
    std::vector<rehearse::sim::JobSlot> over, slots;
    for (const rehearse::policies::OrderedQueue::Item& lease : leases_)
      if (lease.key <= view.now_s && view.jobs[lease.slot].service.state == rehearse::sim::JobState::running)
        over.push_back(lease.slot);
    for (const rehearse::sim::JobSlot slot : over) {
      const double until_s = stays_.until_s(view.jobs[slot], slot, parameters_.lease_s);
      if (until_s > view.now_s)
        leases_.put(slot, until_s, view.jobs[slot].number);
      else
        slots.push_back(slot);
    }
    return slots;
  }

  /// A lease for a job: the one that it has goes on, or its first fitting entry, if that fits.
  void give(const rehearse::sim::QueueView& view, rehearse::sim::JobSlot slot) {
    const rehearse::sim::QueueJob& job = view.jobs[slot];
    const int entry = job.service.entry >= 0 && job.service.state == rehearse::sim::JobState::running ? job.service.entry
                                                                                                      : job.first_fitting_entry;
    if (!plan_.fits(slot, rehearse::sim::configuration_of(job, entry))) return;
    plan_.set(view, slot, entry);
    leases_.put(slot, view.now_s + parameters_.lease_s, job.number);
  }

  void auction(const rehearse::sim::QueueView& view, const std::vector<rehearse::sim::JobSlot>& expired) {
    std::vector<Bid> bids;
    for (const rehearse::policies::OrderedQueue::Item& item : plan_.unplanned()) bids.push_back(bid(view, item.slot));
    for (const rehearse::sim::JobSlot slot : expired) {
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
    for (const rehearse::sim::JobSlot slot : expired)
      if (plan_.of(slot) < 0) give(view, slot);
    for (auto next = plan_.unplanned().begin(); next != plan_.unplanned().end();) give(view, (next++)->slot);
  }

  rehearse::policies::FinishTimeFairnessParameters parameters_;
  rehearse::policies::JobPlan plan_;
  std::vector<Pool> pools_;
  std::vector<Entry> entries_;
  rehearse::policies::OrderedQueue leases_;
  rehearse::policies::Stays stays_;
  double counted_s_ = 0;
};
