// Resources and batch size together: what both do to a job on a grid, and what choosing them apart costs.
#pragma once

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "workers" (list of whole numbers), "batch_factors", "accuracy_slack", "deadline_factors" (lists of numbers),
/// "tolerance" (number).
std::unique_ptr<StudyParameters> read_characterise(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                   sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
