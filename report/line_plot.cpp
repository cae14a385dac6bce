#include "report/line_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/svg.hpp"

namespace rehearse::report {

namespace {

constexpr PlotFrame kLineFrame{.width = 640, .height = 400, .left = 76, .right = 180, .top = 40, .bottom = 52};

/// A logarithmic axis from pixel `begin` to pixel `end`.
struct LogAxis {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  double begin = 0, end = 0;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void widen() {
    if (!(high > 0)) low = high = 1;
    low /= 1.1;
    high *= 1.1;
  }
  double at(double value) const { return begin + (end - begin) * std::log(value / low) / std::log(high / low); }
};

bool is_drawn(const PlotPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y) && point.x > 0 && point.y > 0; }

void draw_axes(Svg& svg, const LinePlot& plot, const LogAxis& x, const LogAxis& y) {
  for (const double tick : ticks_125(x.low, x.high)) {
    svg.polyline({{x.at(tick), y.begin}, {x.at(tick), y.end}}, {.stroke = "#e6e6e6"});
    svg.text(x.at(tick), y.begin + 16, fmt::format("{:g}", tick), Anchor::middle);
  }
  for (const double tick : ticks_125(y.low, y.high)) {
    svg.polyline({{x.begin, y.at(tick)}, {x.end, y.at(tick)}}, {.stroke = "#e6e6e6"});
    svg.text(x.begin - 6, y.at(tick) + 4, fmt::format("{:g}", tick), Anchor::end);
  }
  svg.polyline({{x.begin, y.end}, {x.begin, y.begin}, {x.end, y.begin}}, {.stroke = "#222222"});
  svg.text((x.begin + x.end) / 2, kLineFrame.height - 14, plot.x_heading, Anchor::middle);
  svg.text(12, kLineFrame.top - 8, plot.y_heading);
  svg.text(12, 18, plot.title);
}

void draw_line(Svg& svg, const PlotLine& line, std::string_view colour, const LogAxis& x, const LogAxis& y) {
  std::vector<std::pair<double, double>> run;
  const auto end_run = [&] {
    if (run.size() > 1) svg.polyline(run, {.stroke = colour, .stroke_width = 2});
    run.clear();
  };
  for (const PlotPoint& point : line.points) {
    if (!is_drawn(point) || point.hollow)
      end_run();
    else
      run.emplace_back(x.at(point.x), y.at(point.y));
  }
  end_run();
  for (const PlotPoint& point : line.points)
    if (is_drawn(point))
      svg.circle(x.at(point.x), y.at(point.y), 4,
                 {.fill = point.hollow ? "#ffffff" : colour, .stroke = colour, .stroke_width = 1.5});
}

}  // namespace

std::vector<double> ticks_125(double low, double high) {
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10, power) <= high; ++power)
    for (const double digit : {1, 2, 5})
      if (const double tick = digit * std::pow(10, power); tick >= low && tick <= high) ticks.push_back(tick);
  if (ticks.empty()) ticks = {low, high};
  return ticks;
}

std::string line_plot_svg(const LinePlot& plot) {
  LogAxis x{.begin = kLineFrame.left, .end = kLineFrame.width - kLineFrame.right},
      y{.begin = kLineFrame.height - kLineFrame.bottom, .end = kLineFrame.top};
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      if (!is_drawn(point)) continue;
      x.include(point.x);
      y.include(point.y);
    }
  }
  x.widen();
  y.widen();
  Svg svg(kLineFrame.width, kLineFrame.height, plot.title);
  draw_axes(svg, plot, x, y);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    draw_line(svg, plot.lines[i], distinct_colour(i), x, y);
    const double label_y = kLineFrame.top + 12 + 20 * static_cast<double>(i);
    svg.circle(kLineFrame.width - kLineFrame.right + 20, label_y - 4, 4, {.fill = distinct_colour(i)});
    svg.text(kLineFrame.width - kLineFrame.right + 30, label_y, plot.lines[i].name);
  }
  return std::move(svg).finish();
}

}  // namespace rehearse::report
