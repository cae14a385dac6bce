// Configure strategies on a table of measured runs: what they choose when a part of the table is their past runs, and what the
// whole table knows about it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "experiments/run/map_processes.hpp"
#include "experiments/studies/studies.hpp"
#include "experiments/studies/table_policies.hpp"
#include "traces/histories/history_list.hpp"

namespace rehearse::scenarios {

namespace {

using policies::PastRun;
using policies::RunTable;
using policies::TableJob;

struct Grid {
  std::vector<double> fractions, floors, deadlines, reuses;
};

/// A pair of limits of the grid: indices into its lists.
struct Cell {
  std::size_t floor = 0, deadline = 0;
};

struct Jobs {
  TableQuestion question;
  std::vector<Cell> cells;  ///< of each job
  std::size_t left_out = 0;
};

struct TaskQuantiles {
  std::vector<double> accuracies, times_s;
  TaskQuantiles(const RunTable& table, std::size_t task) : target(table.tasks()[task].target_accuracy) {
    for (std::size_t option = 0; option < table.options().size(); ++option) {
      const policies::TableOutcome* outcome = table.outcome(task, option);
      if (outcome == nullptr) continue;
      accuracies.push_back(outcome->accuracy);
      times_s.push_back(outcome->time_s);
    }
  }
  policies::TableLimits at(double floor, double deadline) const {
    return {.target_accuracy = target > 0 ? target : report::quantile(accuracies, floor),
            .deadline_s = report::quantile(times_s, deadline)};
  }
  double target = 0;  ///< the task's; 0: none
};

/// For every task every pair of limits that some option keeps.
Jobs all_jobs(const RunTable& table, const Grid& grid) {
  Jobs jobs{.question = {.table = &table}};
  for (std::size_t task = 0; task < table.tasks().size(); ++task) {
    const TaskQuantiles quantiles(table, task);
    for (std::size_t f = 0; f < grid.floors.size(); ++f) {
      for (std::size_t d = 0; d < grid.deadlines.size(); ++d) {
        const TableJob job{.task = task, .limits = quantiles.at(grid.floors[f], grid.deadlines[d])};
        if (feasible_options(table, job).empty()) {
          ++jobs.left_out;
          continue;
        }
        jobs.question.jobs.push_back(job);
        jobs.cells.push_back({f, d});
      }
    }
    jobs.question.typical.push_back(
        {task, quantiles.at(grid.floors[(grid.floors.size() - 1) / 2], grid.deadlines[(grid.deadlines.size() - 1) / 2])});
  }
  jobs.question.fixed_option = best_fixed_option(table, jobs.question.jobs);
  return jobs;
}

/// TableAnswers of one repetition as text, one after the other: what each task's past runs cost, then one number a job, -1 for
/// none.
std::string to_text(const RunTable& table, const std::vector<TablePolicy::Answer>& answers) {
  std::string text;
  for (const TablePolicy::Answer& answer : answers) {
    for (std::size_t task = 0; task < table.tasks().size(); ++task)
      text += fmt::format("{} ", money_of_runs_usd(table, answer.measured, task));
    for (const policies::TableChoice& choice : answer.choices)
      text += fmt::format("{} ", choice ? static_cast<std::int64_t>(*choice) : -1);
  }
  return text;
}

/// Of one policy with one share of the past runs.
struct TableAnswers {
  TableChoices choices;
  std::vector<std::vector<double>> past_runs_usd;  ///< of each repetition, each task's
};

class MeasuredRuns final : public Study {
 public:
  MeasuredRuns(RunTable table, Grid grid, std::vector<TablePolicy> policies)
      : table_(std::move(table)), grid_(std::move(grid)), policies_(std::move(policies)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    const Jobs jobs = all_jobs(table_, grid_);
    if (jobs.cells.empty())
      throw sim::InputError(sim::Mistake{.pointer = "/study", .expected = "limits of which some option keeps a pair"});
    const auto work = [&](int repetition) { return answers_of(repetition, scenario, jobs.question); };
    const std::vector<std::string> texts =
        map_processes(scenario.repetitions, processes_of(options), folder, work,
                      {.wanted = options.progress, .one_task = "repetition", .one_part = "repetition"});
    const std::vector<TableAnswers> answers = read_answers(texts, jobs.cells.size());
    StudyResult result;
    result.tables.push_back(scores(scenario, jobs, answers));
    result.tables.push_back(scores_by_limits(jobs, answers));
    result.tables.push_back(net_savings(scenario, jobs, answers));
    result.saving = {.table = "measured-runs", .column = "saving_percent"};
    const policies::TableOption& fixed = table_.options()[jobs.question.fixed_option];
    result.notes = {
        fmt::format("{} jobs: {} tasks x {} floors x {} deadlines, less {} that no option keeps; {} options; {} repetitions.",
                    jobs.cells.size(), table_.tasks().size(), grid_.floors.size(), grid_.deadlines.size(), jobs.left_out,
                    table_.options().size(), scenario.repetitions),
        fmt::format("manual: the one option that keeps the limits of the most jobs, known in hindsight: {}.", to_string(fixed))};
    return result;
  }

 private:
  std::string answers_of(int repetition, const Scenario& scenario, const TableQuestion& question) const {
    std::vector<TablePolicy::Answer> answers;
    for (const double fraction : grid_.fractions)
      for (const TablePolicy& policy : policies_)
        answers.push_back(policy.choose(
            question,
            {.fraction = fraction, .seed = scenario.seed, .policy_seed = scenario.policy_seed, .repetition = repetition}));
    return to_text(table_, answers);
  }

  /// By fraction, then policy.
  std::vector<TableAnswers> read_answers(const std::vector<std::string>& texts, std::size_t jobs) const {
    std::vector<TableAnswers> answers(grid_.fractions.size() * policies_.size());
    for (const std::string& text : texts) {
      std::istringstream in(text);
      for (TableAnswers& of_policy : answers) {
        std::vector<double>& usd = of_policy.past_runs_usd.emplace_back(table_.tasks().size());
        for (double& of_task : usd) in >> of_task;
        for (policies::TableChoice& choice : of_policy.choices.emplace_back(jobs)) {
          std::int64_t option = -1;
          sim::check(static_cast<bool>(in >> option), "a repetition's answers came back incomplete");
          if (option >= 0) choice = static_cast<std::size_t>(option);
        }
      }
    }
    return answers;
  }

  std::size_t place_of(std::size_t fraction, std::size_t policy) const { return fraction * policies_.size() + policy; }

  report::Table scores(const Scenario& scenario, const Jobs& jobs, const std::vector<TableAnswers>& answers) const {
    report::Table table{.name = "measured-runs",
                        .title = fmt::format("Choices from {} measured options, by the share of them that are past runs",
                                             table_.options().size()),
                        .columns = {{"history_percent", "history, %", "{:g}"},
                                    {"policy", "policy"},
                                    {"violation_percent", "violations, %", "{:.1f}"},
                                    {"none_found_percent", "none found, %", "{:.1f}"},
                                    {"regret_median_percent", "regret, %", "{:.1f}"},
                                    {"regret_p90_percent", "p90", "{:.1f}"},
                                    {"saving_percent", fmt::format("saving on {}, %", scenario.baseline), "{:.1f}"},
                                    {"saving_percent_ci95_low", ""},
                                    {"saving_percent_ci95_high", ""},
                                    {"compared_percent", "of jobs, %", "{:.0f}"},
                                    {"saving_on_manual_percent", "on manual, %", "{:.1f}"},
                                    {"compared_with_manual_percent", "of jobs, %", "{:.0f}"}}};
    std::size_t baseline = 0;
    while (policies_[baseline].name() != scenario.baseline) ++baseline;
    const TableChoices fixed = always_manual(scenario, jobs);
    for (std::size_t f = 0; f < grid_.fractions.size(); ++f) {
      for (std::size_t p = 0; p < policies_.size(); ++p) {
        const TableChoices& own = answers[place_of(f, p)].choices;
        const ChoiceScore s = score(table_, jobs.question.jobs, own);
        const ChoiceSaving on_baseline = saving(table_, jobs.question.jobs, own, answers[place_of(f, baseline)].choices);
        const ChoiceSaving on_manual = saving(table_, jobs.question.jobs, own, fixed);
        table.rows.push_back({100 * grid_.fractions[f], policies_[p].name(), s.violated, s.none, s.regret_median, s.regret_p90,
                              on_baseline.percent.mean, on_baseline.percent.ci95_low, on_baseline.percent.ci95_high,
                              on_baseline.compared, on_manual.percent.mean, on_manual.compared});
      }
    }
    return table;
  }

  static TableChoices always_manual(const Scenario& scenario, const Jobs& jobs) {
    const std::vector<policies::TableChoice> always(jobs.cells.size(), jobs.question.fixed_option);
    return TableChoices(static_cast<std::size_t>(scenario.repetitions), always);
  }

  /// What is left of the savings when the past runs are paid for.
  report::Table net_savings(const Scenario& scenario, const Jobs& jobs, const std::vector<TableAnswers>& answers) const {
    report::Table table{
        .name = "measured-runs-net",
        .title = "Saving on manual less the price of the past runs, by how many jobs share a task's",
        .columns = {{"history_percent", "history, %", "{:g}"}, {"policy", "policy"}, {"past_runs_usd", "past runs, $ a task"}}};
    for (const double reuse : grid_.reuses)
      table.columns.push_back({fmt::format("net_saving_at_{:g}_percent", reuse), fmt::format("at {:g}, %", reuse), "{:.1f}"});
    const TableChoices fixed = always_manual(scenario, jobs);
    for (std::size_t f = 0; f < grid_.fractions.size(); ++f) {
      for (std::size_t p = 0; p < policies_.size(); ++p) {
        const TableAnswers& own = answers[place_of(f, p)];
        double usd = 0;
        for (const std::vector<double>& of_repetition : own.past_runs_usd)
          for (const double of_task : of_repetition) usd += of_task;
        usd /= static_cast<double>(own.past_runs_usd.size() * table_.tasks().size());
        std::vector<report::Cell> row{100 * grid_.fractions[f], policies_[p].name(), usd};
        for (const double reuse : grid_.reuses)
          row.emplace_back(saving(table_, jobs.question.jobs, own.choices, fixed, {.usd = own.past_runs_usd, .reuse_jobs = reuse})
                               .percent.mean);
        table.rows.push_back(std::move(row));
      }
    }
    return table;
  }

  report::Table scores_by_limits(const Jobs& jobs, const std::vector<TableAnswers>& answers) const {
    report::Table table{.name = "measured-runs-by-limits",
                        .columns = {{"history_percent", ""},
                                    {"policy", ""},
                                    {"floor_quantile", ""},
                                    {"deadline_quantile", ""},
                                    {"jobs", ""},
                                    {"violation_percent", ""},
                                    {"none_found_percent", ""},
                                    {"regret_median_percent", ""},
                                    {"regret_p90_percent", ""}}};
    for (std::size_t f = 0; f < grid_.fractions.size(); ++f)
      for (std::size_t p = 0; p < policies_.size(); ++p)
        for (std::size_t floor = 0; floor < grid_.floors.size(); ++floor)
          for (std::size_t deadline = 0; deadline < grid_.deadlines.size(); ++deadline)
            add_cell(jobs, answers[place_of(f, p)].choices, {floor, deadline},
                     {100 * grid_.fractions[f], policies_[p].name(), grid_.floors[floor], grid_.deadlines[deadline]}, table);
    return table;
  }

  void add_cell(const Jobs& jobs, const TableChoices& choices, const Cell& cell, std::vector<report::Cell> row,
                report::Table& table) const {
    std::vector<TableJob> here;
    TableChoices chosen(choices.size());
    for (std::size_t j = 0; j < jobs.cells.size(); ++j) {
      if (jobs.cells[j].floor != cell.floor || jobs.cells[j].deadline != cell.deadline) continue;
      here.push_back(jobs.question.jobs[j]);
      for (std::size_t r = 0; r < choices.size(); ++r) chosen[r].push_back(choices[r][j]);
    }
    if (here.empty()) return;
    const ChoiceScore s = score(table_, here, chosen);
    for (const double value : {static_cast<double>(here.size()), s.violated, s.none, s.regret_median, s.regret_p90})
      row.emplace_back(value);
    table.rows.push_back(std::move(row));
  }

  RunTable table_;
  Grid grid_;
  std::vector<TablePolicy> policies_;
};

std::vector<PastRun> read_table(sim::JsonValue value, const std::string& path, const traces::HistoryFormat& format,
                                Scenario& scenario, sim::Mistakes& mistakes) {
  try {
    traces::HistoryList list = format.read(path);
    add_input(list.report, value.text(), scenario);
    return std::move(list.runs);
  } catch (const sim::InputError& error) {
    add_at(value, error, mistakes);
    return {};
  }
}

}  // namespace

std::unique_ptr<StudyParameters> read_measured_runs(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                    sim::Mistakes& mistakes) {
  std::vector<std::string> formats;
  for (const traces::HistoryFormat& format : traces::history_formats()) formats.emplace_back(format.name);
  const traces::HistoryFormat& format = traces::history_formats()[in.choice("format", formats, 0)];
  const std::size_t epochs = in.choice("epochs", std::vector<std::string>{"same-end", "choice", "to-target"}, 0);
  const policies::RunTableSetup setup{.to_target = epochs == 2, .epochs_are_chosen = epochs == 1};
  Grid grid{.fractions = read_numbers(in, "fractions", {.low = 0, .high = 1, .low_excluded = true}, {0.2, 0.5, 1}, mistakes),
            .floors = read_numbers(in, "floors", sim::between(0, 1), {0.1, 0.3, 0.5, 0.7, 0.9}, mistakes),
            .deadlines = read_numbers(in, "deadlines", sim::between(0, 1), {0.1, 0.3, 0.5, 0.7, 0.9}, mistakes),
            .reuses = read_numbers(in, "reuses", {.low = 1, .high = 1e12}, {50, 500, 5000}, mistakes)};
  if (setup.to_target) {
    if (in.has("floors")) in.child("floors")->refuse("no floors beside epochs to-target: a run's target is the floor", mistakes);
    grid.floors = {std::nan("")};
  }
  std::vector<TablePolicy> policies;
  for (const policies::PolicySpec& spec : scenario.policies) {
    try {
      policies.emplace_back(spec);
      if (setup.to_target && !policies.back().takes_targets())
        in.value().refuse(
            fmt::format("policies that take past runs as they come: \"{}\" searches for accuracies at given epochs, and epochs "
                        "to-target have none (\"probing\": \"random\" takes the shared runs)",
                        spec.name),
            mistakes);
    } catch (const sim::InputError& error) {
      add_at(in.value(), error, mistakes);
    }
  }
  const auto file = in.required("table", "a CSV file of measured runs");
  if (!file) return nullptr;
  const std::string path = paths.resolve(*file, mistakes, format.source);
  if (path.empty()) return nullptr;
  const std::vector<PastRun> runs = read_table(*file, path, format, scenario, mistakes);
  if (runs.empty()) return nullptr;
  try {
    return std::make_unique<MeasuredRuns>(RunTable(runs, setup), std::move(grid), std::move(policies));
  } catch (const sim::InputError& error) {
    for (sim::Mistake mistake : error.mistakes()) {
      mistake.file = path;
      mistake.line += 1;  // of the header
      mistakes.add(std::move(mistake));
    }
    return nullptr;
  }
}

}  // namespace rehearse::scenarios
