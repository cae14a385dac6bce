// A figure for a paper: what is drawn, before anything is known of size, format or program.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rehearse::report {

struct Axis {
  std::string label;
  bool logarithmic = false;
  std::optional<double> low, high;                   ///< none: by the data
  std::vector<std::pair<double, std::string>> tics;  ///< instead of numbers
  bool slanted_tics = false;
};

/// What the numbers of a row mean.
enum class Style {
  line,         ///< x, y
  line_points,  ///< x, y
  error_line,   ///< x, y, low, high
  points,       ///< x, y
  steps,        ///< x, y: y holds from x on
  bars,         ///< x, y, low, high: from 0, with a whisker
  boxes,        ///< left, right, bottom, top
  guide,        ///< x, y: a thin grey line
  dashed_guide,
};

struct Series {
  std::string name;
  Style style = Style::line;
  std::vector<std::vector<double>> rows;  ///< NaN: not drawn
};

struct Figure {
  Axis x, y;
  std::vector<Series> series;
  double bar_width = 0.8;
  bool tall = false;  ///< as many rows as a picture of the usual height cannot show
  std::string note;   ///< for the terminal: what of the data this is
};

}  // namespace rehearse::report
