#include "report/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/svg.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::report {

namespace {

constexpr double kCellWidth = 58, kCellHeight = 24, kTop = 64, kCharacter = 7.2, kMargin = 12;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = 0;
};

/// Of the cells that may be chosen.
Range range_of(const HeatMap& map) {
  Range range;
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      if (!(map.values[r][c] > 0) || map.barred[r][c]) continue;
      range.low = std::min(range.low, map.values[r][c]);
      range.high = std::max(range.high, map.values[r][c]);
    }
  }
  return range;
}

void draw_cell(Svg& svg, double x, double y, double value, bool barred, const Range& range) {
  if (!(value > 0)) return;
  const double spread = std::log(range.high / range.low);
  const double position = barred ? 0 : spread > 0 ? 1 - std::log(value / range.low) / spread : 1;
  svg.rectangle(x, y, kCellWidth, kCellHeight, {.fill = barred ? "#e0e0e0" : viridis(position), .stroke = "#ffffff"});
  svg.text(x + kCellWidth / 2, y + kCellHeight - 8, fmt::format("{:.3g}", value), Anchor::middle,
           barred                ? "#777777"
           : is_bright(position) ? "#000000"
                                 : "#ffffff");
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  sim::check(map.values.size() == map.rows.size() && map.barred.size() == map.rows.size(), "a heat map has a value for each row");
  std::size_t longest = map.row_heading.size();
  for (const std::string& row : map.rows) longest = std::max(longest, row.size());
  const double left = 2 * kMargin + kCharacter * static_cast<double>(longest);
  const double wide = static_cast<double>(map.columns.size()), high = static_cast<double>(map.rows.size());
  const double title_width = 2 * kMargin + kCharacter * static_cast<double>(map.title.size());
  Svg svg(std::max(left + wide * kCellWidth + kMargin, title_width), kTop + high * kCellHeight + kMargin, map.title);
  svg.text(kMargin, 20, map.title);
  svg.text(kMargin, kTop - 8, map.row_heading);
  svg.text(left, kTop - 26, map.column_heading);
  const Range range = range_of(map);
  for (std::size_t c = 0; c < map.columns.size(); ++c)
    svg.text(left + (static_cast<double>(c) + 0.5) * kCellWidth, kTop - 8, map.columns[c], Anchor::middle);
  bool framed = false;
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = kTop + static_cast<double>(r) * kCellHeight;
    svg.text(left - kMargin, y + kCellHeight - 8, map.rows[r], Anchor::end);
    for (std::size_t c = 0; c < map.columns.size(); ++c)
      draw_cell(svg, left + static_cast<double>(c) * kCellWidth, y, map.values[r][c], map.barred[r][c], range);
  }
  for (std::size_t r = 0; r < map.rows.size() && !framed; ++r) {
    for (std::size_t c = 0; c < map.columns.size() && !framed; ++c) {
      if (map.barred[r][c] || map.values[r][c] != range.low) continue;
      svg.rectangle(left + static_cast<double>(c) * kCellWidth, kTop + static_cast<double>(r) * kCellHeight, kCellWidth,
                    kCellHeight, {.stroke = "#d55e00", .stroke_width = 3});
      framed = true;
    }
  }
  return std::move(svg).finish();
}

}  // namespace rehearse::report
