// Queues for replay tests.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "tests/sim/replay/toy.hpp"

namespace toy {

/// Starts whatever fits, in order of arrival, by the first entry of its menu; preempts what a test says, by job name and date.
class Greedy final : public Queue {
 public:
  std::map<double, std::vector<std::string>> preempts;
  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const JobSlot slot : view.ended) std::erase(waiting_, slot);
    for (const JobSlot slot : view.queued) waiting_.push_back(slot);
    const auto due = preempts.find(view.now_s);
    if (due != preempts.end()) {
      for (const std::string& name : due->second)
        for (JobSlot slot = 0; slot < view.jobs.size(); ++slot)
          if (view.jobs[slot].job.name == name) answer.preempts.push_back(slot);
      preempts.erase(due);
    }
    std::vector<int> free(view.free_devices.begin(), view.free_devices.end());
    std::erase_if(waiting_, [&](JobSlot slot) {
      const int entry = view.jobs[slot].first_fitting_entry;
      const auto& groups = view.jobs[slot].menu.ranked[static_cast<std::size_t>(entry)].configuration.groups;
      int& left = free[static_cast<std::size_t>(groups.front().pool)];
      if (left < groups.front().workers) return false;
      left -= groups.front().workers;
      answer.starts.push_back({.job = slot, .entry = entry});
      return true;
    });
    if (!preempts.empty()) answer.wake_at_s = preempts.begin()->first;
  }

 private:
  std::vector<JobSlot> waiting_;
};

inline Profile& profile() {
  static Profile toy{.model = "toy", .dataset = "tenths"};
  return toy;
}

/// Steps of 1 s.
inline Job stepping(std::string name, double submit_s, double steps) {
  return {.name = std::move(name), .profile = &profile(), .submit_s = submit_s, .work = Work::steps, .steps = steps};
}

}  // namespace toy
