// One model on one CPU of the study of threads: its step, and what planners make of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policies/threads/planner.hpp"
#include "policies/threads/regression.hpp"
#include "report/plots/figure.hpp"
#include "report/table.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

struct ThreadCase {
  std::string machine, job, model;
  std::shared_ptr<const sim::OpGraph> graph;
  const sim::Device* cpu = nullptr;
  double batch = 1, steps = 1;
  std::uint64_t seed = 0;
  int repetition = 0;
  double noise = 0, counter_noise = 0;
  workloads::CpuStepModel step;

  /// A bench of its own for each purpose, so that none moves what another one sees.
  policies::StepBench bench(std::string_view purpose) const;
  double step_s(const sim::CpuPlan& plan, sim::CpuTimeline* timeline = nullptr) const;
  /// Of the classes' true times at believed best threads, over those at true best ones; both without any change of teams.
  double over_exhaustive_percent(const sim::CpuBelief& truth, const sim::CpuBelief& belief) const;
};

/// What one planner reached.
struct ThreadOutcome {
  std::string strategy;
  double step_s = 0;
  int profiling_steps = 0;
  double profiling_s = 0;
};

report::Table strategies_table();
void add_strategy_row(const ThreadCase& one, double recommended_s, const ThreadOutcome& outcome, report::Table& table);

report::Table estimators_table();
void add_estimator_row(const ThreadCase& one, const std::string& estimator, const policies::StepBench& bench,
                       const sim::CpuBelief& truth, const sim::CpuBelief& belief, report::Table& table);

/// A row for each class of operations.
report::Table classes_table();
void add_class_rows(const ThreadCase& one, const sim::CpuBelief& truth, const std::vector<sim::CpuBelief>& believed,
                    const sim::CpuPlan& plan, report::Table& table);

/// Seconds against threads, of each kind of operation the class that takes most of a step; only written.
report::Table curves_table();
void add_curves(const ThreadCase& one, const sim::CpuBelief& truth, report::Table& table);

/// How time goes against threads: unimodal, best inside.
report::Table shapes_table();
void add_shape_row(const ThreadCase& one, const sim::CpuBelief& truth, report::Table& table);

/// The convolutions whose best numbers of threads were published (docs/evidence/threads.md).
report::Table anchors_table();
void add_anchor_rows(const std::string& machine, const sim::Device& cpu, report::Table& table);

/// Threads chosen by operation, and what ran beside what.
report::Figure threads_figure(const ThreadCase& one, const sim::CpuBelief& truth, const sim::CpuPlan& plan);
report::Figure gantt_figure(const ThreadCase& one, const sim::CpuTimeline& timeline);
std::string timeline_text(const ThreadCase& one, const sim::CpuTimeline& timeline);

}  // namespace rehearse::scenarios
