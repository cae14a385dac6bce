#include "policies/queue/backfill_queue.hpp"

#include <algorithm>

#include "policies/queue/durations.hpp"
#include "policies/queue/job_plan.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

void BackfillQueue::leave_line(std::size_t pool, std::uint64_t number) {
  Line& line = lines_[pool];
  const auto before = [](const Waiting& waiting, std::uint64_t other) { return waiting.number < other; };
  const auto waits = std::lower_bound(line.waiting.begin(), line.waiting.end(), number, before);
  give_up(line, *waits);
  line.waiting.erase(waits);
}

/// The job is neither waiting nor holding, until it is put somewhere.
void BackfillQueue::leave(const sim::QueueView& view, sim::JobSlot slot) {
  Held& held = held_[slot];
  Line& line = lines_[held.pool];
  for (const std::size_t pool : held.lines) leave_line(pool, view.jobs[slot].number);
  if (line.releases.contains(slot)) {
    if (line.releases.key_of(slot) > view.now_s) let_go_early(line, line.releases.key_of(slot), held);
    line.releases.remove(slot);
  }
  held = {};
}

void BackfillQueue::join(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  held_[slot] = {.waits = true};
  for (const int entry : entries_to_start(*view.cluster, job)) {
    const sim::Group& group = configuration_of(job, entry).groups.front();
    by_node_ = by_node_ || (group.nodes > 0 && view.held != nullptr);
    held_[slot].lines.push_back(static_cast<std::size_t>(group.pool));
    std::deque<Waiting>& waiting = lines_[held_[slot].lines.back()].waiting;
    const auto later = [](std::uint64_t number, const Waiting& other) { return number < other.number; };
    waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), job.number, later),
                   {.number = job.number,
                    .slot = slot,
                    .entry = entry,
                    .devices = group.workers,
                    .nodes = group.nodes,
                    .need_s = durations_.remaining_s(view, slot, entry)});
  }
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
  if (by_node_) held_[slot].nodes = sim::held_nodes(view, slot, group.pool);
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

bool BackfillQueue::fits_now(const sim::QueueView& view, const Waiting& waiting) {
  const sim::QueueJob& job = view.jobs[waiting.slot];
  if (!free_.fits(configuration_of(job, waiting.entry))) return false;
  if (!prefers_ || held_[waiting.slot].lines.size() < 2) return true;
  for (const int entry : entries_to_start(*view.cluster, job)) {
    if (entry == waiting.entry) return true;
    if (!free_.fits(configuration_of(job, entry))) continue;
    kept_waiting_ = true;
    return false;
  }
  return true;
}

/// Its devices have just been taken of those that are free.
void BackfillQueue::note_start(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer,
                               std::vector<sim::NodeShare> nodes) {
  for (const std::size_t pool : held_[waiting.slot].lines) {
    if (pool == line.pool) continue;
    leave_line(pool, waiting.number);
    left_others_ = true;
  }
  held_[waiting.slot] = {.pool = line.pool, .devices = waiting.devices, .since_s = view.now_s, .nodes = std::move(nodes)};
  line.releases.put(waiting.slot, end_of(view.now_s, waiting.need_s), waiting.number);
  answer.starts.push_back({.job = waiting.slot, .entry = waiting.entry, .placement = parameters_.placement});
}

void BackfillQueue::start(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer) {
  free_.take(configuration_of(view.jobs[waiting.slot], waiting.entry), parameters_.placement);
  note_start(line, waiting, view, answer, is_by_node() ? free_.taken().front() : std::vector<sim::NodeShare>());
}

bool BackfillQueue::start_off(Line& line, const Waiting& waiting, std::span<const sim::NodeShare> nodes,
                              const sim::QueueView& view, sim::QueueAnswer& answer) {
  const sim::Configuration& wanted = configuration_of(view.jobs[waiting.slot], waiting.entry);
  sim::FreeDevices before = free_;
  free_.take(wanted, parameters_.placement);
  const auto is_kept = [&](const sim::NodeShare& share) {
    return std::ranges::any_of(nodes, [&](const sim::NodeShare& kept) { return kept.node == share.node; });
  };
  for (std::size_t g = 0; g < wanted.groups.size(); ++g)
    if (static_cast<std::size_t>(wanted.groups[g].pool) == line.pool && std::ranges::any_of(free_.taken()[g], is_kept)) {
      free_ = std::move(before);
      return false;
    }
  note_start(line, waiting, view, answer, is_by_node() ? free_.taken().front() : std::vector<sim::NodeShare>());
  return true;
}

bool BackfillQueue::start_as_planned(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer) {
  const sim::Configuration& wanted = configuration_of(view.jobs[waiting.slot], waiting.entry);
  if (!fits_now(view, waiting)) return false;
  if (wanted.groups.size() > 1 || wanted.share.is_part()) {  // such a start cannot say where
    start(line, waiting, view, answer);
    return true;
  }
  const auto pool = static_cast<sim::PoolId>(line.pool);
  const auto is_free = [&](const sim::NodeShare& share) { return free_.nodes(pool).free_on(share.node) >= share.devices; };
  if (!std::ranges::all_of(waiting.reserved.nodes, is_free)) return false;
  free_.take(pool, waiting.reserved.nodes);
  note_start(line, waiting, view, answer, waiting.reserved.nodes);
  answer.starts.back().nodes = {waiting.reserved.nodes};
  return true;
}

/// From the first job that needs a number of nodes on.
void BackfillQueue::find_held(const sim::QueueView& view) {
  for (const Line& line : lines_)
    for (const OrderedQueue::Item& release : line.releases)
      held_[release.slot].nodes = sim::held_nodes(view, release.slot, static_cast<sim::PoolId>(line.pool));
}

void BackfillQueue::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  const bool was_by_node = by_node_;
  read(view);
  if (by_node_ && !was_by_node) find_held(view);
  free_.reset_whole(view, by_node_);
  prefers_ = true;
  kept_waiting_ = false;
  serve_all(view, answer);
  prefers_ = false;
  if (kept_waiting_) serve_all(view, answer);
  for (Line& line : lines_) {
    if (line.waiting.empty())
      line.head_start_s = sim::kNever;
    else
      answer.heads.push_back(line.waiting.front().slot);
  }
}

/// Again where a start has made room in other lines.
void BackfillQueue::serve_all(const sim::QueueView& view, sim::QueueAnswer& answer) {
  do {
    left_others_ = false;
    for (Line& line : lines_) serve(line, view, answer);
  } while (left_others_);
}

/// A job that has outrun what was believed may end at any time: now.
Easy::Reservation Easy::reserve(const Line& line, const Waiting& head, double now_s) const {
  if (is_by_node() && head.nodes > 0) return reserve_nodes(line, head, now_s);
  int free = free_of(line);
  double start_s = now_s;
  for (const OrderedQueue::Item& release : line.releases) {
    const double date_s = std::max(release.key, now_s);
    if (free >= head.devices && date_s > start_s) break;  // all that end at the date count
    start_s = date_s;
    free += held(release.slot).devices;
  }
  return {.start_s = free >= head.devices ? start_s : sim::kNever, .left_over = free - head.devices};
}

/// On the nodes that are ready first; of the jobs that end at that date as many as are needed, by arrival.
Easy::Reservation Easy::reserve_nodes(const Line& line, const Waiting& head, double now_s) const {
  sim::Nodes nodes = *nodes_of(line);
  Reservation reservation;
  for (const OrderedQueue::Item& release : line.releases) {
    nodes.give_back(held(release.slot).nodes);
    if (!nodes.has_room_for(head.group())) continue;
    reservation.start_s = std::max(release.key, now_s);
    nodes.take(parameters().placement, head.group(), reservation.nodes);
    break;
  }
  return reservation;
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
    if (!in_time && !reservation.nodes.empty()) {
      if (!fits_now(view, job) || !start_off(line, job, reservation.nodes, view, answer)) waiting[kept++] = job;
    } else if ((in_time || job.devices <= reservation.left_over) && fits_now(view, job)) {
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

/// The devices were planned to be held until `expected_s`; `decide` has not advanced the plan yet, so that the past counts for
/// nothing.
void Conservative::let_go_early(Line& line, double expected_s, const Held& held) {
  Plan& plan = plan_of(line);
  plan.available.add({.start_s = -sim::kNever, .end_s = expected_s, .devices = held.devices, .nodes = held.nodes}, 1);
  plan.gained_until_s = std::max(plan.gained_until_s, expected_s);
  plan.early = true;
}

void Conservative::give_up(Line& line, const Waiting& waiting) {
  if (waiting.reserved.start_s == sim::kNever) return;
  Plan& plan = plan_of(line);
  plan.available.add(waiting.reserved, 1);
  plan.gained_until_s = std::max(plan.gained_until_s, waiting.reserved.end_s);
  plan.early = true;
}

/// From what is free now.
void Conservative::rebuild(Line& line, Plan& plan, double now_s) {
  plan.available.reset(now_s, free_of(line), nodes_of(line));
  for (const OrderedQueue::Item& release : line.releases) {
    const double end_s = expected_end(now_s, release.key);
    const Held& held = this->held(release.slot);
    if (end_s != sim::kNever) plan.available.add({.start_s = end_s, .devices = held.devices, .nodes = held.nodes}, 1);
  }
  for (Waiting& waiting : line.waiting) waiting.reserved = {};
}

/// Gives a reservation to every job that has none, and an earlier one to those that can have it. An earlier one needs devices
/// that have become free since the job last looked for it, so it begins before the last of these are taken again; and it may run
/// on into the one that the job has.
void Conservative::compress(Line& line, Plan& plan, double now_s) {
  double moved_until_s = -sim::kNever;
  for (std::size_t w = 0; w < planned(line); ++w) {
    Waiting& job = line.waiting[w];
    if (job.reserved.start_s == sim::kNever) {
      plan.available.book(now_s, job.need_s, job.group(), sim::kNever, job.reserved);
      continue;
    }
    if (!plan.early || job.reserved.start_s <= now_s) continue;
    const double end_s = job.reserved.end_s;
    const double before_s = std::min(job.reserved.start_s, std::max(plan.gained_until_s, moved_until_s));
    if (plan.available.book(now_s, job.need_s, job.group(), before_s, job.reserved))
      moved_until_s = std::max(moved_until_s, end_s);
  }
  // What moved has made room for those before it, who look for it next time; who came back to the line may have pushed out one
  // that has a reservation, which does not see what it misses.
  if (plan.early) plan.gained_until_s = moved_until_s;
  if (planned(line) < line.waiting.size() && line.waiting[planned(line)].reserved.start_s != sim::kNever)
    plan.gained_until_s = sim::kNever;
  plan.early = false;
}

/// Are those devices free that the plan says? Else somebody has outrun, or the pool has changed.
bool Conservative::is_as_planned(const Line& line, const Plan& plan, double now_s) const {
  std::vector<const Booking*> due;
  for (std::size_t w = 0; w < planned(line); ++w)
    if (line.waiting[w].reserved.start_s <= now_s) due.push_back(&line.waiting[w].reserved);
  return plan.available.is_free_now(free_of(line), nodes_of(line), due);
}

void Conservative::serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  Plan& plan = plan_of(line);
  plan.available.advance(view.now_s);
  if (!is_as_planned(line, plan, view.now_s)) rebuild(line, plan, view.now_s);
  compress(line, plan, view.now_s);
  const auto last = line.waiting.begin() + static_cast<std::ptrdiff_t>(planned(line));
  const auto kept = std::remove_if(line.waiting.begin(), last, [&](const Waiting& job) {
    const bool due = job.reserved.start_s <= view.now_s;
    // A reservation may begin where nothing else happens any more: at the expected end of a job that ended early.
    if (!due) answer.wake_at_s = std::min(answer.wake_at_s, job.reserved.start_s);
    if (due && is_by_node()) return start_as_planned(line, job, view, answer);
    if (!due || !fits_now(view, job)) return false;
    start(line, job, view, answer);
    return true;
  });
  line.waiting.erase(kept, last);
  if (!line.waiting.empty()) line.head_start_s = line.waiting.front().reserved.start_s;
}

}  // namespace rehearse::policies
