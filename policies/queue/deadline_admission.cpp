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

/// They were planned to be held then. Later than that, the plan has been wrong from there on.
void DeadlineAdmission::let_go_early(std::size_t pool, const Booking& held) {
  if (!in_time_ || held.end_s < held.start_s) replan_ = true;
  if (replan_) return;
  plan_.available[pool].add(held, 1);
  plan_.gained_until_s[pool] = std::max(plan_.gained_until_s[pool], held.end_s);
  plan_.full_until_s[pool] = held.start_s;
  early_ = true;
}

/// Null while devices are counted.
const sim::Nodes* DeadlineAdmission::nodes_of(const sim::QueueView& view, std::size_t pool) const {
  return by_node_ ? &view.nodes[pool] : nullptr;
}

/// What the job holds of one of its groups, from one date to another.
Booking DeadlineAdmission::held_of(const Known& job, std::size_t group, double from_s, double to_s) const {
  Booking held{.start_s = from_s, .end_s = to_s, .devices = job.held[group].workers};
  if (group < job.nodes.size()) held.nodes = job.nodes[group];
  return held;
}

void DeadlineAdmission::leave(const sim::QueueView& view, sim::JobSlot slot) {
  admitted_.remove(slot);
  rest_.remove(slot);
  const Known& job = known_[slot];
  if (holding_.contains(slot) && holding_.key_of(slot) != view.now_s)
    for (std::size_t g = 0; g < job.held.size(); ++g)
      let_go_early(static_cast<std::size_t>(job.held[g].pool), held_of(job, g, view.now_s, holding_.key_of(slot)));
  holding_.remove(slot);
  known_[slot] = {};
}

void DeadlineAdmission::join(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  known_[slot] = {.submit_s = job.job.submit_s, .deadline_s = job.job.deadline_s};
  for (const int entry : shares_of(view, job)) {
    const sim::Group& group = configuration_of(job, entry).groups.front();
    by_node_ = by_node_ || (group.nodes > 0 && view.held != nullptr);
    known_[slot].shares.push_back({.entry = entry, .group = group, .need_s = durations_.remaining_s(view, slot, entry)});
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
  if (by_node_) known_[slot].nodes = sim::held_layout(view, slot);
  const double end_s = lets_go ? job.service.lets_go_at_s : end_of(view.now_s, durations_.remaining_s(view, slot));
  holding_.put(slot, end_s, job.number);
  replan_ = true;
}

/// A job that waits for its reservation has ended.
void DeadlineAdmission::give_up(const sim::QueueView& view, sim::JobSlot slot) {
  const auto planned =
      std::find_if(plan_.starts.begin(), plan_.starts.end(), [slot](const auto& start) { return start.first == slot; });
  if (planned == plan_.starts.end()) return;
  Booking booked = planned->second.booked;
  booked.start_s = std::max(view.now_s, booked.start_s);
  let_go_early(planned->second.pool, booked);
  plan_.starts.erase(planned);
}

void DeadlineAdmission::read(const sim::QueueView& view) {
  if (known_.size() < view.jobs.size()) known_.resize(view.jobs.size());
  newcomers_.clear();
  const bool was_by_node = by_node_;
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
  if (by_node_ == was_by_node) return;
  for (const OrderedQueue::Item& item : holding_) known_[item.slot].nodes = sim::held_layout(view, item.slot);
  replan_ = true;
}

/// Are those devices free that the plan says? One that never starts somebody was made while nodes were away: as many devices may
/// be free as it says, and others come back since.
bool DeadlineAdmission::as_planned(const sim::QueueView& view) {
  if (plan_.available.size() != view.free_devices.size()) return false;
  const auto never = [](const auto& planned) { return planned.second.booked.start_s == sim::kNever; };
  if (std::any_of(plan_.starts.begin(), plan_.starts.end(), never)) return false;
  std::vector<std::vector<const Booking*>> due(view.free_devices.size());
  for (const auto& [slot, reservation] : plan_.starts)
    if (reservation.booked.start_s <= view.now_s) due[reservation.pool].push_back(&reservation.booked);
  for (std::size_t p = 0; p < due.size(); ++p) {
    plan_.available[p].advance(view.now_s);
    if (!plan_.available[p].is_free_now(view.free_devices[p], nodes_of(view, p), due[p])) return false;
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
    double& full_until_s = plan.full_until_s[share.pool()];
    full_until_s = plan.available[share.pool()].first_free_s(std::max(now_s, full_until_s));
    Booking found = plan.available[share.pool()].find(full_until_s, share.need_s, share.group);
    in_time = found.end_s - job.submit_s <= job.deadline_s;
    if (in_time || reservation.entry < 0 || found.end_s < reservation.booked.end_s)
      reservation = {.booked = std::move(found), .entry = share.entry, .pool = share.pool()};
    if (in_time) break;
  }
  if (!in_time && !late_allowed) return std::nullopt;
  plan.available[reservation.pool].add(reservation.booked, -1);
  return reservation;
}

/// Of what jobs hold, and nothing else.
DeadlineAdmission::Plan DeadlineAdmission::held(const sim::QueueView& view) const {
  Plan plan;
  plan.available.resize(view.free_devices.size());
  plan.full_until_s.assign(view.free_devices.size(), view.now_s);
  plan.gained_until_s.assign(view.free_devices.size(), -sim::kNever);
  for (std::size_t p = 0; p < plan.available.size(); ++p)
    plan.available[p].reset(view.now_s, view.free_devices[p], nodes_of(view, p));
  for (const OrderedQueue::Item& item : holding_) {
    const double end_s = expected_end(view.now_s, item.key);
    if (end_s == sim::kNever) break;
    const Known& job = known_[item.slot];
    for (std::size_t g = 0; g < job.held.size(); ++g)
      plan.available[static_cast<std::size_t>(job.held[g].pool)].add(held_of(job, g, end_s, sim::kNever), 1);
  }
  return plan;
}

/// The reservations that there are, on what jobs hold by now.
DeadlineAdmission::Plan DeadlineAdmission::kept(const sim::QueueView& view) const {
  Plan plan = held(view);
  for (const auto& [slot, reservation] : plan_.starts) plan.available[reservation.pool].add(reservation.booked, -1);
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
    if (reservation.booked.start_s <= now_s) continue;
    const Known& job = known_[slot];
    for (const Share& share : job.shares) {
      const bool own = share.entry == reservation.entry;
      const double gained_s = std::max(plan_.gained_until_s[share.pool()], moved_until_s[share.pool()]);
      PoolAvailability& available = plan_.available[share.pool()];
      Booking found =
          available.find(now_s, share.need_s, share.group, own ? std::min(reservation.booked.start_s, gained_s) : gained_s,
                         own ? &reservation.booked : nullptr);
      if (found.end_s - job.submit_s <= job.deadline_s) {
        plan_.available[reservation.pool].add(reservation.booked, 1);
        moved_until_s[reservation.pool] = std::max(moved_until_s[reservation.pool], reservation.booked.end_s);
        reservation = {.booked = std::move(found), .entry = share.entry, .pool = share.pool()};
        available.add(reservation.booked, -1);
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
    if (other.booked.start_s <= view.now_s || other.booked.start_s >= deadline_s) continue;
    plan.available[other.pool].add(other.booked, 1);
    plan.full_until_s[other.pool] = std::min(plan.full_until_s[other.pool], other.booked.start_s);
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

/// Takes its devices on all of its pools, of which the plan knows the first, if they are free.
bool DeadlineAdmission::take(const sim::QueueJob& job, const Reservation& reservation, sim::Start& start) {
  const sim::Configuration& wanted = configuration_of(job, reservation.entry);
  if (!free_.fits(wanted)) return false;
  const auto pool = static_cast<sim::PoolId>(reservation.pool);
  const std::vector<sim::NodeShare>& nodes = reservation.booked.nodes;
  if (nodes.empty() || wanted.groups.size() > 1 || wanted.share.is_part()) return free_.take(wanted, parameters_.placement);
  const auto is_free = [&](const sim::NodeShare& share) { return free_.nodes(pool).free_on(share.node) >= share.devices; };
  if (!std::ranges::all_of(nodes, is_free)) return false;
  free_.take(pool, nodes);
  start.nodes = {nodes};
  return true;
}

/// False when its devices are not free.
bool DeadlineAdmission::start(const sim::QueueView& view, sim::JobSlot slot, const Reservation& reservation,
                              sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[slot];
  sim::Start start{.job = slot, .entry = reservation.entry, .placement = parameters_.placement};
  if (!take(job, reservation, start)) return false;
  admitted_.remove(slot);
  rest_.remove(slot);
  known_[slot] = {.held = configuration_of(job, reservation.entry).groups, .held_since_s = view.now_s};
  if (by_node_) known_[slot].nodes = start.nodes.empty() ? free_.taken() : start.nodes;
  holding_.put(slot, reservation.booked.end_s, job.number);
  answer.starts.push_back(std::move(start));
  return true;
}

void DeadlineAdmission::start_due(const sim::QueueView& view, sim::QueueAnswer& answer) {
  double next_s = sim::kNever;
  std::size_t kept = 0;
  for (auto& planned : plan_.starts) {
    const double start_s = planned.second.booked.start_s;
    if (start_s <= view.now_s && start(view, planned.first, planned.second, answer)) continue;
    if (start_s > view.now_s) next_s = std::min(next_s, start_s);
    if (&plan_.starts[kept] != &planned) plan_.starts[kept] = std::move(planned);
    ++kept;
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
    PoolAvailability& available = plan_.available[static_cast<std::size_t>(group.pool)];
    const Reservation now{.booked = available.find(view.now_s, durations_.remaining_s(view, slot, entry), group),
                          .entry = entry,
                          .pool = static_cast<std::size_t>(group.pool)};
    if (now.booked.start_s > view.now_s || !start(view, slot, now, answer)) break;
    available.add(now.booked, -1);
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
  free_.reset_whole(view, by_node_);
  start_due(view, answer);
  start_rest(view, answer);
  if (!plan_.starts.empty())
    answer.heads.push_back(plan_.starts.front().first);
  else if (!rest_.empty())
    answer.heads.push_back(rest_.first().slot);
}

}  // namespace rehearse::policies
