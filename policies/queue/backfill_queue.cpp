#include "policies/queue/backfill_queue.hpp"

#include <algorithm>

#include "policies/queue/durations.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

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
  const double end_s = lets_go ? service.lets_go_at_s : end_of(view.now_s, durations_.remaining_s(view, slot));
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
  line.releases.put(waiting.slot, end_of(view.now_s, waiting.need_s), waiting.number);
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

/// A job that has outrun what was believed may end at any time: now.
Easy::Reservation Easy::reserve(const Line& line, const Waiting& head, double now_s) const {
  int free = free_of(line);
  double start_s = now_s;
  for (const OrderedQueue::Item& release : line.releases) {
    const double date_s = std::max(release.key, now_s);
    if (free >= head.devices && date_s > start_s) break;  // all that end at the date count
    start_s = date_s;
    free += devices_of(release.slot);
  }
  return {free >= head.devices ? start_s : sim::kNever, free - head.devices};
}

void Easy::serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  std::deque<Waiting>& waiting = line.waiting;
  std::size_t first = 0;
  for (; first < waiting.size() && fits_now(view, waiting[first]); ++first) start(line, waiting[first], view, answer);
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(first));
  if (waiting.empty()) return;
  Reservation reservation = reserve(line, waiting.front(), view.now_s);
  line.head_start_s = reservation.start_s;
  const std::size_t last = std::min(waiting.size(), static_cast<std::size_t>(parameters().depth));
  std::size_t kept = 1;
  std::size_t w = 1;
  for (; w < last && free_of(line) > 0; ++w) {
    const Waiting& job = waiting[w];
    const bool in_time = job.need_s != sim::kNever && sim::on_date_grid(view.now_s + job.need_s) <= reservation.start_s;
    if ((in_time || job.devices <= reservation.left_over) && fits_now(view, job)) {
      start(line, job, view, answer);
      if (!in_time) reservation.left_over -= job.devices;
    } else {
      waiting[kept++] = job;
    }
  }
  waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(kept), waiting.begin() + static_cast<std::ptrdiff_t>(w));
}

Conservative::Plan& Conservative::plan_of(const Line& line) {
  if (plans_.size() <= line.pool) plans_.resize(line.pool + 1);
  return plans_[line.pool];
}

std::size_t Conservative::planned(const Line& line) const {
  return std::min(line.waiting.size(), static_cast<std::size_t>(parameters().depth));
}

/// `devices` were planned to be held until `expected_s`; `decide` has not advanced the plan yet, so that the past counts for
/// nothing.
void Conservative::let_go_early(Line& line, double expected_s, int devices) {
  Plan& plan = plan_of(line);
  plan.available.add(-sim::kNever, expected_s, devices);
  plan.gained_until_s = std::max(plan.gained_until_s, expected_s);
  plan.early = true;
}

void Conservative::give_up(Line& line, const Waiting& waiting) {
  if (waiting.start_s == sim::kNever) return;
  Plan& plan = plan_of(line);
  const double end_s = end_of(waiting.start_s, waiting.need_s);
  plan.available.add(waiting.start_s, end_s, waiting.devices);
  plan.gained_until_s = std::max(plan.gained_until_s, end_s);
  plan.early = true;
}

/// From what is free now.
void Conservative::rebuild(Line& line, Plan& plan, double now_s) {
  plan.available.reset(now_s, free_of(line));
  for (const OrderedQueue::Item& release : line.releases) {
    const double end_s = expected_end(now_s, release.key);
    if (end_s != sim::kNever) plan.available.add(end_s, sim::kNever, devices_of(release.slot));
  }
  for (Waiting& waiting : line.waiting) waiting.start_s = sim::kNever;
}

/// Gives a reservation to every job that has none, and an earlier one to those that can have it. An earlier one needs devices
/// that have become free since the job last looked for it, so it begins before the last of these are taken again; and it may run
/// on into the one that the job has.
void Conservative::compress(Line& line, Plan& plan, double now_s) {
  double moved_until_s = -sim::kNever;
  for (std::size_t w = 0; w < planned(line); ++w) {
    Waiting& job = line.waiting[w];
    if (job.start_s != sim::kNever) {
      if (!plan.early || job.start_s <= now_s) continue;
      const double before_s = std::min(job.start_s, std::max(plan.gained_until_s, moved_until_s));
      const double earlier_s =
          plan.available.earliest(now_s, {.for_s = job.need_s, .devices = job.devices, .has_from_s = job.start_s}, before_s);
      if (earlier_s == sim::kNever) continue;
      const double end_s = end_of(job.start_s, job.need_s);
      plan.available.add(job.start_s, end_s, job.devices);
      moved_until_s = std::max(moved_until_s, end_s);
      job.start_s = earlier_s;
    } else {
      job.start_s = plan.available.earliest(now_s, {.for_s = job.need_s, .devices = job.devices});
    }
    if (job.start_s != sim::kNever) plan.available.add(job.start_s, end_of(job.start_s, job.need_s), -job.devices);
  }
  // What moved has made room for those before it, who look for it next time; who came back to the line may have pushed out one
  // that has a reservation, which does not see what it misses.
  if (plan.early) plan.gained_until_s = moved_until_s;
  if (planned(line) < line.waiting.size() && line.waiting[planned(line)].start_s != sim::kNever)
    plan.gained_until_s = sim::kNever;
  plan.early = false;
}

void Conservative::serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  Plan& plan = plan_of(line);
  plan.available.advance(view.now_s);
  const auto due = [&](const Waiting& job) { return job.start_s <= view.now_s; };
  int at_hand = plan.available.free_now();
  for (std::size_t w = 0; w < planned(line); ++w)
    if (due(line.waiting[w])) at_hand += line.waiting[w].devices;
  if (at_hand != free_of(line)) rebuild(line, plan, view.now_s);  // somebody has outrun, or the pool has changed
  compress(line, plan, view.now_s);
  const auto last = line.waiting.begin() + static_cast<std::ptrdiff_t>(planned(line));
  const auto kept = std::remove_if(line.waiting.begin(), last, [&](const Waiting& job) {
    // A reservation may begin where nothing else happens any more: at the expected end of a job that ended early.
    if (!due(job)) answer.wake_at_s = std::min(answer.wake_at_s, job.start_s);
    if (!due(job) || !fits_now(view, job)) return false;
    start(line, job, view, answer);
    return true;
  });
  line.waiting.erase(kept, last);
  if (!line.waiting.empty()) line.head_start_s = line.waiting.front().start_s;
}

}  // namespace rehearse::policies
