// Runs of a sweep on this machine's processors.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "experiments/sweep/plan.hpp"
#include "experiments/sweep/row.hpp"

namespace rehearse::scenarios {

/// Keeps rows for good before it returns.
using KeepRows = std::function<void(std::span<const SweepRow> rows)>;

/// Every run, at most `processes` at once (0: as many as there are processors), each row handed to `keep` as soon as the run has
/// ended. A child does several runs, one after the other, and loads a point's scenario once for those that follow one another;
/// one that ends its process is a killed row, and another child goes on behind it. False when interrupted: no child is left, and
/// what had ended is kept.
bool run_here(const SweepPlan& plan, std::vector<PlannedRun> runs, int processes, const KeepRows& keep);

}  // namespace rehearse::scenarios
