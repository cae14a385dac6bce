#include "policies/queue/line_queue.hpp"

#include <algorithm>

namespace rehearse::policies {

namespace {

const std::vector<sim::Group>& groups_of(const sim::QueueJob& job) {
  const int entry = job.service.entry >= 0 ? job.service.entry : job.first_fitting_entry;
  return job.menu.ranked[static_cast<std::size_t>(entry)].configuration.groups;
}

}  // namespace

void LineQueue::let_go(sim::JobSlot slot) {
  line_of(slot).coming -= leaving_[slot];
  leaving_[slot] = 0;
}

void LineQueue::leave(sim::JobSlot slot) {
  line_of(slot).waiting.remove(slot);
  line_of(slot).running.remove(slot);
}

/// Puts the job where its state says.
void LineQueue::settle(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  if (job.service.state != sim::JobState::checkpointing) let_go(slot);
  leave(slot);
  pool_of_[slot] = groups_of(job).front().pool;
  if (job.service.state == sim::JobState::queued)
    line_of(slot).waiting.put(slot, waiting_key(view, slot), job.number);
  else if (job.service.state == sim::JobState::running)
    line_of(slot).running.put(slot, running_key(view, slot), job.number);
}

void LineQueue::read(const sim::QueueView& view) {
  if (lines_.empty()) lines_.resize(view.cluster->pools.size());
  if (pool_of_.size() < view.jobs.size()) {
    pool_of_.resize(view.jobs.size(), 0);
    leaving_.resize(view.jobs.size(), 0);
  }
  for (const std::span<const sim::JobSlot> slots : {view.queued, view.started, view.changed})
    for (const sim::JobSlot slot : slots)
      if (view.jobs[slot].service.state < sim::JobState::finished) settle(view, slot);
  for (const sim::JobSlot slot : view.ended) {
    let_go(slot);
    leave(slot);
    forget(view, slot);
  }
}

void LineQueue::move(sim::JobSlot slot, double key, std::uint64_t number) {
  Line& line = line_of(slot);
  for (OrderedQueue* queue : {&line.waiting, &line.running})
    if (queue->contains(slot)) queue->put(slot, key, number);
}

/// Takes the job's devices if all of them are free.
bool LineQueue::take(const sim::QueueJob& job) {
  const auto& groups = groups_of(job);
  for (const sim::Group& group : groups) free_[static_cast<std::size_t>(group.pool)] -= group.workers;
  if (std::all_of(groups.begin(), groups.end(),
                  [&](const sim::Group& group) { return free_[static_cast<std::size_t>(group.pool)] >= 0; }))
    return true;
  for (const sim::Group& group : groups) free_[static_cast<std::size_t>(group.pool)] += group.workers;
  return false;
}

void LineQueue::preempt_for(const Item& head, Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  const sim::Group& group = groups_of(view.jobs[head.slot]).front();
  int missing = group.workers - free_[static_cast<std::size_t>(group.pool)] - line.coming;
  victims_.clear();
  for (auto last = line.running.end(); missing > 0 && last != line.running.begin();) {
    --last;
    if (!beats(view, head, *last)) break;
    victims_.push_back(last->slot);
    missing -= view.jobs[last->slot].service.devices;
  }
  if (missing > 0) return;
  for (const sim::JobSlot slot : victims_) {
    answer.preempts.push_back(slot);
    line.running.remove(slot);
    leaving_[slot] = view.jobs[slot].service.devices;
    line.coming += leaving_[slot];
  }
}

void LineQueue::serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  while (!line.waiting.empty()) {
    const Item head = line.waiting.first();
    const sim::QueueJob& job = view.jobs[head.slot];
    if (!take(job)) {
      preempt_for(head, line, view, answer);
      answer.heads.push_back(head.slot);
      return;
    }
    answer.starts.push_back({.job = head.slot, .entry = job.first_fitting_entry, .placement = placement_});
    line.waiting.remove(head.slot);
    starts(view, head.slot);
  }
}

void LineQueue::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  read(view);
  prepare(view);
  free_.assign(view.free_devices.begin(), view.free_devices.end());
  for (Line& line : lines_) serve(line, view, answer);
  conclude(view, answer);
}

}  // namespace rehearse::policies
