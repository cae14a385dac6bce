#include "policies/queue/slots.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr double kRounding = 1e-9;  // of a part of a job's work

double to_slot_end(double seconds, double slot_s) { return std::ceil(seconds / slot_s - kRounding) * slot_s; }

/// The largest size of at most so many devices; null: none.
const SlotSize* size_within(const SlotJob& job, int devices) {
  const SlotSize* found = nullptr;
  for (const SlotSize& size : job.sizes)
    if (size.devices <= devices) found = &size;
  return found;
}

/// Where a plan changes what is free.
void cut_at(SlotSteps& steps, double date_s) {
  const auto after = std::ranges::upper_bound(steps, date_s, {}, &SlotStep::from_s);
  if (after != steps.begin() && std::prev(after)->from_s != date_s) steps.insert(after, {date_s, std::prev(after)->devices});
}

void merge(SlotSteps& steps) {
  const auto alike = [](const SlotStep& a, const SlotStep& b) { return a.devices == b.devices; };
  steps.erase(std::unique(steps.begin(), steps.end(), alike), steps.end());
}

SlotSteps changed(const SlotSteps& free, const SlotPlan& plan, int sign) {
  SlotSteps steps = free;
  for (const SlotStep& step : plan.steps) cut_at(steps, step.from_s);
  if (plan.until_s != sim::kNever) cut_at(steps, plan.until_s);
  for (SlotStep& step : steps)
    if (step.from_s < plan.until_s) step.devices += sign * devices_at(plan.steps, step.from_s);
  merge(steps);
  return steps;
}

/// A plan in the making: part of the work after part, until none is left.
class Filling {
 public:
  Filling(const SlotJob& job, const SlotSteps& free, double slot_s) : job_(job), slot_s_(slot_s), steps_(free) {
    const double now_s = free.front().from_s;
    deadline_slot_s_ = now_s + std::max(0.0, to_slot_end(job.deadline_s - now_s, slot_s));
    if (deadline_slot_s_ != sim::kNever) cut_at(steps_, deadline_slot_s_);
  }

  SlotPlan run(const std::optional<SlotSize>& first, const SlotSteps& free) {
    double from_s = free.front().from_s;
    if (first) {
      const double next_s = free.size() > 1 ? free[1].from_s : deadline_slot_s_;
      // Who would end beyond the next change goes on behind it.
      if (next_s <= from_s || take(*first, from_s, next_s)) return take_all(*first, from_s);
      from_s = next_s;
    }
    fill_to_deadline(from_s);
    if (!done_) fill_behind(std::max(from_s, deadline_slot_s_));
    return std::move(plan_);
  }

 private:
  /// Of a step that begins here: to the next, the last before the deadline to the deadline itself.
  double end_of(std::size_t step) const {
    if (step + 1 == steps_.size()) return sim::kNever;
    return steps_[step + 1].from_s == deadline_slot_s_ ? std::min(job_.deadline_s, deadline_slot_s_) : steps_[step + 1].from_s;
  }

  /// True when that ends the job.
  bool take(const SlotSize& size, double from_s, double to_s) {
    const double span_s = (to_s == deadline_slot_s_ ? std::min(job_.deadline_s, to_s) : to_s) - from_s;
    if (span_s / size.left_s >= left_ - kRounding) {
      take_all(size, from_s);
      return true;
    }
    plan_.steps.push_back({from_s, size.devices});
    left_ -= std::max(0.0, span_s) / size.left_s;
    return false;
  }

  SlotPlan take_all(const SlotSize& size, double from_s) {
    if (done_) return std::move(plan_);
    done_ = true;
    plan_.steps.push_back({from_s, size.devices});
    const double need_s = std::ceil(left_ * size.left_s - kRounding);
    plan_.finish_s = from_s + need_s;
    plan_.until_s = from_s + to_slot_end(need_s, slot_s_);
    return plan_;
  }

  void pause(double from_s) { plan_.steps.push_back({from_s, 0}); }

  /// The least size with which, from some step on to the deadline, the work is done; the next smaller one before that.
  void fill_to_deadline(double from_s) {
    std::size_t begin = 0, end = 0;
    while (begin < steps_.size() && steps_[begin].from_s < from_s) ++begin;
    for (end = begin; end < steps_.size() && steps_[end].from_s < deadline_slot_s_;) ++end;
    int quota = job_.sizes.back().devices, smaller = quota;  // late: all that it can use
    std::size_t full_from = begin;
    for (std::size_t s = 0; s < job_.sizes.size(); ++s) {
      const auto enough = enough_from(job_.sizes[s].devices, begin, end);
      if (!enough) continue;
      quota = job_.sizes[s].devices;
      smaller = s > 0 ? job_.sizes[s - 1].devices : 0;
      full_from = *enough;
      break;
    }
    for (std::size_t step = begin; step < end && !done_; ++step) {
      const SlotSize* const size = size_within(job_, std::min(step >= full_from ? quota : smaller, steps_[step].devices));
      if (size == nullptr)
        pause(steps_[step].from_s);
      else
        take(*size, steps_[step].from_s, step + 1 == steps_.size() ? sim::kNever : steps_[step + 1].from_s);
    }
  }

  std::optional<std::size_t> enough_from(int quota, std::size_t begin, std::size_t end) const {
    double done = 0;
    for (std::size_t step = end; step-- > begin;) {
      const SlotSize* const size = size_within(job_, std::min(quota, steps_[step].devices));
      if (size != nullptr) done += (end_of(step) - steps_[step].from_s) / size->left_s;
      if (done >= left_ - kRounding) return step;
    }
    return std::nullopt;
  }

  void fill_behind(double from_s) {
    for (std::size_t step = 0; step < steps_.size() && !done_; ++step) {
      if (steps_[step].from_s < from_s) continue;
      const SlotSize* const size = size_within(job_, steps_[step].devices);
      if (size == nullptr)
        pause(steps_[step].from_s);
      else
        take(*size, steps_[step].from_s, step + 1 == steps_.size() ? sim::kNever : steps_[step + 1].from_s);
    }
    sim::check(done_, "a job finds no devices behind all plans");
  }

  const SlotJob& job_;
  double slot_s_, deadline_slot_s_ = 0, left_ = 1;
  SlotSteps steps_;
  SlotPlan plan_;
  bool done_ = false;
};

}  // namespace

int devices_at(const SlotSteps& steps, double date_s) {
  const auto after = std::ranges::upper_bound(steps, date_s, {}, &SlotStep::from_s);
  return after == steps.begin() ? 0 : std::prev(after)->devices;
}

double SlotPlan::device_s() const {
  double sum = 0;
  for (std::size_t step = 0; step < steps.size(); ++step)
    sum += steps[step].devices * ((step + 1 < steps.size() ? steps[step + 1].from_s : until_s) - steps[step].from_s);
  return sum;
}

SlotPlan plan_in_slots(const SlotJob& job, const SlotSteps& free, double slot_s, std::optional<SlotSize> first) {
  return Filling(job, free, slot_s).run(first, free);
}

SlotSteps without(const SlotSteps& free, const SlotPlan& plan) { return changed(free, plan, -1); }

namespace {

sim::PoolId pool_of(const sim::QueueJob& job) { return configuration_of(job, job.first_fitting_entry).groups.front().pool; }

}  // namespace

/// Its entry, or else the quickest, of each number of devices in its pool; of shares, only those that are quicker than all
/// smaller ones.
SlotJob Slots::told(const sim::QueueView& view, sim::JobSlot slot) const {
  const sim::QueueJob& job = view.jobs[slot];
  const sim::PoolId pool = pool_of(job);
  const sim::WorkLeft left = job.left_at(view.now_s);
  SlotJob told{.deadline_s = job.job.submit_s + job.job.deadline_s};
  for (int entry = 0; entry < static_cast<int>(job.menu.ranked.size()); ++entry) {
    const sim::Configuration& c = configuration_of(job, entry);
    const bool single = c.groups.size() == 1 && c.groups.front().pool == pool && sim::could_ever_fit(*view.cluster, c);
    if (single || entry == job.first_fitting_entry)
      told.sizes.push_back({entry, static_cast<int>(c.workers_of(pool)), expected_remaining_s(job, entry, left)});
  }
  std::ranges::stable_sort(told.sizes, {}, [](const SlotSize& s) { return std::pair(s.devices, s.left_s); });
  std::vector<SlotSize> kept;
  for (const SlotSize& size : told.sizes) {
    if (!kept.empty() && kept.back().devices == size.devices) {
      if (size.entry == jobs_.of(slot)) kept.back() = size;  // as quick as the other but for rounding, or not worth a switch
      continue;
    }
    const bool quicker = kept.empty() || size.left_s < kept.back().left_s;
    if (quicker || parameters_.discipline == SlotDiscipline::edf_largest) kept.push_back(size);
  }
  told.sizes = std::move(kept);
  return told;
}

void Slots::read(const sim::QueueView& view) {
  const auto is = [](sim::JobSlot slot) { return [slot](const Member& member) { return member.slot == slot; }; };
  for (const sim::JobSlot slot : view.queued) {
    if (const auto member = std::ranges::find_if(members_, is(slot)); member != members_.end()) {
      // It has come back with another menu, of which nothing is planned.
      if (jobs_.of(slot) < 0 && std::exchange(member->entry, -1) >= 0) due_s_ = std::min(due_s_, view.now_s);
      continue;
    }
    if (std::ranges::any_of(joining_, is(slot))) continue;
    joining_.push_back({.slot = slot, .number = view.jobs[slot].number});
  }
  for (const sim::JobSlot slot : view.ended) {
    ended_ = std::erase_if(members_, is(slot)) > 0 || ended_;
    std::erase_if(joining_, is(slot));
  }
}

/// Somebody holds devices and does not run yet, or no more.
bool Slots::is_switching(const sim::QueueView& view) const {
  return std::ranges::any_of(members_, [&](const Member& member) {
    const sim::JobState state = view.jobs[member.slot].service.state;
    return state == sim::JobState::starting || state == sim::JobState::checkpointing;
  });
}

/// By deadline, each beside those before it. Whether all are in time.
bool Slots::plan(std::vector<Member>& members, double now_s) {
  std::ranges::sort(members, {}, [](const Member& m) { return std::pair(m.job.deadline_s, m.number); });
  free_.clear();
  for (const int devices : capacity_) free_.push_back({{now_s, devices}});
  bool in_time = true;
  for (Member& member : members) {
    SlotSteps& free = free_[member.pool];
    member.plan = plan_in_slots(member.job, free, parameters_.slot_s);
    free = without(free, member.plan);
    in_time = in_time && member.plan.finish_s <= member.job.deadline_s;
  }
  return in_time;
}

/// Those who have come since the last plan, all or none. Who has no deadline is never turned away.
void Slots::admit(const sim::QueueView& view, sim::QueueAnswer& answer) {
  if (!joining_.empty()) {
    std::vector<Member> all = members_;
    all.insert(all.end(), joining_.begin(), joining_.end());
    const bool in_time = plan(all, view.now_s);
    for (Member& member : joining_) {
      if (in_time || member.job.deadline_s == sim::kNever)
        members_.push_back(std::move(member));
      else
        answer.rejects.push_back(member.slot);
    }
    joining_.clear();
  }
  plan(members_, view.now_s);
}

/// Whoever holds nothing comes first; then, as in their code, whose plan takes most device-seconds more for each device.
void Slots::give_rest(double now_s) {
  while (true) {
    struct Best {
      double worth = -sim::kNever;
      Member* member = nullptr;
      SlotSize size;
      SlotPlan plan;
      SlotSteps free;
    } best;
    for (Member& member : members_) {
      const auto larger = std::ranges::upper_bound(member.job.sizes, member.devices, {}, &SlotSize::devices);
      if (larger == member.job.sizes.end() || larger->devices - member.devices > devices_at(free_[member.pool], now_s)) continue;
      const SlotSteps beside = changed(free_[member.pool], member.plan, +1);
      SlotPlan plan = plan_in_slots(member.job, beside, parameters_.slot_s, *larger);
      const double more = (plan.device_s() - member.plan.device_s()) / (larger->devices - member.devices);
      const double worth = member.devices == 0 ? sim::kNever : more;
      if (best.member != nullptr && worth <= best.worth) continue;
      best = {worth, &member, *larger, std::move(plan), beside};
    }
    if (best.member == nullptr) return;
    free_[best.member->pool] = without(best.free, best.plan);
    best.member->plan = std::move(best.plan);
    best.member->entry = best.size.entry;
    best.member->devices = best.size.devices;
  }
}

void Slots::share(const sim::QueueView& view, sim::QueueAnswer& answer) {
  admit(view, answer);
  for (Member& member : members_) {
    const SlotSize* const size = size_within(member.job, devices_at(member.plan.steps, view.now_s));
    member.devices = size != nullptr ? size->devices : 0;
    member.entry = size != nullptr ? size->entry : -1;
  }
  give_rest(view.now_s);
  due_s_ = sim::kNever;
  for (const Member& member : members_) {
    if (member.devices > 0) due_s_ = std::min(due_s_, member.plan.until_s);
    for (const SlotStep& step : member.plan.steps)
      if (step.from_s > view.now_s) due_s_ = std::min(due_s_, step.from_s);
  }
}

void Slots::by_deadline() {
  std::ranges::move(joining_, std::back_inserter(members_));
  joining_.clear();
  std::ranges::sort(members_, {}, [](const Member& m) { return std::pair(m.job.deadline_s, m.number); });
  std::vector<int> left = capacity_;
  for (Member& member : members_) {
    const SlotSize* const size = size_within(member.job, left[member.pool]);
    member.entry = size != nullptr ? size->entry : -1;
    left[member.pool] -= size != nullptr ? size->devices : 0;
  }
}

void Slots::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  if (capacity_.empty()) capacity_ = pool_sizes(*view.cluster);
  jobs_.update(view);
  read(view);
  const bool shares = parameters_.discipline == SlotDiscipline::shares;
  if (!joining_.empty() || (ended_ && !shares)) due_s_ = std::min(due_s_, view.now_s);
  // Of shares, who ends keeps its devices to the end of its slot, but no longer: it may have been planned for much longer.
  if (ended_ && shares) due_s_ = std::min(due_s_, drawn_up_s_ + to_slot_end(view.now_s - drawn_up_s_, parameters_.slot_s));
  // A slot begins when all that was planned runs: where switching takes longer than a slot, nobody would get any further.
  const bool was_switching = std::exchange(switching_, is_switching(view));
  if (switching_ || was_switching) planned_s_ = view.now_s;
  const double due_s = std::max(due_s_, planned_s_ + parameters_.slot_s);
  if (view.now_s >= due_s) {
    for (std::vector<Member>* const list : {&members_, &joining_})
      for (Member& member : *list) {
        member.pool = static_cast<std::size_t>(pool_of(view.jobs[member.slot]));
        member.job = told(view, member.slot);
      }
    planned_s_ = drawn_up_s_ = view.now_s;
    ended_ = false;
    due_s_ = sim::kNever;
    shares ? share(view, answer) : by_deadline();
    for (const Member& member : members_)
      if (jobs_.of(member.slot) != member.entry) jobs_.set(view, member.slot, member.entry);
    if (due_s_ != sim::kNever) answer.wake_at_s = std::max(due_s_, planned_s_ + parameters_.slot_s);
  } else if (due_s != sim::kNever) {
    answer.wake_at_s = due_s;
  }
  jobs_.act(view, answer);
}

}  // namespace rehearse::policies
