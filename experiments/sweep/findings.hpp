// What a sweep found: who is best at each point, and the page with its figures (docs/guide/sweep.md).
#pragma once

#include <string>
#include <vector>

#include "experiments/sweep/database.hpp"
#include "experiments/sweep/runs.hpp"
#include "report/table.hpp"

namespace rehearse::scenarios {

/// More points than this are in the CSV file alone: a table of them is read by nobody.
inline constexpr std::size_t kMostShownPoints = 200;

/// A row for each point with runs that ended well: its values, who is best, what that costs, what it saves against the reference,
/// and whether that is decided (report/verdict.hpp, with each point's own terms). Of the first kMostShownPoints.
report::Table best_by_point(const SweepPlan& plan, const SweepDatabase& database);

/// Writes one self-contained HTML file: the table, a line plot for each swept column, heat maps of the first two. Returns a line
/// about figures that could not be drawn; empty: all are there. Throws sim::InputError when the file cannot be written.
std::string write_sweep_page(const std::string& path, const SweepPlan& plan, const SweepDatabase& database,
                             const report::Table& table);

}  // namespace rehearse::scenarios
