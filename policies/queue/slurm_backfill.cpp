// sched/backfill of Slurm: in each pass every waiting job, in order of priority, starts on devices that nobody before it has
// reserved, or reserves those on which it is expected to start first.
#include <algorithm>
#include <cmath>

#include "policies/queue/job_plan.hpp"
#include "policies/queue/slurm.hpp"

namespace rehearse::policies {

namespace {

constexpr double kOutrun_s = 1;  // a job that has outrun its limit is expected to end so soon

/// Slurm's dates are whole seconds: of starts too, so that a job of a minute that starts at 46.3 is expected to end at 106.
double whole_s(double date_s) { return std::floor(date_s); }

}  // namespace

/// When the job would start on devices of `usable`, and on which: now, or when enough of those that run there are expected to
/// have ended. These are looked at in groups, of ends that lie together.
Slurm::Planned Slurm::would_run(const sim::QueueView& view, const sim::Group& group, const DeviceRow& usable,
                                const DeviceRow& free) const {
  DeviceRow at_hand = usable.both(free);
  const double now_s = whole_s(view.now_s);
  const int of_node = per_node(view, group.pool);
  if (std::optional<DeviceRow> found = at_hand.room_for(group, of_node)) return {now_s, std::move(*found)};
  std::vector<std::pair<double, sim::JobSlot>> ends;
  for (const sim::JobSlot slot : running_) {
    const Seat& seat = seats_[slot];
    if (seat.groups.front().pool == group.pool && !seat.held.empty() && seat.held.front().meets(usable))
      ends.emplace_back(whole_s(seat.ends_s) > now_s ? whole_s(seat.ends_s) : now_s + kOutrun_s, slot);
  }
  std::stable_sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double precision_s = parameters_.precision_s;
  const double aligned_s =
      ends.empty() || precision_s == 0 ? 0 : (std::floor(ends.front().first / precision_s) + 1) * precision_s;
  for (std::size_t i = 0; i < ends.size() && ends[i].first != sim::kNever;) {
    while (precision_s > 0 && ends[i].first > aligned_s + precision_s) precision_s *= 2;  // until it reaches the next end
    const double until_s = precision_s > 0 ? aligned_s + precision_s : ends[i].first;
    double last_s = ends[i].first;
    for (; i < ends.size() && ends[i].first <= until_s; ++i) {
      last_s = ends[i].first;
      at_hand.add(usable.both(seats_[ends[i].second].held.front()));
    }
    if (std::optional<DeviceRow> found = at_hand.room_for(group, of_node)) return {last_s, std::move(*found)};
    precision_s *= 2;
  }
  return {};
}

/// The first date at which the job can start on devices that nobody before it has reserved meanwhile; that is reserved for it
/// then. Not after now: it can start. Infinite: nothing is planned.
double Slurm::plan(const sim::QueueView& view, sim::JobSlot slot, int entry, const Pass& pass, Reservations& reserved) const {
  const sim::Group& group = group_of(view, slot, entry);
  const double need_s = durations_.remaining_s(view, slot, entry), now_s = whole_s(view.now_s);
  // A reservation that begins when the job would end counts too: so in its table of nodes.
  UnreservedDevices usable(reserved, pass.all[index(group.pool)], need_s);
  for (double from_s = now_s; from_s <= now_s + parameters_.window_s;) {
    usable.move_to(from_s);
    Planned planned;
    if (usable.count() >= group.workers) planned = would_run(view, group, usable.devices(), pass.free[index(group.pool)]);
    const double start_s = std::max(planned.start_s, from_s);
    if (start_s <= now_s) return start_s;
    const double end_s = start_s == sim::kNever ? start_s : start_s + need_s;
    const bool overlaps = std::any_of(reserved.all().begin(), reserved.all().end(), [&](const Reservation& other) {
      return other.start_s < end_s && other.end_s > start_s && other.devices.meets(planned.devices);
    });
    if (planned.start_s == sim::kNever || overlaps) {
      from_s = planned.start_s != sim::kNever && start_s > from_s ? start_s : usable.next_s();
      continue;
    }
    if (start_s > now_s + parameters_.window_s) break;
    const double r = parameters_.resolution_s;
    reserved.add({.start_s = std::floor(start_s / r) * r,
                  .end_s = end_s == sim::kNever ? end_s : std::floor(end_s / r) * r,
                  .devices = std::move(planned.devices)});
    return start_s;
  }
  return sim::kNever;
}

void Slurm::backfill_pass(const sim::QueueView& view, Pass& pass, sim::QueueAnswer& answer) {
  std::vector<Reservations> reserved(pass.free.size());
  std::fill(pass.blocked.begin(), pass.blocked.end(), 0);
  planned_s_ = sim::kNever;
  int looked_at = 0;
  for (auto next = waiting_.begin(); next != waiting_.end() && looked_at < parameters_.depth;) {
    const sim::JobSlot slot = (next++)->slot;
    ++looked_at;
    for (const int entry : entries_to_start(*view.cluster, view.jobs[slot])) {
      const std::size_t pool = index(group_of(view, slot, entry).pool);
      const double start_s = plan(view, slot, entry, pass, reserved[pool]);
      if (start_s > whole_s(view.now_s)) {
        planned_s_ = std::min(planned_s_, start_s);
        continue;
      }
      // On none of the devices that somebody before it needs while it runs.
      Pass spared = pass;
      const double need_s = durations_.remaining_s(view, slot, entry);
      for (const Reservation& other : reserved[pool].all())
        if (other.start_s <= whole_s(view.now_s) + need_s) spared.free[pool].remove(other.devices);
      if (!start(view, slot, entry, spared, answer)) continue;
      const Seat& seat = seats_[slot];
      for (std::size_t g = 0; g < seat.held.size(); ++g) pass.free[index(seat.groups[g].pool)].remove(seat.held[g]);
      pass.left = spared.left;
      pass.closed = spared.closed;
      break;
    }
  }
}

}  // namespace rehearse::policies
