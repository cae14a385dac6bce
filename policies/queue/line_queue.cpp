#include "policies/queue/line_queue.hpp"

#include <algorithm>
#include <utility>

namespace rehearse::policies {

namespace {

const sim::Configuration& configuration_of(const sim::QueueJob& job) {
  const int entry = job.service.entry >= 0 ? job.service.entry : job.first_fitting_entry;
  return job.menu.ranked[static_cast<std::size_t>(entry)].configuration;
}

/// What a running job holds.
void add_held(const sim::QueueJob& job, sim::PoolId pool, sim::FreeDevices& free) {
  if (free.holds_part(job))
    free.give_back_part(job);
  else
    free.of(pool) += job.service.devices;
}

}  // namespace

void LineQueue::let_go(sim::JobSlot slot) {
  line_of(slot).coming -= leaving_[slot];
  leaving_[slot] = 0;
  std::erase(line_of(slot).parts_coming, slot);
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
  pool_of_[slot] = configuration_of(job).groups.front().pool;
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

/// What there is for the line's first job once those that were preempted have let go.
sim::FreeDevices LineQueue::free_soon(const Line& line, sim::PoolId pool, const sim::QueueView& view) const {
  sim::FreeDevices free = free_;
  free.of(pool) += line.coming;
  for (const sim::JobSlot slot : line.parts_coming) free.give_back_part(view.jobs[slot]);
  return free;
}

/// Those without whom there is room all the same need not go: a later one let go of more, or others stay on its device. The first
/// in order stay. `free`: with what all of them hold.
void LineQueue::spare(const sim::QueueJob& head, const Line& line, const sim::QueueView& view, sim::FreeDevices free) {
  const sim::Configuration& wanted = configuration_of(head);
  const sim::Group& group = wanted.groups.front();
  for (std::size_t i = victims_.size(); i-- > 0;) {
    const sim::QueueJob& victim = view.jobs[victims_[i]];
    const bool part = free.holds_part(victim);
    sim::FreeDevices before = part ? std::exchange(free, free_soon(line, group.pool, view)) : sim::FreeDevices();
    if (part)
      for (std::size_t j = 0; j < victims_.size(); ++j) {
        if (j != i) add_held(view.jobs[victims_[j]], group.pool, free);
      }
    else
      free.of(group.pool) -= victim.service.devices;
    if (free.fits(wanted, group))
      victims_.erase(victims_.begin() + static_cast<std::ptrdiff_t>(i));
    else if (part)
      free = std::move(before);
    else
      free.of(group.pool) += victim.service.devices;
  }
}

void LineQueue::preempt_for(const Item& head, Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  const sim::Configuration& wanted = configuration_of(view.jobs[head.slot]);
  const sim::Group& group = wanted.groups.front();
  sim::FreeDevices free = free_soon(line, group.pool, view);
  victims_.clear();
  bool enough = free.fits(wanted, group);
  for (auto last = line.running.end(); !enough && last != line.running.begin();) {
    --last;
    if (!beats(view, head, *last)) break;
    victims_.push_back(last->slot);
    add_held(view.jobs[last->slot], group.pool, free);
    enough = free.fits(wanted, group);
  }
  if (!enough) return;
  spare(view.jobs[head.slot], line, view, std::move(free));
  for (const sim::JobSlot slot : victims_) {
    answer.preempts.push_back(slot);
    line.running.remove(slot);
    if (free_.holds_part(view.jobs[slot])) {
      line.parts_coming.push_back(slot);
      continue;
    }
    leaving_[slot] = view.jobs[slot].service.devices;
    line.coming += leaving_[slot];
  }
}

void LineQueue::serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  while (!line.waiting.empty()) {
    const Item head = line.waiting.first();
    const sim::QueueJob& job = view.jobs[head.slot];
    if (!free_.take(configuration_of(job), placement_)) {
      preempt_for(head, line, view, answer);
      answer.heads.push_back(head.slot);
      return;
    }
    answer.starts.push_back({.job = head.slot, .entry = job.first_fitting_entry, .placement = placement_, .shares = true});
    line.waiting.remove(head.slot);
    starts(view, head.slot);
  }
}

void LineQueue::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  read(view);
  prepare(view);
  free_.reset(view);
  for (Line& line : lines_) serve(line, view, answer);
  conclude(view, answer);
}

}  // namespace rehearse::policies
