// What a placement looks like: its graph coloured by device, and the timeline of its step.
#pragma once

#include <string>

#include "experiments/run/results_folder.hpp"
#include "experiments/studies/placement_cases.hpp"

namespace rehearse::scenarios {

/// `placement-NAME.dot` (Graphviz; a node for each group that lies on one device, else for each operation) and
/// `timeline-NAME.json` (Perfetto, chrome://tracing; by the fast timer).
void write_pictures(const ResultsFolder& folder, const std::string& name, const PlacementCase& placed,
                    const std::vector<std::int32_t>& device_of_op);

}  // namespace rehearse::scenarios
