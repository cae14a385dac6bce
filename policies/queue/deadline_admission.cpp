#include "policies/queue/deadline_admission.hpp"

#include <algorithm>

#include "policies/queue/durations.hpp"
#include "sim/base/units.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

namespace {

/// Of a menu, for each pool and number of workers the entry that is predicted to be quickest; fewest workers first.
std::vector<int> shares_of(const sim::QueueView& view, const sim::QueueJob& job) {
  std::vector<int> entries;
  for (std::size_t e = 0; e < job.menu.ranked.size(); ++e) {
    const sim::Configuration& configuration = job.menu.ranked[e].configuration;
    if (configuration.groups.size() == 1 && sim::could_ever_fit(*view.cluster, configuration))
      entries.push_back(static_cast<int>(e));
  }
  const auto group = [&](int e) -> const sim::Group& { return configuration_of(job, e).groups.front(); };
  const auto quicker = [&](int a, int b) {
    return job.predicted_remaining_s(a, view.now_s) < job.predicted_remaining_s(b, view.now_s);
  };
  std::stable_sort(entries.begin(), entries.end(), [&](int a, int b) {
    if (group(a).workers != group(b).workers) return group(a).workers < group(b).workers;
    return group(a).pool != group(b).pool ? group(a).pool < group(b).pool : quicker(a, b);
  });
  const auto alike = [&](int a, int b) { return group(a).workers == group(b).workers && group(a).pool == group(b).pool; };
  entries.erase(std::unique(entries.begin(), entries.end(), alike), entries.end());
  if (entries.empty()) entries.push_back(job.first_fitting_entry);
  return entries;
}

}  // namespace

/// `devices` were planned to be held from one date to another. Later than that, the plan has been wrong from there on.
void DeadlineAdmission::let_go_early(std::size_t pool, double from_s, double to_s, int devices) {
  if (!in_time_ || to_s < from_s) replan_ = true;
  if (replan_) return;
  plan_.available[pool].add(from_s, to_s, devices);
  plan_.gained_until_s[pool] = std::max(plan_.gained_until_s[pool], to_s);
  plan_.full_until_s[pool] = from_s;
  early_ = true;
}

void DeadlineAdmission::leave(const sim::QueueView& view, sim::JobSlot slot) {
  admitted_.remove(slot);
  rest_.remove(slot);
  if (holding_.contains(slot) && holding_.key_of(slot) != view.now_s)
    for (const sim::Group& group : known_[slot].held)
      let_go_early(static_cast<std::size_t>(group.pool), view.now_s, holding_.key_of(slot), group.workers);
  holding_.remove(slot);
  known_[slot] = {};
}

void DeadlineAdmission::join(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  known_[slot] = {.submit_s = job.job.submit_s, .deadline_s = job.job.deadline_s};
  for (const int entry : shares_of(view, job)) {
    const sim::Group& group = configuration_of(job, entry).groups.front();
    known_[slot].shares.push_back({.entry = entry,
                                   .pool = static_cast<std::size_t>(group.pool),
                                   .devices = group.workers,
                                   .need_s = durations_.remaining_s(view, slot, entry)});
  }
  const bool came_back = job.service.device_s > 0;
  if (!job.job.has_deadline())
    rest_.put(slot, 0, job.number);
  else if (came_back)
    admitted_.put(slot, job.job.submit_s + job.job.deadline_s, job.number), replan_ = true;
  else
    newcomers_.push_back(slot);
}

void DeadlineAdmission::holds(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  const bool lets_go = job.service.state == sim::JobState::checkpointing;
  if (!lets_go && known_[slot].held_since_s == job.service.held_since_s) return;
  leave(view, slot);
  known_[slot] = {.held = configuration_of(job, job.service.entry).groups, .held_since_s = job.service.held_since_s};
  const double end_s = lets_go ? job.service.lets_go_at_s : end_of(view.now_s, durations_.remaining_s(view, slot));
  holding_.put(slot, end_s, job.number);
  replan_ = true;
}

/// A job that waits for its reservation has ended.
void DeadlineAdmission::give_up(const sim::QueueView& view, sim::JobSlot slot) {
  const auto planned =
      std::find_if(plan_.starts.begin(), plan_.starts.end(), [slot](const auto& start) { return start.first == slot; });
  if (planned == plan_.starts.end()) return;
  const Reservation& reservation = planned->second;
  let_go_early(reservation.pool, std::max(view.now_s, reservation.start_s), reservation.end_s, reservation.devices);
  plan_.starts.erase(planned);
}

void DeadlineAdmission::read(const sim::QueueView& view) {
  if (known_.size() < view.jobs.size()) known_.resize(view.jobs.size());
  newcomers_.clear();
  for (const std::span<const sim::JobSlot> slots : {view.queued, view.started, view.changed}) {
    for (const sim::JobSlot slot : slots) {
      const sim::JobState state = view.jobs[slot].service.state;
      if (state == sim::JobState::queued && !admitted_.contains(slot) && !rest_.contains(slot)) {
        leave(view, slot);
        join(view, slot);
      } else if (state != sim::JobState::queued && state < sim::JobState::finished) {
        holds(view, slot);
      }
    }
  }
  for (const sim::JobSlot slot : view.ended) {
    std::erase(newcomers_, slot);
    if (admitted_.contains(slot)) give_up(view, slot);
    leave(view, slot);
  }
}

/// Are those devices free that the plan says? One that never starts somebody was made while nodes were away: as many devices may
/// be free as it says, and others come back since.
bool DeadlineAdmission::as_planned(const sim::QueueView& view) {
  if (plan_.available.size() != view.free_devices.size()) return false;
  const auto never = [](const auto& planned) { return planned.second.start_s == sim::kNever; };
  if (std::any_of(plan_.starts.begin(), plan_.starts.end(), never)) return false;
  std::vector<int> free(view.free_devices.begin(), view.free_devices.end());
  for (const auto& [slot, reservation] : plan_.starts)
    if (reservation.start_s <= view.now_s) free[reservation.pool] -= reservation.devices;
  for (std::size_t p = 0; p < free.size(); ++p) {
    plan_.available[p].advance(view.now_s);
    if (plan_.available[p].free_now() != free[p]) return false;
  }
  return true;
}

/// The minimum satisfactory share in what the plan leaves over; late, if that is allowed: what ends first.
std::optional<DeadlineAdmission::Reservation> DeadlineAdmission::reserve(double now_s, Plan& plan, const Known& job,
                                                                         bool late_allowed) const {
  Reservation reservation;
  bool in_time = false;
  for (const Share& share : job.shares) {
    // A plan only takes: what is full stays full.
    double& full_until_s = plan.full_until_s[share.pool];
    full_until_s = plan.available[share.pool].earliest(std::max(now_s, full_until_s), {.for_s = 0, .devices = 1});
    const double start_s = plan.available[share.pool].earliest(full_until_s, {.for_s = share.need_s, .devices = share.devices});
    const double end_s = end_of(start_s, share.need_s);
    in_time = end_s - job.submit_s <= job.deadline_s;
    if (in_time || reservation.entry < 0 || end_s < reservation.end_s)
      reservation = {.start_s = start_s, .end_s = end_s, .entry = share.entry, .pool = share.pool, .devices = share.devices};
    if (in_time) break;
  }
  if (!in_time && !late_allowed) return std::nullopt;
  plan.available[reservation.pool].add(reservation.start_s, reservation.end_s, -reservation.devices);
  return reservation;
}

/// Of what jobs hold, and nothing else.
DeadlineAdmission::Plan DeadlineAdmission::held(const sim::QueueView& view) const {
  Plan plan;
  plan.available.resize(view.free_devices.size());
  plan.full_until_s.assign(view.free_devices.size(), view.now_s);
  plan.gained_until_s.assign(view.free_devices.size(), -sim::kNever);
  for (std::size_t p = 0; p < plan.available.size(); ++p) plan.available[p].reset(view.now_s, view.free_devices[p]);
  for (const OrderedQueue::Item& item : holding_) {
    const double end_s = expected_end(view.now_s, item.key);
    if (end_s == sim::kNever) break;
    for (const sim::Group& group : known_[item.slot].held)
      plan.available[static_cast<std::size_t>(group.pool)].add(end_s, sim::kNever, group.workers);
  }
  return plan;
}

/// The reservations that there are, on what jobs hold by now.
DeadlineAdmission::Plan DeadlineAdmission::kept(const sim::QueueView& view) const {
  Plan plan = held(view);
  for (const auto& [slot, reservation] : plan_.starts)
    plan.available[reservation.pool].add(reservation.start_s, reservation.end_s, -reservation.devices);
  plan.starts = plan_.starts;
  return plan;
}

std::optional<DeadlineAdmission::Plan> DeadlineAdmission::plan(const sim::QueueView& view, bool late_allowed) const {
  Plan plan = held(view);
  plan.starts.reserve(admitted_.size());
  for (const OrderedQueue::Item& item : admitted_) {
    const std::optional<Reservation> reservation = reserve(view.now_s, plan, known_[item.slot], late_allowed);
    if (!reservation) return std::nullopt;
    plan.starts.emplace_back(item.slot, *reservation);
  }
  return plan;
}

/// What was let go before its time serves those that wait, by deadline: fewer devices that are still in time, or an earlier
/// start, which needs devices that became free since the job last looked for it. Nobody's end moves later than its deadline, so
/// that the plan need not be made anew (as conservative backfilling compresses its reservations).
void DeadlineAdmission::move_up(double now_s) {
  std::vector<double> moved_until_s(plan_.available.size(), -sim::kNever);
  for (auto& [slot, reservation] : plan_.starts) {
    if (reservation.start_s <= now_s) continue;
    const Known& job = known_[slot];
    for (const Share& share : job.shares) {
      const bool own = share.entry == reservation.entry;
      const double gained_s = std::max(plan_.gained_until_s[share.pool], moved_until_s[share.pool]);
      Availability& available = plan_.available[share.pool];
      const double start_s = available.earliest(
          now_s, {.for_s = share.need_s, .devices = share.devices, .has_from_s = own ? reservation.start_s : sim::kNever},
          own ? std::min(reservation.start_s, gained_s) : gained_s);
      const double end_s = start_s == sim::kNever ? sim::kNever : end_of(start_s, share.need_s);
      if (end_s - job.submit_s <= job.deadline_s) {
        plan_.available[reservation.pool].add(reservation.start_s, reservation.end_s, reservation.devices);
        moved_until_s[reservation.pool] = std::max(moved_until_s[reservation.pool], reservation.end_s);
        reservation = {.start_s = start_s, .end_s = end_s, .entry = share.entry, .pool = share.pool, .devices = share.devices};
        available.add(start_s, end_s, -share.devices);
        break;
      }
      if (own) break;
    }
  }
  early_ = false;
  plan_.gained_until_s = moved_until_s;  // what moved has made room for those before it, who look for it next time
}

/// Where a job stands among the reservations, which are in order of deadline.
DeadlineAdmission::Starts::iterator DeadlineAdmission::place_of(const sim::QueueView& view, Starts& starts,
                                                                sim::JobSlot slot) const {
  const auto item = [&](sim::JobSlot of) {
    return OrderedQueue::Item{.key = admitted_.key_of(of), .number = view.jobs[of].number, .slot = of};
  };
  return std::partition_point(starts.begin(), starts.end(),
                              [&](const auto& planned) { return item(planned.first) < item(slot); });
}

/// The plan with a newcomer that can keep its deadline in what the others leave over.
bool DeadlineAdmission::fits_as_it_is(const sim::QueueView& view, sim::JobSlot slot) {
  const std::optional<Reservation> reservation = reserve(view.now_s, plan_, known_[slot], false);
  if (reservation) plan_.starts.insert(place_of(view, plan_.starts, slot), {slot, *reservation});
  return reservation.has_value();
}

/// The plan with a newcomer for which others make room: those with the latest deadlines that stand in its way give up their
/// reservations, until it fits, and get new ones in what is left over. Nothing when one of them then would be late.
std::optional<DeadlineAdmission::Plan> DeadlineAdmission::with_others_moved(const sim::QueueView& view,
                                                                            sim::JobSlot newcomer) const {
  const Known& job = known_[newcomer];
  const double deadline_s = job.submit_s + job.deadline_s;
  Plan plan = plan_;
  const auto later = place_of(view, plan.starts, newcomer) - plan.starts.begin();
  std::vector<std::size_t> moved;
  std::optional<Reservation> own;
  for (std::size_t s = plan.starts.size(); !own && s-- > static_cast<std::size_t>(later);) {
    const Reservation& other = plan.starts[s].second;
    if (other.start_s <= view.now_s || other.start_s >= deadline_s) continue;
    plan.available[other.pool].add(other.start_s, other.end_s, other.devices);
    plan.full_until_s[other.pool] = std::min(plan.full_until_s[other.pool], other.start_s);
    moved.push_back(s);
    own = reserve(view.now_s, plan, job, false);
  }
  if (!own) return std::nullopt;
  for (auto s = moved.rbegin(); s != moved.rend(); ++s) {  // by deadline
    auto& [slot, reservation] = plan.starts[*s];
    const std::optional<Reservation> again = reserve(view.now_s, plan, known_[slot], false);
    if (!again) return std::nullopt;
    reservation = *again;
  }
  plan.starts.insert(plan.starts.begin() + later, {newcomer, *own});
  return plan;
}

/// All that are admitted, with a newcomer, keep their deadlines; if not, the plan is as it was.
bool DeadlineAdmission::admits(const sim::QueueView& view, sim::JobSlot newcomer) {
  if (in_time_ && fits_as_it_is(view, newcomer)) return true;
  std::optional<Plan> with = in_time_ ? with_others_moved(view, newcomer) : std::nullopt;
  if (!with) with = plan(view, false);
  if (!with) return false;
  plan_ = std::move(*with);
  return in_time_ = true;
}

/// On all of its pools, of which the plan knows the first.
bool DeadlineAdmission::is_free_now(const sim::QueueJob& job, int entry) const {
  const std::vector<sim::Group>& groups = configuration_of(job, entry).groups;
  return std::all_of(groups.begin(), groups.end(),
                     [&](const sim::Group& group) { return group.workers <= free_[static_cast<std::size_t>(group.pool)]; });
}

void DeadlineAdmission::start(const sim::QueueView& view, sim::JobSlot slot, const Reservation& reservation,
                              sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[slot];
  const std::vector<sim::Group>& groups = configuration_of(job, reservation.entry).groups;
  for (const sim::Group& group : groups) free_[static_cast<std::size_t>(group.pool)] -= group.workers;
  answer.starts.push_back({.job = slot, .entry = reservation.entry, .placement = parameters_.placement});
  admitted_.remove(slot);
  rest_.remove(slot);
  known_[slot] = {.held = groups, .held_since_s = view.now_s};
  holding_.put(slot, reservation.end_s, job.number);
}

void DeadlineAdmission::start_due(const sim::QueueView& view, sim::QueueAnswer& answer) {
  double next_s = sim::kNever;
  std::size_t kept = 0;
  for (const auto& planned : plan_.starts) {
    const auto& [slot, reservation] = planned;
    if (reservation.start_s <= view.now_s && is_free_now(view.jobs[slot], reservation.entry)) {
      start(view, slot, reservation, answer);
      continue;
    }
    if (reservation.start_s > view.now_s) next_s = std::min(next_s, reservation.start_s);
    plan_.starts[kept++] = planned;
  }
  plan_.starts.resize(kept);
  if (next_s != sim::kNever && (next_s < wake_at_s_ || wake_at_s_ <= view.now_s)) answer.wake_at_s = wake_at_s_ = next_s;
}

/// In order of arrival, where the plan leaves devices over for as long as they need them.
void DeadlineAdmission::start_rest(const sim::QueueView& view, sim::QueueAnswer& answer) {
  while (!rest_.empty()) {
    const sim::JobSlot slot = rest_.first().slot;
    const sim::QueueJob& job = view.jobs[slot];
    const int entry = job.first_fitting_entry;
    const sim::Group& group = configuration_of(job, entry).groups.front();
    Availability& available = plan_.available[static_cast<std::size_t>(group.pool)];
    const double need_s = durations_.remaining_s(view, slot, entry);
    if (available.earliest(view.now_s, {.for_s = need_s, .devices = group.workers}) > view.now_s || !is_free_now(job, entry))
      break;
    const Reservation now{.start_s = view.now_s,
                          .end_s = end_of(view.now_s, need_s),
                          .entry = entry,
                          .pool = static_cast<std::size_t>(group.pool),
                          .devices = group.workers};
    available.add(now.start_s, now.end_s, -group.workers);
    start(view, slot, now, answer);
  }
}

void DeadlineAdmission::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  read(view);
  if (!as_planned(view) || replan_) {
    std::optional<Plan> better = plan(view, false);
    in_time_ = better.has_value();
    if (!better) better = as_planned(view) && plan_.starts.size() == admitted_.size() ? kept(view) : *plan(view, true);
    plan_ = std::move(*better);
    replan_ = early_ = false;
  } else if (early_) {
    move_up(view.now_s);
  }
  for (const sim::JobSlot slot : newcomers_) {
    const sim::QueueJob& job = view.jobs[slot];
    admitted_.put(slot, job.job.submit_s + job.job.deadline_s, job.number);
    if (admits(view, slot)) continue;
    admitted_.remove(slot);
    answer.rejects.push_back(slot);
  }
  free_.assign(view.free_devices.begin(), view.free_devices.end());
  start_due(view, answer);
  start_rest(view, answer);
  if (!plan_.starts.empty())
    answer.heads.push_back(plan_.starts.front().first);
  else if (!rest_.empty())
    answer.heads.push_back(rest_.first().slot);
}

}  // namespace rehearse::policies
