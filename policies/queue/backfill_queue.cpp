#include "policies/queue/backfill_queue.hpp"

#include <algorithm>

#include "sim/base/units.hpp"

namespace rehearse::policies {

namespace {

const std::vector<sim::Group>& groups_of(const sim::QueueJob& job) {
  const int entry = job.service.entry >= 0 ? job.service.entry : job.first_fitting_entry;
  return job.menu.ranked[static_cast<std::size_t>(entry)].configuration.groups;
}

/// The replay ends jobs on its grid of dates: an upper bound stays one.
double date_after(double now_s, double need_s) { return need_s == sim::kNever ? sim::kNever : sim::on_date_grid(now_s + need_s); }

}  // namespace

/// The job is neither waiting nor holding, until it is put somewhere.
void BackfillQueue::leave(const sim::QueueView& view, sim::JobSlot slot) {
  Held& held = held_[slot];
  Line& line = lines_[held.pool];
  if (held.waits) {
    const auto before = [](const Waiting& waiting, std::uint64_t number) { return waiting.number < number; };
    const auto waits = std::lower_bound(line.waiting.begin(), line.waiting.end(), view.jobs[slot].number, before);
    give_up(line, *waits);
    line.waiting.erase(waits);
  }
  if (line.releases.contains(slot)) {
    if (line.releases.key_of(slot) > view.now_s) let_go_early(line, line.releases.key_of(slot), held.devices);
    line.releases.remove(slot);
  }
  held = {};
}

void BackfillQueue::join(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  const sim::Group& group = groups_of(job).front();
  held_[slot] = {.pool = static_cast<std::size_t>(group.pool), .waits = true};
  std::deque<Waiting>& waiting = lines_[held_[slot].pool].waiting;
  const auto later = [](std::uint64_t number, const Waiting& other) { return number < other.number; };
  waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), job.number, later),
                 {.number = job.number, .slot = slot, .devices = group.workers, .need_s = durations_.remaining_s(view, slot)});
}

/// What was noted at its start stays, unless others have changed it: a stage, a resize, a checkpoint.
void BackfillQueue::holds(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  const sim::Service& service = job.service;
  const bool lets_go = service.state == sim::JobState::checkpointing;
  if (!lets_go && !held_[slot].waits && held_[slot].since_s == service.held_since_s) return;
  leave(view, slot);
  const sim::Group& group = groups_of(job).front();
  held_[slot] = {.pool = static_cast<std::size_t>(group.pool), .devices = group.workers, .since_s = service.held_since_s};
  const double end_s = lets_go ? service.lets_go_at_s : date_after(view.now_s, durations_.remaining_s(view, slot));
  lines_[held_[slot].pool].releases.put(slot, end_s, job.number);
}

void BackfillQueue::read(const sim::QueueView& view) {
  for (std::size_t p = lines_.size(); p < view.cluster->pools.size(); ++p) lines_.push_back({.pool = p});
  if (held_.size() < view.jobs.size()) held_.resize(view.jobs.size());
  for (const std::span<const sim::JobSlot> slots : {view.queued, view.started, view.changed}) {
    for (const sim::JobSlot slot : slots) {
      const sim::JobState state = view.jobs[slot].service.state;
      if (state == sim::JobState::queued && !held_[slot].waits) {
        leave(view, slot);
        join(view, slot);
      } else if (state != sim::JobState::queued && state < sim::JobState::finished) {
        holds(view, slot);
      }
    }
  }
  for (const sim::JobSlot slot : view.ended) leave(view, slot);
}

bool BackfillQueue::fits_now(const sim::QueueView& view, const Waiting& waiting) const {
  const auto& groups = groups_of(view.jobs[waiting.slot]);
  return std::all_of(groups.begin(), groups.end(),
                     [&](const sim::Group& g) { return free_[static_cast<std::size_t>(g.pool)] >= g.workers; });
}

void BackfillQueue::start(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[waiting.slot];
  for (const sim::Group& group : groups_of(job)) free_[static_cast<std::size_t>(group.pool)] -= group.workers;
  held_[waiting.slot] = {.pool = line.pool, .devices = waiting.devices, .since_s = view.now_s};
  line.releases.put(waiting.slot, date_after(view.now_s, waiting.need_s), waiting.number);
  answer.starts.push_back({.job = waiting.slot, .entry = job.first_fitting_entry, .placement = parameters_.placement});
}

void BackfillQueue::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  read(view);
  free_.assign(view.free_devices.begin(), view.free_devices.end());
  for (Line& line : lines_) {
    serve(line, view, answer);
    if (line.waiting.empty())
      line.head_start_s = sim::kNever;
    else
      answer.heads.push_back(line.waiting.front().slot);
  }
}

}  // namespace rehearse::policies
