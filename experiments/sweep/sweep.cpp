#include "experiments/sweep/sweep.hpp"

#include <chrono>

namespace rehearse::scenarios {

SweepSummary run_sweep(const SweepPlan& plan, const SweepOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  SweepSummary summary;
  SweepDatabase database(options.database, options.is_local);
  std::vector<PlannedRun> missing;
  {
    const std::vector<PlannedRun> all = plan.runs();
    const std::string program_before = database.program();
    database.set_plan(plan, all);
    if (options.retry) database.forget_failed();
    const std::set<std::string> there = database.keys();
    summary.is_other_program = !there.empty() && program_before != SweepPlan::program();
    std::set<std::string> seen;
    for (const PlannedRun& run : all) {
      if (!seen.insert(run.key).second) continue;
      if (there.contains(run.key))
        ++summary.there;
      else
        missing.push_back(run);
    }
    summary.planned = all.size();
    summary.distinct = seen.size();
  }
  const std::size_t wanted = missing.size();
  summary.interrupted = !options.launch(plan, std::move(missing), [&](std::span<const SweepRow> rows) {
    database.add(rows);
    for (const SweepRow& row : rows) {
      summary.run_s += row.run_s;
      summary.cpu_s += row.cpu_s;
    }
    summary.ran += rows.size();
    options.on_progress(summary.ran, wanted);
  });
  summary.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  summary.counts = database.counts();
  if (!summary.interrupted && !options.csv.empty()) database.write_csv(options.csv);
  return summary;
}

}  // namespace rehearse::scenarios
