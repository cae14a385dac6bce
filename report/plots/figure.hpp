// A figure for a paper or beside a study's tables: what is drawn, before anything is known of size, format or program.
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
  ring_line,    ///< x, y, 1 for a ring that no line leads to, else 0
  error_line,   ///< x, y, low, high
  points,       ///< x, y
  cross,        ///< x, y, then low and high of x, low and high of y
  rings,        ///< x, y
  steps,        ///< x, y: y holds from x on
  bars,         ///< x, y, and where there is a whisker low, high: from 0
  boxes,        ///< left, right, bottom, top
  slices,       ///< the same, plain and without a border, of which there may be thousands
  cells,        ///< left, right, bottom, top, value above 0: the least bright, by the logarithm, and the number inside
  grey_cells,   ///< the same, but not coloured
  frame,        ///< left, right, bottom, top: around a cell
  guide,        ///< x, y: a thin grey line
  dashed_guide,
};

struct Series {
  std::string name;
  Style style = Style::line;
  std::vector<std::vector<double>> rows;  ///< NaN: not drawn; a line is broken there
};

constexpr double kUsualHeight_in = 2.2, kTall_in = 3.4;

struct Figure {
  std::string title = {};  ///< none on paper, where there is a caption
  Axis x, y;
  std::vector<Series> series;
  double bar_width = 0.8;
  double height_in = kUsualHeight_in;              ///< without title and legend
  bool linear_cells = false, bright_high = false;  ///< cells: by their values instead of the logarithm; the most is brightest
  std::string cells_label = {};                    ///< what the numbers in cells are: small, above their top left corner
  std::string note;                                ///< for the terminal: what of the data this is
  bool has_lone_runs = false;                      ///< some of its means are of one run, and have no interval
};

/// Marks these policies wherever the figure names them: in its legend (also as "POLICY (...)") and at its axes.
void mark_yardsticks(Figure& figure, const std::vector<std::string>& yardsticks);

/// Whether any point of it lies on its axes, guides aside.
bool has_points(const Figure& figure);

struct NamedFigure {
  std::string name;  ///< of the file, without its ending
  Figure figure;
};

// A heat map: a number for each row and column.

struct HeatMap {
  std::string title;
  std::string column_heading;
  std::vector<std::string> rows, columns;
  /// By row, then column, positive; NaN: there is no such cell. The colour follows the logarithm; the least number is the best.
  std::vector<std::vector<double>> values;
  /// Cells that may not be chosen: grey, their number still in them.
  std::vector<std::vector<bool>> barred;
  std::string row_heading = {};
  bool is_linear = false;         ///< the colour follows the values, of which any may be there
  bool higher_is_better = false;  ///< only where it is linear
};

/// The first row at the top. The best cell that is not barred has a frame; bright is good.
Figure heat_map_figure(const HeatMap& map);

}  // namespace rehearse::report
