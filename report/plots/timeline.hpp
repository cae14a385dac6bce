// What ran when, in rows: for Perfetto and chrome://tracing (the Trace Event Format), and as a figure.
#pragma once

#include <string>
#include <vector>

#include "report/plots/figure.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::report {

struct TimelineSlice {
  int row = 0;
  std::string name;
  double start_s = 0, end_s = 0;
  int kind = 0;  ///< slices of one kind look alike in the figure
};

struct Timeline {
  std::string title;
  std::vector<std::string> rows;
  std::vector<TimelineSlice> slices;
};

/// JSON; dates in microseconds.
std::string timeline_json(const Timeline& timeline);

/// The slices between two dates, the first row at the top; `kinds` names the looks.
Figure timeline_figure(const Timeline& timeline, double from_s, double to_s, const std::vector<std::string>& kinds);

// The timeline of one training step in the Trace Event Format that Perfetto and chrome://tracing open: a row for each device with
// its operations, and rows for each link with the transfers over it.

/// JSON. Times are microseconds. Transfers that share a link stand on rows below each other; links that carry nothing have none.
std::string step_timeline_json(const sim::StepGraph& graph, const sim::Machine& machine, const sim::StepTimeline& timeline);

}  // namespace rehearse::report
