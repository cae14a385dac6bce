// A function of a number, worked out in forked children: what each returns comes back through a file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/run/progress.hpp"
#include "experiments/run/results_folder.hpp"

namespace rehearse::scenarios {

/// `work(0)` to `work(tasks - 1)`, at most `processes` at once; the texts that they return, in this order. Files lie in a
/// subfolder of the results folder meanwhile. Throws CheckFailed when a child ends otherwise than by returning, Interrupted.
/// `progress`: how it is
/// shown; the number of tasks is set here. Interrupts must be held (HeldInterrupts).
std::vector<std::string> map_processes(int tasks, int processes, const ResultsFolder& folder,
                                       const std::function<std::string(int task)>& work, ProgressSetup progress = {});

}  // namespace rehearse::scenarios
