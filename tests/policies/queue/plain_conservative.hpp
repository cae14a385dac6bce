// Conservative backfilling as its definition reads: when something was let go of early, every reservation is given back and
// looked for again. What the discipline itself, which leaves out searches that cannot find anything, is compared with.
#pragma once

#include <algorithm>

#include "policies/queue/backfill_queue.hpp"
#include "policies/queue/planned_devices.hpp"
#include "sim/base/units.hpp"

class PlainConservative final : public rehearse::policies::BackfillQueue {
 public:
  using BackfillQueue::BackfillQueue;

 private:
  struct Plan {
    rehearse::policies::Availability available;
    bool early = false;
  };
  static double end_of(const Waiting& job) { return rehearse::sim::on_date_grid(job.reserved.start_s + job.need_s); }
  Plan& plan_of(const Line& line) {
    if (plans_.size() <= line.pool) plans_.resize(line.pool + 1);
    return plans_[line.pool];
  }
  void give_back(Line& line, double from_s, double to_s, int devices) {
    plan_of(line).available.add(from_s, to_s, devices);
    plan_of(line).early = true;
  }
  void let_go_early(Line& line, double expected_s, const Held& held) override {
    give_back(line, -rehearse::sim::kNever, expected_s, held.devices);
  }
  void give_up(Line& line, const Waiting& job) override {
    if (job.reserved.start_s != rehearse::sim::kNever) give_back(line, job.reserved.start_s, end_of(job), job.devices);
  }

  void serve(Line& line, const rehearse::sim::QueueView& view, rehearse::sim::QueueAnswer& answer) override {
    const double now_s = view.now_s;
    rehearse::policies::Availability& available = plan_of(line).available;
    std::vector<Waiting> jobs(line.waiting.begin(), line.waiting.end());
    const std::size_t planned = std::min(jobs.size(), static_cast<std::size_t>(parameters().depth));
    available.advance(now_s);
    int at_hand = available.free_now();
    for (std::size_t w = 0; w < planned; ++w)
      if (jobs[w].reserved.start_s <= now_s) at_hand += jobs[w].devices;
    if (at_hand != free_of(line)) {
      available.reset(now_s, free_of(line));
      for (const auto& release : line.releases)
        if (release.key != rehearse::sim::kNever)
          available.add(
              release.key > now_s ? release.key : rehearse::sim::on_date_grid(now_s + std::max(1.0, 0.1 * (now_s - release.key))),
              rehearse::sim::kNever, held(release.slot).devices);
      for (Waiting& job : jobs) job.reserved.start_s = rehearse::sim::kNever;
    }
    for (std::size_t w = 0; w < planned; ++w) {
      Waiting& job = jobs[w];
      if (job.reserved.start_s != rehearse::sim::kNever) {
        if (!plan_of(line).early || job.reserved.start_s <= now_s) continue;
        available.add(job.reserved.start_s, end_of(job), job.devices);
      }
      job.reserved.start_s = available.earliest(now_s, {.for_s = job.need_s, .devices = job.devices});
      if (job.reserved.start_s != rehearse::sim::kNever) available.add(job.reserved.start_s, end_of(job), -job.devices);
    }
    plan_of(line).early = false;
    line.waiting.clear();
    for (const Waiting& job : jobs) {
      const bool due = job.reserved.start_s <= now_s;
      if (due && fits_now(view, job))
        start(line, job, view, answer);
      else
        line.waiting.push_back(job);
      if (!due) answer.wake_at_s = std::min(answer.wake_at_s, job.reserved.start_s);
    }
    if (!line.waiting.empty()) line.head_start_s = line.waiting.front().reserved.start_s;
  }

  std::vector<Plan> plans_;  // by pool
};
