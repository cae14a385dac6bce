#include "report/distribution_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/line_plot.hpp"
#include "report/svg.hpp"

namespace rehearse::report {

namespace {

constexpr PlotFrame kCurveFrame{.width = 640, .height = 360, .left = 60, .right = 20, .top = 36, .bottom = 48};
constexpr std::size_t kMostLabels = 24;  // under bars
constexpr Mark kAxis{.stroke = "#222222"}, kGrid{.stroke = "#dddddd"};

double y_of(double part) {
  return kCurveFrame.height - kCurveFrame.bottom - part * (kCurveFrame.height - kCurveFrame.top - kCurveFrame.bottom);
}

/// 1, 2 or 5 times a power of ten, so that the largest value is reached in two to five of them.
double linear_tick(double most) {
  if (!(most > 0)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(most / 5)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (most <= 5 * digit * power * (1 + 1e-9)) return digit * power;
  return 10 * power;
}

void draw_axes(Svg& svg, std::string_view title, std::string_view x_heading) {
  svg.text(kCurveFrame.left, 22, title);
  svg.text((kCurveFrame.left + kCurveFrame.width - kCurveFrame.right) / 2, kCurveFrame.height - 8, x_heading, Anchor::middle);
  svg.polyline({{kCurveFrame.left, y_of(1)}, {kCurveFrame.left, y_of(0)}, {kCurveFrame.width - kCurveFrame.right, y_of(0)}},
               kAxis);
}

}  // namespace

std::string distribution_svg(std::string_view title, std::string_view x_heading, const std::vector<Distribution>& distributions) {
  Svg svg(kCurveFrame.width, kCurveFrame.height, title);
  double low = 0, high = 0;
  for (const Distribution& one : distributions)
    for (const auto& [value, part] : one.points) {
      low = low == 0 ? value : std::min(low, value);
      high = std::max(high, value);
    }
  if (!(high > low)) high = 2 * (low = low > 0 ? low : 1);
  const auto x_of = [&](double value) {
    return kCurveFrame.left +
           std::log(value / low) / std::log(high / low) * (kCurveFrame.width - kCurveFrame.left - kCurveFrame.right);
  };
  for (const double part : {0.25, 0.5, 0.75, 1.0}) {
    svg.polyline({{kCurveFrame.left, y_of(part)}, {kCurveFrame.width - kCurveFrame.right, y_of(part)}}, kGrid);
    svg.text(kCurveFrame.left - 6, y_of(part) + 4, fmt::format("{}", part), Anchor::end);
  }
  for (const double value : ticks_125(low, high)) {
    const double power = std::log10(value);
    if (high / low > 100 && std::abs(power - std::round(power)) > 1e-9) continue;
    svg.polyline({{x_of(value), y_of(0)}, {x_of(value), y_of(1)}}, kGrid);
    svg.text(x_of(value), y_of(0) + 16, fmt::format("{:g}", value), Anchor::middle);
  }
  draw_axes(svg, title, x_heading);
  for (std::size_t i = 0; i < distributions.size(); ++i) {
    std::vector<std::pair<double, double>> line;
    double before = y_of(0);
    for (const auto& [value, part] : distributions[i].points) {
      line.emplace_back(x_of(value), before);
      line.emplace_back(x_of(value), before = y_of(part));
    }
    svg.polyline(line, {.stroke = distinct_colour(i), .stroke_width = 1.5});
    if (distributions.size() > 1)
      svg.text(kCurveFrame.width - kCurveFrame.right - 6, y_of(0) - 10 - 16 * static_cast<double>(i), distributions[i].name,
               Anchor::end, distinct_colour(i));
  }
  return std::move(svg).finish();
}

std::string bars_svg(std::string_view title, std::string_view x_heading, std::string_view y_heading,
                     const std::vector<std::pair<std::string, double>>& bars) {
  Svg svg(kCurveFrame.width, kCurveFrame.height, title);
  double most = 0;
  for (const auto& [label, value] : bars) most = std::max(most, value);
  const double tick = linear_tick(most), top_value = tick * std::max(1.0, std::ceil(most / tick - 1e-9));
  for (int i = 0; i * tick <= top_value * (1 + 1e-9); ++i) {
    const double y = y_of(i * tick / top_value);
    if (i > 0) svg.polyline({{kCurveFrame.left, y}, {kCurveFrame.width - kCurveFrame.right, y}}, kGrid);
    svg.text(kCurveFrame.left - 6, y + 4, fmt::format("{:g}", i * tick), Anchor::end);
  }
  svg.text(kCurveFrame.width - kCurveFrame.right, 22, y_heading, Anchor::end);
  const double step =
      (kCurveFrame.width - kCurveFrame.left - kCurveFrame.right) / static_cast<double>(std::max<std::size_t>(bars.size(), 1));
  const std::size_t every = (bars.size() + kMostLabels - 1) / kMostLabels;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x = kCurveFrame.left + step * static_cast<double>(i), top = y_of(bars[i].second / top_value);
    svg.rectangle(x + 0.1 * step, top, 0.8 * step, y_of(0) - top, {.fill = "#0072b2"});
    if (i % every == 0) svg.text(x + 0.5 * step, y_of(0) + 16, bars[i].first, Anchor::middle);
  }
  draw_axes(svg, title, x_heading);
  return std::move(svg).finish();
}

}  // namespace rehearse::report
