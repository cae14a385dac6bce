// A heat map: a number for each row and column.
#pragma once

#include <string>
#include <vector>

#include "report/plots/figure.hpp"

namespace rehearse::report {

struct HeatMap {
  std::string title;
  std::string column_heading;
  std::vector<std::string> rows, columns;
  /// By row, then column, positive; NaN: there is no such cell. The colour follows the logarithm; the least number is the best.
  std::vector<std::vector<double>> values;
  /// Cells that may not be chosen: grey, their number still in them.
  std::vector<std::vector<bool>> barred;
};

/// The first row at the top. The best cell that is not barred has a frame; bright is good.
Figure heat_map_figure(const HeatMap& map);

}  // namespace rehearse::report
