// Configure strategies on a table of measured runs: what they choose when a part of the table is their past runs, and what the
// whole table knows about it.
#pragma once

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "table" (a CSV file), "format", "epochs", "fractions", "floors", "deadlines" (docs/reference/scenario.md).
std::unique_ptr<StudyParameters> read_measured_runs(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                    sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
