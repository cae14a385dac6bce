// The folder by which a sweep and its tasks on other machines know of each other. All of them see it under one path.
//   N.runs            the runs of task N: point, policy, repetition and key of each
//   N.HOST-PID.part   rows that an attempt at task N has made so far; several attempts may have one each
//   N.rows            all rows of task N, there when whole
#pragma once

#include <string>
#include <vector>

#include "experiments/sweep/sweep.hpp"

namespace rehearse::scenarios {

class TaskFolder {
 public:
  explicit TaskFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  bool exists() const;

  /// Makes the folder, which must not exist, with runs shared out over at most `tasks` tasks: the number of them. Throws
  /// InputError.
  int write(const std::vector<PlannedRun>& runs, int tasks) const;
  /// Rows of the tasks that have ended since the last call; with `parts`, of all that have not as well.
  std::vector<SweepRow> collect(bool parts);
  /// Whether every task has ended.
  bool is_whole() const;
  void remove() const;

 private:
  std::string path_;
  std::vector<std::string> collected_;  ///< names of files
};

/// Does the runs of one task, but for those that an earlier attempt has ended, and leaves its rows. Throws InputError when the
/// plan is no longer that of the folder, or a file cannot be written. False when interrupted: its rows so far are in a part.
/// Interrupts must be held (HeldInterrupts).
bool run_task(const SweepPlan& plan, const std::string& folder, int task, int processes);

}  // namespace rehearse::scenarios
