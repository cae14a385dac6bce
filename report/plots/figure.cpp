#include "report/plots/figure.hpp"

#include <cmath>
#include <limits>

#include "report/policy_name.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::report {

void mark_yardsticks(Figure& figure, const std::vector<std::string>& yardsticks) {
  const auto mark = [&](std::string& name) {
    for (const std::string& policy : yardsticks)
      if (name == policy || name.starts_with(policy + " (")) {
        name = shown_name(policy, true) + name.substr(policy.size());
        return;
      }
  };
  for (Series& series : figure.series) mark(series.name);
  for (Axis* axis : {&figure.x, &figure.y})
    for (auto& [place, name] : axis->tics) mark(name);
}

Figure heat_map_figure(const HeatMap& map) {
  constexpr double kRow_in = 0.2;
  sim::check(map.values.size() == map.rows.size() && map.barred.size() == map.rows.size(), "a heat map has a value for each row");
  const auto rows = static_cast<double>(map.rows.size()), columns = static_cast<double>(map.columns.size());
  Figure figure{.title = map.title,
                .x = {.label = map.column_heading, .low = 0.0, .high = columns},
                .y = {.label = map.row_heading, .low = 0.0, .high = rows},
                .series = {},
                .height_in = 0.5 + kRow_in * rows,
                .linear_cells = map.is_linear,
                .bright_high = map.higher_is_better};
  for (std::size_t c = 0; c < map.columns.size(); ++c) figure.x.tics.emplace_back(static_cast<double>(c) + 0.5, map.columns[c]);
  Series cells{.name = {}, .style = Style::cells, .rows = {}}, grey{.name = {}, .style = Style::grey_cells, .rows = {}};
  Series frame{.name = {}, .style = Style::frame, .rows = {}};
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double top = rows - static_cast<double>(r);
    figure.y.tics.emplace_back(top - 0.5, map.rows[r]);
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const double value = map.values[r][c], left = static_cast<double>(c);
      if (map.is_linear ? !std::isfinite(value) : !(value > 0)) continue;
      const std::vector<double> box{left, left + 1, top - 1, top};
      Series& series = map.barred[r][c] ? grey : cells;
      series.rows.push_back(box);
      series.rows.back().push_back(value);
      const double badness = map.higher_is_better ? -value : value;
      if (map.barred[r][c] || badness >= best) continue;
      best = badness;
      frame.rows = {box};
    }
  }
  figure.series = {std::move(grey), std::move(cells), std::move(frame)};
  return figure;
}

}  // namespace rehearse::report
