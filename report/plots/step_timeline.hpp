// The timeline of one training step in the Trace Event Format that Perfetto and chrome://tracing open: a row for each device with
// its operations, and rows for each link with the transfers over it.
#pragma once

#include <string>

#include "sim/step/step_timer.hpp"

namespace rehearse::report {

/// JSON. Times are microseconds. Transfers that share a link stand on rows below each other; links that carry nothing have none.
std::string step_timeline_json(const sim::StepGraph& graph, const sim::Machine& machine, const sim::StepTimeline& timeline);

}  // namespace rehearse::report
