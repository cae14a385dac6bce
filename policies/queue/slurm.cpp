#include "policies/queue/slurm.hpp"

#include <algorithm>
#include <cmath>

#include "policies/queue/job_plan.hpp"
#include "sim/base/units.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

namespace {

/// The first multiple that is not before, on the grid of dates. The quotient of such a date may be rounded to either side.
double next_multiple(double date_s, double interval_s) {
  const double before = sim::on_date_grid(std::round(date_s / interval_s) * interval_s);
  return before >= date_s ? before : sim::on_date_grid((std::round(date_s / interval_s) + 1) * interval_s);
}

/// The first date that is not before and lies whole intervals from the phase.
double next_tick(double date_s, double interval_s, double phase_s) {
  const double origin_s = sim::on_date_grid(phase_s);
  return next_multiple(date_s - origin_s, interval_s) + origin_s;
}

}  // namespace

/// Counts what it has used so far. Only jobs that run when usage is reckoned are counted: the controller's log of 22.05 shows
/// that what a job uses between the last reckoning and its end is charged to nobody.
void Slurm::tell(sim::JobSlot slot, double now_s) {
  Seat& seat = seats_[slot];
  usage_device_s_[seat.user] += seat.groups.front().workers * (now_s - seat.told_s);
  seat.told_s = now_s;
}

/// The job's place in the books, as its state says. Whose devices the queue did not choose has the first that are free.
void Slurm::settle(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  Seat& seat = seats_[slot];
  const std::size_t user = users_.try_emplace(job.job.user, users_.size()).first->second;
  if (usage_device_s_.size() < users_.size()) usage_device_s_.resize(users_.size());
  changed_ = backfill_due_ = true;
  if (job.service.state == sim::JobState::queued) {
    if (waiting_.contains(slot) || later_.contains(slot)) return;
    const bool stopped = std::find(running_.begin(), running_.end(), slot) != running_.end();
    std::erase(running_, slot);
    look_now_ = look_now_ || stopped;
    seat = {.groups = groups_of(job), .user = user};
    for (const int entry : entries_to_start(*view.cluster, job))
      if (const sim::Group& group = group_of(view, slot, entry); group.nodes > 0) by_node_[index(group.pool)] = 1;
    // Never in the pass that follows at once: its devices are for whom it was stopped.
    if (stopped)
      later_.put(slot, view.now_s + std::max(sim::kDateGrid, sim::on_date_grid(parameters_.requeue_s)), job.number);
    else
      waiting_.put(slot, -priority(view, slot), job.number);
    return;
  }
  const std::vector<sim::Group>& groups = groups_of(job);
  waiting_.remove(slot);
  later_.remove(slot);
  if (std::find(running_.begin(), running_.end(), slot) != running_.end()) {
    if (seat.groups == groups) return;
    std::erase(running_, slot);
  }
  seat.user = user;
  seat.groups = groups;
  seat.held.clear();
  seat.started_s = seat.told_s = view.now_s;
  seat.ends_s = end_of(view.now_s, durations_.remaining_s(view, slot));
  Pass pass;
  free_of(view, pass);
  for (const sim::Group& group : groups) {
    seat.held.push_back(pass.free[index(group.pool)].neighbours(group.workers));
    pass.free[index(group.pool)].remove(seat.held.back());
  }
  running_.push_back(slot);
}

void Slurm::read(const sim::QueueView& view) {
  if (capacity_.empty()) capacity_ = pool_sizes(*view.cluster);
  by_node_.resize(capacity_.size());
  if (seats_.size() < view.jobs.size()) seats_.resize(view.jobs.size());
  for (const sim::JobSlot slot : view.ended) {
    waiting_.remove(slot);
    later_.remove(slot);
    std::erase(running_, slot);
    seats_[slot] = {};
    changed_ = backfill_due_ = true;
  }
  for (const std::span<const sim::JobSlot> slots : {view.queued, view.started, view.changed})
    for (const sim::JobSlot slot : slots)
      if (view.jobs[slot].service.state < sim::JobState::finished) settle(view, slot);
  while (!later_.empty() && later_.first().key <= view.now_s) {
    const sim::JobSlot slot = later_.first().slot;
    later_.remove(slot);
    waiting_.put(slot, -priority(view, slot), view.jobs[slot].number);
    changed_ = backfill_due_ = true;
  }
  // Nodes go and come back without a word about any job.
  std::vector<int> up(view.free_devices.begin(), view.free_devices.end());
  for (const sim::JobSlot slot : running_)
    for (const sim::Group& group : seats_[slot].groups) up[index(group.pool)] += group.workers;
  if (up != up_) changed_ = backfill_due_ = true;
  up_ = std::move(up);
}

/// As they lie on the pool's nodes: of each first those that jobs hold, in order of their starts, then those that are free.
void Slurm::number_by_node(const sim::QueueView& view, std::size_t pool, Pass& pass) {
  const sim::Nodes& nodes = view.nodes[pool];
  const auto of_node = static_cast<std::size_t>(nodes.devices_per_node());
  std::vector<std::size_t> next(static_cast<std::size_t>(nodes.node_count()));
  for (std::size_t node = 0; node < next.size(); ++node) next[node] = node * of_node;
  for (const sim::JobSlot slot : running_) {
    Seat& seat = seats_[slot];
    if (view.jobs[slot].service.entry < 0) continue;
    const sim::Layout layout = sim::held_layout(view, slot);
    for (std::size_t g = 0; g < std::min(seat.held.size(), layout.size()); ++g) {
      if (index(seat.groups[g].pool) != pool) continue;
      seat.held[g] = {};
      for (const sim::NodeShare& share : layout[g])
        for (int d = 0; d < share.devices; ++d) seat.held[g].insert(next[static_cast<std::size_t>(share.node)]++);
    }
  }
  for (std::size_t node = 0; node < next.size(); ++node)
    for (int d = 0; d < nodes.free_on(static_cast<int>(node)); ++d) pass.free[pool].insert(next[node]++);
}

/// The books number devices for themselves: those that nobody holds, from the first on, are as many as there are free.
void Slurm::free_of(const sim::QueueView& view, Pass& pass) {
  const std::size_t pools = view.cluster->pools.size();
  pass = {.free = std::vector<DeviceRow>(pools),
          .all = std::vector<DeviceRow>(pools),
          .left = {view.free_devices.begin(), view.free_devices.end()},
          .blocked = std::vector<char>(pools),
          .closed = std::vector<char>(pools)};
  for (std::size_t p = 0; p < pools; ++p)
    if (is_by_node(view, p)) number_by_node(view, p, pass);
  for (const sim::JobSlot slot : running_) {
    const Seat& seat = seats_[slot];
    for (std::size_t g = 0; g < seat.held.size(); ++g) pass.all[index(seat.groups[g].pool)].add(seat.held[g]);
  }
  for (std::size_t p = 0; p < pools; ++p) {
    int left = is_by_node(view, p) ? 0 : view.free_devices[p];
    for (std::size_t device = 0; left > 0; ++device) {
      if (pass.all[p].has(device)) continue;
      pass.free[p].insert(device);
      --left;
    }
    pass.all[p].add(pass.free[p]);
  }
}

// priority/multifactor.

/// Fair Tree with one level: users in order of their usage, the least first; those of equal usage rank alike. It holds until
/// usage is reckoned anew; who came since has used nothing.
void Slurm::rank_users() {
  shares_.clear();
  for (const double own : usage_device_s_) {
    const auto less = std::count_if(usage_device_s_.begin(), usage_device_s_.end(), [own](double other) { return other < own; });
    shares_.push_back(1 - static_cast<double>(less) / static_cast<double>(usage_device_s_.size()));
  }
}

double Slurm::priority(const sim::QueueView& view, sim::JobSlot slot) const {
  const sim::QueueJob& job = view.jobs[slot];
  const SlurmParameters& p = parameters_;
  double points = 0;
  if (p.weight_age > 0) points += p.weight_age * std::min(1.0, (view.now_s - job.job.submit_s) / p.max_age_s);
  if (p.weight_size > 0) {
    const sim::Group& group = groups_of(job).front();
    const double part = std::min(1.0, static_cast<double>(group.workers) / capacity_[index(group.pool)]);
    points += p.weight_size * (p.favor_small ? 1 - part : part);
  }
  const std::size_t user = seats_[slot].user;
  if (p.weight_fair_share > 0) points += p.weight_fair_share * (user < shares_.size() ? shares_[user] : 1);
  constexpr double kTier = 1e12;  // above all that the weights can give
  return points + (p.tiers ? kTier * job.job.priority : 0);
}

/// Usage decays, and what runs adds to it; then all who wait have new priorities.
void Slurm::reckon(const sim::QueueView& view) {
  if (view.now_s < next_calc_s_) return;
  const SlurmParameters& p = parameters_;
  for (double& usage : usage_device_s_) usage *= std::exp2(-(view.now_s - calculated_s_) / p.half_life_s);
  calculated_s_ = view.now_s;
  for (const sim::JobSlot slot : running_) tell(slot, view.now_s);
  rank_users();
  next_calc_s_ = next_multiple(view.now_s + p.calc_s / 2, p.calc_s);
  std::vector<sim::JobSlot> slots;
  for (const OrderedQueue::Item& item : waiting_) slots.push_back(item.slot);
  for (const sim::JobSlot slot : slots) waiting_.put(slot, -priority(view, slot), view.jobs[slot].number);
  changed_ = backfill_due_ = true;
}

// The passes.

bool Slurm::start(const sim::QueueView& view, sim::JobSlot slot, int entry, Pass& pass, sim::QueueAnswer& answer) {
  Seat& seat = seats_[slot];
  const sim::Configuration& wanted = configuration_of(view.jobs[slot], entry);
  std::vector<DeviceRow> held;
  for (const sim::Group& group : wanted.groups) {
    const std::size_t pool = index(group.pool);
    const bool open = pass.blocked[pool] == 0 && pass.closed[pool] == 0 && group.workers <= pass.left[pool];
    std::optional<DeviceRow> found = open ? pass.free[pool].room_for(group, per_node(view, group.pool)) : std::nullopt;
    if (!found) {
      for (std::size_t g = 0; g < held.size(); ++g) {
        pass.free[index(wanted.groups[g].pool)].add(held[g]);
        pass.left[index(wanted.groups[g].pool)] += wanted.groups[g].workers;
      }
      return false;
    }
    pass.free[pool].remove(*found);
    pass.left[pool] -= group.workers;
    held.push_back(std::move(*found));
  }
  seat.groups = wanted.groups;
  seat.held = std::move(held);
  seat.started_s = seat.told_s = view.now_s;
  seat.ends_s = end_of(view.now_s, durations_.remaining_s(view, slot, entry));
  waiting_.remove(slot);
  running_.push_back(slot);
  answer.starts.push_back({.job = slot, .entry = entry, .placement = parameters_.placement});
  const bool can_say = wanted.groups.size() == 1 && !wanted.share.is_part();
  for (const sim::Group& group : seat.groups) {
    if (!is_by_node(view, index(group.pool))) continue;
    if (can_say)
      answer.starts.back().nodes = {seat.held.front().by_node(per_node(view, group.pool))};
    else
      pass.closed[index(group.pool)] = 1;
  }
  return true;
}

void Slurm::main_pass(const sim::QueueView& view, Pass& pass, sim::QueueAnswer& answer) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const sim::JobSlot slot = (next++)->slot;
    // As a job that names several partitions: it is tried in each, and holds up each in which it cannot start.
    const std::vector<int> entries = entries_to_start(*view.cluster, view.jobs[slot]);
    if (std::ranges::any_of(entries, [&](int entry) { return start(view, slot, entry, pass, answer); })) continue;
    const std::size_t pool = index(seats_[slot].groups.front().pool);
    if (pass.blocked[pool] == 0) {
      answer.heads.push_back(slot);
      if (parameters_.preempt) preempt_for(view, slot, pass, answer);
    }
    for (const int entry : entries) pass.blocked[index(group_of(view, slot, entry).pool)] = 1;
    if (std::find(pass.blocked.begin(), pass.blocked.end(), 0) == pass.blocked.end()) return;
  }
}

/// Jobs of smaller tiers are taken away one after the other until the job fits; then once more, the last first and then those
/// with the most of the devices that it would have had (preempt_reorder_count 1). Who holds none of them is left alone.
void Slurm::preempt_for(const sim::QueueView& view, sim::JobSlot slot, const Pass& pass, sim::QueueAnswer& answer) {
  const Seat& seat = seats_[slot];
  const sim::Group& group = seat.groups.front();
  DeviceRow coming = pass.free[index(group.pool)];
  std::vector<sim::JobSlot> victims;
  for (const sim::JobSlot other : running_) {
    const Seat& theirs = seats_[other];
    if (theirs.groups.front().pool != group.pool) continue;
    if (theirs.leaves || view.jobs[other].service.state == sim::JobState::checkpointing)
      coming.add(theirs.held.front());
    else if (view.jobs[other].service.state == sim::JobState::running &&
             view.jobs[other].job.priority < view.jobs[slot].job.priority)
      victims.push_back(other);
  }
  const int of_node = per_node(view, group.pool);
  if (coming.room_for(group, of_node)) return;  // it waits for those that let go
  std::stable_sort(victims.begin(), victims.end(), [&](sim::JobSlot a, sim::JobSlot b) {
    if (parameters_.youngest_first) return seats_[a].started_s > seats_[b].started_s;
    const double tier_a = view.jobs[a].job.priority, tier_b = view.jobs[b].job.priority;
    return tier_a != tier_b ? tier_a < tier_b : seats_[a].groups.front().workers < seats_[b].groups.front().workers;
  });
  DeviceRow wanted;
  for (const bool again : {false, true}) {
    DeviceRow free = coming;
    std::size_t used = 0;
    std::optional<DeviceRow> found = free.room_for(group, of_node);
    while (!found && used < victims.size()) {
      free.add(seats_[victims[used++]].held.front());
      found = free.room_for(group, of_node);
    }
    if (!found) return;
    wanted = std::move(*found);
    if (again) break;
    std::rotate(victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(used) - 1,
                victims.begin() + static_cast<std::ptrdiff_t>(used));
    std::stable_sort(victims.begin() + 1, victims.end(), [&](sim::JobSlot a, sim::JobSlot b) {
      return wanted.both(seats_[a].held.front()).count() > wanted.both(seats_[b].held.front()).count();
    });
  }
  for (const sim::JobSlot other : victims) {
    if (!wanted.meets(seats_[other].held.front())) continue;
    seats_[other].leaves = true;
    answer.preempts.push_back(other);
  }
}

void Slurm::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  read(view);
  const bool ages = parameters_.weight_fair_share > 0 || parameters_.weight_age > 0;
  if (ages) reckon(view);
  // Once the nodes of a job that was stopped are free, the controller looks at once.
  const bool main_due = look_now_ || (changed_ && view.now_s > passed_s_ &&
                                      view.now_s == next_tick(view.now_s, parameters_.interval_s, parameters_.phase_s));
  if (planned_s_ <= view.now_s) backfill_due_ = true;
  const bool plan_due = parameters_.backfill && backfill_due_ && view.now_s > backfilled_s_ &&
                        view.now_s == next_tick(view.now_s, parameters_.backfill_interval_s, parameters_.backfill_phase_s);
  if (main_due || plan_due) {
    Pass pass;
    free_of(view, pass);
    if (main_due) main_pass(view, pass, answer);
    if (plan_due) backfill_pass(view, pass, answer);
    if (main_due) changed_ = look_now_ = false;
    if (main_due) passed_s_ = view.now_s;
    if (plan_due) backfill_due_ = false;
    if (plan_due) backfilled_s_ = view.now_s;
  }
  if (!later_.empty()) answer.wake_at_s = later_.first().key;
  if (waiting_.empty()) return;
  const auto wake = [&](double date_s, double interval_s, double phase_s) {
    if (date_s == sim::kNever) return;
    const double next_s = next_tick(std::max(date_s, view.now_s + sim::kDateGrid), interval_s, phase_s);
    answer.wake_at_s = std::min(answer.wake_at_s, next_s);
  };
  if (changed_) wake(view.now_s, parameters_.interval_s, parameters_.phase_s);
  if (parameters_.backfill)
    wake(backfill_due_ ? view.now_s : planned_s_, parameters_.backfill_interval_s, parameters_.backfill_phase_s);
  answer.acts_at_s = answer.wake_at_s;
  if (ages) wake(next_calc_s_, 1, 0);
}

}  // namespace rehearse::policies
