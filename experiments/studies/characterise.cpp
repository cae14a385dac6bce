// Resources and batch size together: what both do to a job on a grid, and what choosing them apart costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/studies/characterise_grid.hpp"
#include "experiments/studies/studies.hpp"
#include "policies/configure/yardsticks.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kNan;

struct CharacteriseParameters {
  std::vector<int> workers;
  std::vector<double> batch_factors, accuracy_slack, deadline_factors;
  double tolerance = 0.05;
};

/// What one way costs beyond the joint choice, over all limits under which the joint choice keeps them.
struct WayCosts {
  int points = 0, kept = 0;
  std::vector<double> extra_percent;  ///< where both keep the limits
};

class Characterise final : public Study {
 public:
  explicit Characterise(CharacteriseParameters parameters) : parameters_(std::move(parameters)) {}

  StudyResult run(Scenario& scenario, const RunOptions&, const ResultsFolder&) const override {
    AloneWorld alone(scenario);
    report::Table grid = grid_table(), monotone = monotone_table(parameters_.tolerance), batches = best_batch_table(),
                  resources = best_resources_table(), choices = choices_table(), apart = apart_table();
    StudyResult result;
    for (const sim::Job& job : scenario.jobs) {
      const GridLevels levels = grid_levels(scenario, job, parameters_.workers, parameters_.batch_factors);
      const Characteristics of = characterise(alone, job, levels);
      add_grid_rows(scenario, of, grid);
      add_monotone_rows(of, parameters_.tolerance, monotone);
      add_best_batch_rows(scenario, of, batches);
      add_best_resources_rows(scenario, of, resources);
      add_choices(alone, of, choices, apart);
      result.tables.push_back(heat_table(scenario, of));
      result.figures.push_back({fmt::format("heat-{}", file_name(job.name)), heat_figure(scenario, of)});
    }
    for (report::Table* table : {&grid, &monotone, &batches, &resources, &choices, &apart})
      result.tables.push_back(std::move(*table));
    result.notes.emplace_back(
        "Chosen apart: over the grid of floors and deadlines, where the joint choice keeps the limits. Each way starts from "
        "manual.");
    return result;
  }

 private:
  static report::Table choices_table() {
    return {.name = "choices",
            .title = {},
            .columns = {{"job", ""},
                        {"target_accuracy", ""},
                        {"deadline_factor", ""},
                        {"deadline_s", ""},
                        {"way", ""},
                        {"pool", ""},
                        {"workers", ""},
                        {"batch_size", ""},
                        {"time_s", ""},
                        {"accuracy", ""},
                        {"cost_usd", ""},
                        {"keeps_limits", ""},
                        {"extra_percent", ""}}};
  }

  static report::Table apart_table() {
    return {.name = "apart",
            .title = "Chosen apart, against chosen jointly",
            .columns = {{"job", "job"},
                        {"way", "way"},
                        {"points", "limits", "{:g}"},
                        {"kept_fraction", "kept", "{:.3f}"},
                        {"extra_percent_mean", "costs +%, mean", "{:.1f}"},
                        {"extra_percent_median", "median", "{:.1f}"},
                        {"extra_percent_max", "max", "{:.1f}"}}};
  }

  /// Every way under every floor and deadline.
  void add_choices(AloneWorld& alone, const Characteristics& of, report::Table& choices, report::Table& apart) const {
    const workloads::ProfileModel& model = alone.scenario.profile_models.of(*of.job.profile);
    const double reached = workloads::published_accuracy(*model.convergence);
    const double reference_s = workloads::reference_time_s(*of.job.profile, alone.belief);
    std::vector<std::string_view> order;
    std::map<std::string_view, WayCosts> costs;
    for (const double slack : parameters_.accuracy_slack) {
      std::vector<sim::Job> jobs;
      GridLevels levels = of.levels;
      std::vector<sim::Configuration> manuals;
      for (const double factor : parameters_.deadline_factors) {
        jobs.push_back(of.job);
        jobs.back().target_accuracy = workloads::floor_below(reached, slack);
        jobs.back().deadline_s = factor * reference_s;
        manuals.push_back(alone.manual(jobs.back()));
        const sim::Group& group = manuals.back().groups.front();
        levels.include({.pool = group.pool, .workers = group.workers}, manuals.back().batch_size());
      }
      // Nothing that happens depends on the deadline: one grid for all.
      const ChoiceGrid grid = grid_of(alone, jobs.front(), levels);
      for (std::size_t d = 0; d < jobs.size(); ++d) {
        const std::vector<Decision> decisions = decide_each_way(jobs[d], grid, place_of(levels, manuals[d]));
        add_rows(alone.scenario, jobs[d], parameters_.deadline_factors[d], levels, decisions, choices);
        add_costs(decisions, order, costs);
      }
    }
    for (const std::string_view way : order) add_apart_row(of.job, way, costs[way], apart);
  }

  static ChoiceGrid grid_of(AloneWorld& alone, const sim::Job& job, const GridLevels& levels) {
    ChoiceGrid grid{.resources = levels.resources.size(), .batches = levels.batches.size()};
    for (const Resources& resources : levels.resources) {
      for (const double batch : levels.batches) {
        const auto c = configuration_at(alone, job, resources, batch);
        grid.cells.push_back(c ? policies::tried(job, *c, kNan, alone.world, alone.truth) : std::nullopt);
      }
    }
    return grid;
  }

  static GridPlace place_of(const GridLevels& levels, const sim::Configuration& manual) {
    const sim::Group& group = manual.groups.front();
    const Resources resources{.pool = group.pool, .workers = group.workers};
    return {.resources = static_cast<std::size_t>(std::find(levels.resources.begin(), levels.resources.end(), resources) -
                                                  levels.resources.begin()),
            .batch = static_cast<std::size_t>(std::find(levels.batches.begin(), levels.batches.end(), manual.batch_size()) -
                                              levels.batches.begin())};
  }

  static double extra_percent(const Decision& decision, const std::vector<Decision>& decisions) {
    const Decision& joint = decisions.back();
    return decision.outcome.feasible && joint.outcome.feasible ? 100 * (decision.outcome.cost_usd / joint.outcome.cost_usd - 1)
                                                               : kNan;
  }

  static void add_rows(const Scenario& scenario, const sim::Job& job, double factor, const GridLevels& levels,
                       const std::vector<Decision>& decisions, report::Table& table) {
    for (const Decision& decision : decisions) {
      const Resources& resources = levels.resources[decision.place.resources];
      const sim::Prediction& out = decision.outcome;
      table.rows.push_back({job.name, job.target_accuracy, factor, job.deadline_s, std::string(decision.way),
                            scenario.cluster.pools[static_cast<std::size_t>(resources.pool)].name,
                            static_cast<double>(resources.workers), levels.batches[decision.place.batch], out.time_s,
                            out.accuracy, out.cost_usd, std::string(out.feasible ? "true" : "false"),
                            extra_percent(decision, decisions)});
    }
  }

  static void add_costs(const std::vector<Decision>& decisions, std::vector<std::string_view>& order,
                        std::map<std::string_view, WayCosts>& costs) {
    for (const Decision& decision : decisions) {
      if (!costs.contains(decision.way)) order.push_back(decision.way);
      WayCosts& sum = costs[decision.way];
      if (!decisions.back().outcome.feasible) continue;
      ++sum.points;
      if (!decision.outcome.feasible) continue;
      ++sum.kept;
      sum.extra_percent.push_back(extra_percent(decision, decisions));
    }
  }

  static void add_apart_row(const sim::Job& job, std::string_view way, const WayCosts& sum, report::Table& table) {
    const bool any = !sum.extra_percent.empty();
    table.rows.push_back({job.name, std::string(way), static_cast<double>(sum.points),
                          sum.points > 0 ? static_cast<double>(sum.kept) / sum.points : kNan, report::mean(sum.extra_percent),
                          report::quantile(sum.extra_percent, 0.5),
                          any ? *std::max_element(sum.extra_percent.begin(), sum.extra_percent.end()) : kNan});
  }

  const CharacteriseParameters parameters_;
};

}  // namespace

std::unique_ptr<StudyParameters> read_characterise(sim::ObjectReader& in, const Paths&, Scenario& scenario,
                                                   sim::Mistakes& mistakes) {
  CharacteriseParameters p;
  p.workers = read_integers(in, "workers", sim::between(1, 1e6), {}, mistakes);
  p.batch_factors = read_numbers(in, "batch_factors", sim::between(1e-3, 1e3), powers_of_two(-5, 5), mistakes);
  p.accuracy_slack = read_numbers(in, "accuracy_slack", sim::between(0, 1), {0.005, 0.02, 0.05}, mistakes);
  p.deadline_factors = read_numbers(in, "deadline_factors", sim::between(1e-3, 1e3), powers_of_two(-3, 3), mistakes);
  p.tolerance = in.number("tolerance", sim::between(0, 1), p.tolerance);
  require_listed_jobs_with_floors(in, scenario, mistakes);
  return std::make_unique<Characterise>(std::move(p));
}

}  // namespace rehearse::scenarios
