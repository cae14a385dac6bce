// What past runs are worth: the scenario's policies for several sizes of the history and several errors of the model.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "experiments/studies/studies.hpp"

namespace rehearse::scenarios {

namespace {

class LearningCurve final : public Study {
 public:
  LearningCurve(std::vector<int> runs, std::vector<double> model_errors)
      : runs_(std::move(runs)), model_errors_(std::move(model_errors)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    StudyResult result;
    report::Table table = empty_table(scenario);
    for (const double model_error : model_errors_) {
      for (const int runs : runs_) {
        scenario.world_errors = workloads::WorldErrors::scaled(model_error);
        scenario.history.runs = runs;
        const PolicyRuns all = run_policies(scenario, options, folder);
        for (const std::string& name : all.subfolders) folder.drop_subfolder(name);
        add_rows(report::compare(all.results, scenario.baseline), {model_error, runs}, scenario, table, result);
      }
    }
    result.tables.push_back(std::move(table));
    result.saving = {.table = "learning", .column = "saving_percent"};
    result.notes.emplace_back(
        "Break-even: over how many jobs of a model its profiling must be spread until the policy costs what the baseline does; "
        "\"-\" "
        "where it saves nothing even with free profiling.");
    return result;
  }

 private:
  struct Cell {
    double model_error;
    int runs;
  };

  static report::Table empty_table(const Scenario& scenario) {
    return {.name = "learning",
            .title = fmt::format("Against {}, by error of the model and past runs of each model and instance", scenario.baseline),
            .columns = {{"model_error", "model error", "{:g}"},
                        {"runs", "runs", "{:g}"},
                        {"policy", "policy"},
                        {"effective_cost_usd", "effective, $", "{:.2f}"},
                        {"profiling_cost_usd", "profiling, $", "{:.2f}"},
                        {"saving_percent", "saving, %", "{:.1f}"},
                        {"saving_percent_ci95_low", ""},
                        {"saving_percent_ci95_high", ""},
                        {"saving_without_profiling_percent", "without profiling, %", "{:.1f}"},
                        {"limits_broken", "limits broken", "{:.3g}"},
                        {"deadline_met_fraction", "deadlines", "{:.3f}"},
                        {"accuracy_met_fraction", "accuracy", "{:.3f}"},
                        {"break_even_jobs", "break-even, jobs", "{:.0f}"}}};
  }

  static void add_rows(const std::vector<report::SummaryRow>& rows, const Cell& cell, const Scenario& scenario,
                       report::Table& table, StudyResult& result) {
    double baseline_usd = std::numeric_limits<double>::quiet_NaN();
    for (const report::SummaryRow& row : rows)
      if (row.policy == scenario.baseline && row.ok) baseline_usd = cost_without_profiling(row);
    for (const report::SummaryRow& row : rows) {
      if (!row.ok) {
        result.policy_failed = true;
        result.notes.push_back(fmt::format("model error {:g}, {} runs: policy \"{}\" failed: {}", cell.model_error, cell.runs,
                                           row.policy, row.reason));
        continue;
      }
      const report::Estimate saving = row.of("saving_percent");
      const double profiling_usd = row.of("profiling_cost_usd").mean;
      table.rows.push_back(
          {cell.model_error, static_cast<double>(cell.runs), row.policy, row.of("effective_cost_usd").mean, profiling_usd,
           saving.mean, saving.ci95_low, saving.ci95_high, row.of("saving_without_profiling_percent").mean,
           row.of("limits_broken").mean, row.of("deadline_met_fraction").mean, row.of("accuracy_met_fraction").mean,
           profiling_usd > 0
               ? break_even_jobs(baseline_usd, cost_without_profiling(row), profiling_usd, scenario.profiling_reuse_jobs)
               : std::numeric_limits<double>::quiet_NaN()});
    }
  }

  static double cost_without_profiling(const report::SummaryRow& row) {
    return row.of("effective_cost_usd").mean - row.of("profiling_cost_usd").mean;
  }

  std::vector<int> runs_;
  std::vector<double> model_errors_;
};

}  // namespace

double break_even_jobs(double baseline_usd, double policy_usd, double profiling_usd, double reuse_jobs) {
  const double saved_usd = baseline_usd - policy_usd;
  return saved_usd > 0 ? reuse_jobs * profiling_usd / saved_usd : std::numeric_limits<double>::quiet_NaN();
}

std::unique_ptr<StudyParameters> read_learning_curve(sim::ObjectReader& in, const Paths&, Scenario& scenario,
                                                     sim::Mistakes& mistakes) {
  std::vector<int> runs = read_integers(in, "runs", sim::between(1, 1e5), {5, 10, 20, 50, 100, 200, 500}, mistakes);
  std::vector<double> model_errors = read_numbers(in, "model_errors", sim::between(0, 2), {0, 0.1}, mistakes);
  if (!scenario.history.own.empty()) in.value().refuse("no \"history\" of a file: this study profiles anew", mistakes);
  return std::make_unique<LearningCurve>(std::move(runs), std::move(model_errors));
}

}  // namespace rehearse::scenarios
