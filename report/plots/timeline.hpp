// What ran when, in rows: for Perfetto and chrome://tracing (the Trace Event Format), and as a figure.
#pragma once

#include <string>
#include <vector>

#include "report/plots/figure.hpp"

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

}  // namespace rehearse::report
