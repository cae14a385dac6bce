// What resources and batch size do to one job: its grid, and the tables that describe it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/workload_grid.hpp"
#include "report/plots/figure.hpp"
#include "report/table.hpp"

namespace rehearse::scenarios {

/// One cell.
struct GridPoint {
  sim::Choice choice;           ///< as submitted; `predicted` is what happens
  sim::AloneOutcome submitted;  ///< the same
  sim::AloneOutcome published;  ///< without limits, for the publication's epochs
  bool reaches_floor = true;    ///< or has none
};

struct Characteristics {
  sim::Job job;
  GridLevels levels;
  double published_epochs = 0;
  std::vector<std::optional<GridPoint>> points;  ///< by resources, then batch; nothing where it does not fit

  const std::optional<GridPoint>& at(std::size_t r, std::size_t b) const { return points[r * levels.batches.size() + b]; }
  ChoiceGrid choices() const;
};

Characteristics characterise(AloneWorld& alone, const sim::Job& job, const GridLevels& levels);

/// Empty tables, and the rows that a job adds (docs/reference/metrics.md, "Studies").
report::Table grid_table();
report::Table monotone_table(double tolerance);
report::Table best_batch_table();
report::Table best_resources_table();
void add_grid_rows(const Scenario& scenario, const Characteristics& of, report::Table& table);
void add_monotone_rows(const Characteristics& of, double tolerance, report::Table& table);
void add_best_batch_rows(const Scenario& scenario, const Characteristics& of, report::Table& table);
void add_best_resources_rows(const Scenario& scenario, const Characteristics& of, report::Table& table);

/// Money over the least that keeps the limits, for the terminal and as a figure.
report::Table heat_table(const Scenario& scenario, const Characteristics& of);
report::Figure heat_figure(const Scenario& scenario, const Characteristics& of);

}  // namespace rehearse::scenarios
