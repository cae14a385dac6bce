// What ran when, in rows: for Perfetto and chrome://tracing (the Trace Event Format), and as a picture.
#pragma once

#include <string>
#include <vector>

namespace rehearse::report {

struct TimelineSlice {
  int row = 0;
  std::string name;
  double start_s = 0, end_s = 0;
  int kind = 0;  ///< slices of one kind have one colour in the picture
};

struct Timeline {
  std::string title;
  std::vector<std::string> rows;
  std::vector<TimelineSlice> slices;
};

/// JSON; dates in microseconds.
std::string timeline_json(const Timeline& timeline);

/// SVG of the slices between two dates; `kinds` names the colours.
std::string timeline_svg(const Timeline& timeline, double from_s, double to_s, const std::vector<std::string>& kinds);

}  // namespace rehearse::report
