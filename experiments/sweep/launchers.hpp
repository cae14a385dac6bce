// Sweeps on other machines: as a job array of Slurm, or by GNU parallel over hosts.
#pragma once

#include <string>
#include <vector>

#include "experiments/sweep/sweep.hpp"

namespace rehearse::scenarios {

struct TaskSettings {
  std::string folder;                ///< TaskFolder's, seen by all machines under this path; removed when all is done
  std::vector<std::string> command;  ///< runs one task: the program and its arguments, to which "--task FOLDER/N" is added
  int tasks = 0;                     ///< at most; 0: one for every kRunsInTask runs, at most kMostTasks
  int processes = 1;                 ///< of one task
  std::string label;                 ///< of the job
  std::string hosts = ":";           ///< as GNU parallel's --sshlogin has them
};

inline constexpr int kRunsInTask = 50, kMostTasks = 1000;  // Slurm's MaxArraySize is 1001 by default

/// Runs in tasks of a job array; rows are kept as tasks end. What a killed task leaves undone becomes another array. An array of
/// an earlier start is waited for first. When interrupted (false), the array goes on by itself.
/// Throws InputError when Slurm refuses the job, or when an array ends without one more row.
bool run_by_slurm(std::vector<PlannedRun> runs, const TaskSettings& settings, const KeepRows& keep);

/// Likewise by GNU parallel, which is stopped when interrupted.
bool run_by_parallel(std::vector<PlannedRun> runs, const TaskSettings& settings, const KeepRows& keep);

}  // namespace rehearse::scenarios
