// Jobs that wait for the ends of others. What has ended is kept by name for awaited jobs only, so that memory does not grow with
// the rest.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/jobs/job.hpp"

namespace rehearse::sim {

class Dependencies {
 public:
  /// A slot is used again after its job; the number is not.
  struct Waiter {
    JobSlot slot = 0;
    std::uint64_t number = 0;
  };
  /// What is left of `job.after`: how many have not ended, and whether one has failed. The waiter is told of the former.
  struct Left {
    int jobs = 0;
    bool failed = false;
  };
  Left wait_for(const Job& job, Waiter waiter) {
    Left left;
    for (const std::string& name : job.after) {
      const auto known = ended_.find(name);
      if (known == ended_.end()) {
        waiters_[name].push_back(waiter);
        ++left.jobs;
      } else {
        left.failed = left.failed || !known->second;
      }
    }
    return left;
  }

  /// The job has ended; who waited for it, in order. Empty unless `job.is_awaited`.
  std::vector<Waiter> ended(const Job& job, bool finished) {
    if (!job.is_awaited) return {};
    ended_.emplace(job.name, finished);
    const auto waiting = waiters_.extract(job.name);
    return waiting.empty() ? std::vector<Waiter>() : waiting.mapped();
  }

 private:
  std::unordered_map<std::string, bool> ended_;  // finished, or failed
  std::unordered_map<std::string, std::vector<Waiter>> waiters_;
};

}  // namespace rehearse::sim
