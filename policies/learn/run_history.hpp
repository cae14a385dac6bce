// Finished training runs, from which the predictors learn: as measured, with noise, and nothing of the simulator's truth.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/training/past_run.hpp"

namespace rehearse::policies {

using workloads::PastRun;

class RunHistory {
 public:
  RunHistory() = default;
  /// Throws InputError with every mistake; `line` is the run's number, from 1.
  explicit RunHistory(std::vector<PastRun> runs);

  const std::vector<PastRun>& runs() const { return runs_; }
  std::vector<PastRun> of(const sim::Profile& profile) const;
  std::vector<PastRun> on_instance(const sim::Profile& profile, std::string_view instance) const;
  /// As `on_instance`; where those are fewer than `enough`, joined by the richest other instance's, their times scaled.
  struct Gathered {
    std::vector<PastRun> runs;
    bool borrowed = false;
  };
  /// Time on instance `to` over time on instance `from`, for the same workers and batch; empty = nothing is borrowed.
  using TimeRatio = std::function<double(const std::string& from, const std::string& to)>;
  Gathered on_instance_or_borrowed(const sim::Profile& profile, std::string_view instance, std::size_t enough,
                                   const TimeRatio& ratio) const;
  /// The other instance with the most runs of the profile, of equals the first by name; empty when there is none.
  std::string richest_other_instance(const sim::Profile& profile, std::string_view instance) const;

 private:
  std::vector<PastRun> runs_;
};

}  // namespace rehearse::policies
