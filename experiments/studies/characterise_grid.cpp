#include "experiments/studies/characterise_grid.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/studies/workload_grid.hpp"
#include "policies/configure/yardsticks.hpp"
#include "report/plots/figure.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kNan;

std::string yes_or_no(bool value) { return value ? "true" : "false"; }

const std::string& pool_name(const Scenario& scenario, const Resources& resources) {
  return scenario.cluster.pools[static_cast<std::size_t>(resources.pool)].name;
}

/// One of the two axes, and what is believed to go one way along it.
enum class Axis { workers, batch };

struct Quantity {
  Axis axis;
  const char* name;
  Direction direction;
  double (*value)(const GridPoint&);
};

/// What training to the floor takes says nothing where the floor was not reached.
double to_floor(const GridPoint& p, double value) { return p.reaches_floor ? value : kNan; }

constexpr Quantity kQuantities[] = {
    {Axis::workers, "samples_per_s", Direction::rises,
     [](const GridPoint& p) { return p.choice.configuration.batch_size() / p.submitted.step_s; }},
    {Axis::workers, "time_s", Direction::falls, [](const GridPoint& p) { return to_floor(p, p.submitted.time_s); }},
    {Axis::workers, "worker_seconds", Direction::rises,
     [](const GridPoint& p) { return to_floor(p, p.submitted.time_s * p.choice.configuration.workers()); }},
    {Axis::workers, "cost_usd", Direction::rises, [](const GridPoint& p) { return to_floor(p, p.submitted.cost_usd); }},
    {Axis::workers, "energy_j", Direction::rises, [](const GridPoint& p) { return to_floor(p, p.submitted.energy_j); }},
    {Axis::batch, "samples_per_s", Direction::rises,
     [](const GridPoint& p) { return p.choice.configuration.batch_size() / p.submitted.step_s; }},
    {Axis::batch, "published_time_s", Direction::falls, [](const GridPoint& p) { return p.published.time_s; }},
    {Axis::batch, "published_accuracy", Direction::falls, [](const GridPoint& p) { return p.published.accuracy; }},
    {Axis::batch, "epochs", Direction::rises, [](const GridPoint& p) { return to_floor(p, p.submitted.epochs); }},
    {Axis::batch, "time_s", Direction::falls, [](const GridPoint& p) { return to_floor(p, p.submitted.time_s); }},
    {Axis::batch, "cost_usd", Direction::falls, [](const GridPoint& p) { return to_floor(p, p.submitted.cost_usd); }},
    {Axis::batch, "energy_j", Direction::falls, [](const GridPoint& p) { return to_floor(p, p.submitted.energy_j); }},
};

double value_at(const Characteristics& of, const Quantity& quantity, std::size_t r, std::size_t b) {
  const auto& point = of.at(r, b);
  return point ? quantity.value(*point) : kNan;
}

MonotonePairs pairs_of(const Characteristics& of, const Quantity& quantity, double tolerance) {
  MonotonePairs counted;
  const std::vector<Resources>& resources = of.levels.resources;
  const std::size_t batches = of.levels.batches.size();
  if (quantity.axis == Axis::batch) {
    for (std::size_t r = 0; r < resources.size(); ++r) {
      std::vector<double> line;
      for (std::size_t b = 0; b < batches; ++b) line.push_back(value_at(of, quantity, r, b));
      count_pairs(line, quantity.direction, tolerance, counted);
    }
    return counted;
  }
  for (std::size_t b = 0; b < batches; ++b) {
    std::vector<double> line;
    for (std::size_t r = 0; r < resources.size(); ++r) {
      if (r > 0 && resources[r].pool != resources[r - 1].pool) line.push_back(kNan);  // no neighbours
      line.push_back(value_at(of, quantity, r, b));
    }
    count_pairs(line, quantity.direction, tolerance, counted);
  }
  return counted;
}

sim::Job for_time(const sim::Job& job) {
  sim::Job changed = job;
  changed.objective = sim::Objective::min_time;
  return changed;
}

/// Money of the cells over the least of those that keep the limits, and of all when none does.
std::vector<std::vector<double>> relative_costs(const Characteristics& of, const ChoiceGrid& grid) {
  const std::optional<Decision> best = best_of(of.job, grid, all_places(grid));
  std::vector<std::vector<double>> values(grid.resources, std::vector<double>(grid.batches, kNan));
  for (std::size_t r = 0; r < grid.resources; ++r)
    for (std::size_t b = 0; b < grid.batches; ++b)
      if (const auto& choice = grid.at(r, b)) values[r][b] = choice->predicted.cost_usd / best->outcome.cost_usd;
  return values;
}

}  // namespace

ChoiceGrid Characteristics::choices() const {
  ChoiceGrid grid{.resources = levels.resources.size(), .batches = levels.batches.size()};
  for (const std::optional<GridPoint>& point : points) grid.cells.push_back(point ? std::optional(point->choice) : std::nullopt);
  return grid;
}

Characteristics characterise(AloneWorld& alone, const sim::Job& submitted, const GridLevels& levels) {
  Characteristics of{.job = submitted, .levels = levels};
  of.job.stop = sim::Stop::target;  // nobody predicts a budget here
  const workloads::ProfileModel& model = alone.scenario.profile_models.of(*of.job.profile);
  of.published_epochs = std::max(1.0, std::round(model.convergence->reference_epochs));
  sim::Job published = of.job;
  published.target_accuracy = sim::kUnset;
  published.epochs = of.published_epochs;
  for (const Resources& resources : levels.resources) {
    for (const double batch : levels.batches) {
      of.points.emplace_back();
      const auto c = configuration_at(alone, of.job, resources, batch);
      if (!c) continue;
      auto choice = policies::tried(of.job, *c, kNan, alone.world, alone.truth);
      if (!choice) continue;
      const bool feasible = choice->predicted.feasible && policies::keeps_limits(of.job, choice->predicted);
      const bool reaches =
          choice->predicted.feasible && (!of.job.has_target() || choice->predicted.accuracy >= of.job.target_accuracy);
      choice->predicted.feasible = feasible;
      of.points.back() = GridPoint{.choice = *choice,
                                   .submitted = alone.truth.run(of.job, *choice),
                                   .published = alone.truth.run(published, *choice),
                                   .reaches_floor = reaches};
    }
  }
  return of;
}

report::Table grid_table() {
  return {.name = "grid",
          .title = {},
          .columns = {{"job", ""},
                      {"model", ""},
                      {"dataset", ""},
                      {"pool", ""},
                      {"workers", ""},
                      {"batch_size", ""},
                      {"samples_per_s", ""},
                      {"epochs", ""},
                      {"time_s", ""},
                      {"cost_usd", ""},
                      {"energy_j", ""},
                      {"accuracy", ""},
                      {"keeps_limits", ""},
                      {"published_epochs", ""},
                      {"published_time_s", ""},
                      {"published_accuracy", ""}}};
}

void add_grid_rows(const Scenario& scenario, const Characteristics& of, report::Table& table) {
  for (std::size_t r = 0; r < of.levels.resources.size(); ++r) {
    for (std::size_t b = 0; b < of.levels.batches.size(); ++b) {
      const auto& point = of.at(r, b);
      if (!point) continue;
      const sim::AloneOutcome &out = point->submitted, &published = point->published;
      table.rows.push_back({of.job.name, of.job.profile->model, of.job.profile->dataset,
                            pool_name(scenario, of.levels.resources[r]), static_cast<double>(of.levels.resources[r].workers),
                            of.levels.batches[b], of.levels.batches[b] / out.step_s, out.epochs, out.time_s, out.cost_usd,
                            out.energy_j, out.accuracy, yes_or_no(point->choice.predicted.feasible), of.published_epochs,
                            published.time_s, published.accuracy});
    }
  }
}

report::Table monotone_table(double tolerance) {
  return {.name = "monotone",
          .title = fmt::format("Pairs of neighbours on the grid that are monotone, exactly and within {:g} %", 100 * tolerance),
          .columns = {{"job", "job"},
                      {"axis", "along"},
                      {"quantity", "quantity"},
                      {"direction", "expected"},
                      {"pairs", "pairs", "{:g}"},
                      {"fraction", "exactly", "{:.3f}"},
                      {"fraction_within_tolerance", "within", "{:.3f}"},
                      {"worst_percent", "worst step, %", "{:.1f}"}}};
}

void add_monotone_rows(const Characteristics& of, double tolerance, report::Table& table) {
  for (const Quantity& quantity : kQuantities) {
    const MonotonePairs counted = pairs_of(of, quantity, tolerance);
    table.rows.push_back({of.job.name, quantity.axis == Axis::batch ? "batch" : "workers", quantity.name,
                          quantity.direction == Direction::falls ? "falls" : "rises", static_cast<double>(counted.pairs),
                          counted.exact_fraction(), counted.tolerated_fraction(), counted.worst_percent});
  }
}

report::Table best_batch_table() {
  return {.name = "best-batch",
          .title = "Best batch for given resources",
          .columns = {{"job", "job"},
                      {"pool", "pool"},
                      {"workers", "workers", "{:g}"},
                      {"batch_size", "best batch", "{:g}"},
                      {"time_s", "time, s"},
                      {"cost_usd", "cost, $"},
                      {"keeps_limits", "keeps limits"},
                      {"published_batch_extra_percent", "published batch costs, +%", "{:.1f}"},
                      {"fastest_batch_size", "fastest batch", "{:g}"}}};
}

void add_best_batch_rows(const Scenario& scenario, const Characteristics& of, report::Table& table) {
  const ChoiceGrid grid = of.choices();
  const double published = scenario.profile_models.of(*of.job.profile).publication_batch;
  for (std::size_t r = 0; r < grid.resources; ++r) {
    const std::vector<GridPlace> places = places_with_resources(grid, r);
    const std::optional<Decision> best = best_of(of.job, grid, places), fastest = best_of(for_time(of.job), grid, places);
    if (!best) continue;
    double extra_percent = kNan;
    for (std::size_t b = 0; b < grid.batches; ++b)
      if (const auto& choice = grid.at(r, b);
          choice && of.levels.batches[b] == published && choice->predicted.feasible && best->outcome.feasible)
        extra_percent = 100 * (choice->predicted.cost_usd / best->outcome.cost_usd - 1);
    table.rows.push_back({of.job.name, pool_name(scenario, of.levels.resources[r]),
                          static_cast<double>(of.levels.resources[r].workers), of.levels.batches[best->place.batch],
                          best->outcome.time_s, best->outcome.cost_usd, yes_or_no(best->outcome.feasible), extra_percent,
                          of.levels.batches[fastest->place.batch]});
  }
}

report::Table best_resources_table() {
  return {.name = "best-resources",
          .title = "Best resources for a given batch",
          .columns = {{"job", "job"},
                      {"batch_size", "batch", "{:g}"},
                      {"pool", "pool"},
                      {"workers", "workers", "{:g}"},
                      {"time_s", "time, s"},
                      {"cost_usd", "cost, $"},
                      {"keeps_limits", "keeps limits"},
                      {"fastest_pool", "fastest pool"},
                      {"fastest_workers", "its workers", "{:g}"}}};
}

void add_best_resources_rows(const Scenario& scenario, const Characteristics& of, report::Table& table) {
  const ChoiceGrid grid = of.choices();
  for (std::size_t b = 0; b < grid.batches; ++b) {
    const std::vector<GridPlace> places = places_with_batch(grid, b);
    const std::optional<Decision> best = best_of(of.job, grid, places), fastest = best_of(for_time(of.job), grid, places);
    if (!best) continue;
    const Resources &cheap = of.levels.resources[best->place.resources], &fast = of.levels.resources[fastest->place.resources];
    table.rows.push_back({of.job.name, of.levels.batches[b], pool_name(scenario, cheap), static_cast<double>(cheap.workers),
                          best->outcome.time_s, best->outcome.cost_usd, yes_or_no(best->outcome.feasible),
                          pool_name(scenario, fast), static_cast<double>(fast.workers)});
  }
}

report::Table heat_table(const Scenario& scenario, const Characteristics& of) {
  const ChoiceGrid grid = of.choices();
  const std::vector<std::vector<double>> costs = relative_costs(of, grid);
  report::Table table{
      .title = fmt::format("{}: money over the least, by batch size (!: breaks a limit, -: does not fit)", of.job.name),
      .columns = {{"resources", "resources"}}};
  for (const double batch : of.levels.batches) table.columns.push_back({.name = {}, .heading = fmt::format("{:g}", batch)});
  for (std::size_t r = 0; r < grid.resources; ++r) {
    table.rows.push_back({name_of(scenario, of.levels.resources[r])});
    for (std::size_t b = 0; b < grid.batches; ++b)
      table.rows.back().emplace_back(std::isnan(costs[r][b])
                                         ? std::string()
                                         : fmt::format("{:.3g}{}", costs[r][b], grid.at(r, b)->predicted.feasible ? "" : "!"));
  }
  return table;
}

report::Figure heat_figure(const Scenario& scenario, const Characteristics& of) {
  const ChoiceGrid grid = of.choices();
  report::HeatMap map{.title = fmt::format("{} ({}, {}): money over the least that keeps the limits", of.job.name,
                                           of.job.profile->model, of.job.profile->dataset),
                      .column_heading = "global batch size",
                      .values = relative_costs(of, grid)};
  for (const Resources& resources : of.levels.resources) map.rows.push_back(name_of(scenario, resources));
  for (const double batch : of.levels.batches) map.columns.push_back(fmt::format("{:g}", batch));
  map.barred.assign(grid.resources, std::vector<bool>(grid.batches, false));
  for (std::size_t r = 0; r < grid.resources; ++r)
    for (std::size_t b = 0; b < grid.batches; ++b) map.barred[r][b] = !grid.at(r, b) || !grid.at(r, b)->predicted.feasible;
  return report::heat_map_figure(map);
}

}  // namespace rehearse::scenarios
