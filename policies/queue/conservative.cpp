#include <algorithm>

#include "policies/queue/backfill_queue.hpp"
#include "policies/queue/durations.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

namespace {

constexpr double kOutrun = 0.1;

}  // namespace

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

/// From what is free now. A job that has outrun what was believed is expected to go on a tenth as long again.
void Conservative::rebuild(Line& line, Plan& plan, double now_s) {
  plan.available.reset(now_s, free_of(line));
  for (const OrderedQueue::Item& release : line.releases) {
    const double outrun_s = std::max(1.0, kOutrun * (now_s - release.key));
    const double end_s = release.key > now_s ? release.key : sim::on_date_grid(now_s + outrun_s);
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
