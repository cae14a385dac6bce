#include <catch2/catch.hpp>
#include <limits>

#include "report/heat_map.hpp"
#include "report/line_plot.hpp"
#include "report/svg.hpp"

namespace {

using namespace rehearse::report;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST_CASE("texts in a picture are escaped") {
  Svg svg(10, 10, "a < b & \x01");
  svg.text(1, 2, "<script>");
  const std::string text = std::move(svg).finish();
  CHECK(count(text, "<title>a &lt; b &amp;  </title>") == 1);
  CHECK(count(text, "&lt;script&gt;") == 1);
  CHECK(count(text, "<script>") == 0);
}

// Between the stops at 0 (68, 1, 84) and 1/4 (59, 82, 139): half way (63.5, 41.5, 111.5), rounded away from 0.
TEST_CASE("viridis: its stops, what lies between, and what lies outside") {
  CHECK(viridis(0) == "#440154");
  CHECK(viridis(1) == "#fde725");
  CHECK(viridis(0.5) == "#21918c");
  CHECK(viridis(0.125) == "#402a70");
  CHECK(viridis(-3) == viridis(0));
  CHECK(viridis(7) == viridis(1));
}

// Values 1, 2, 4: the logarithm of 2 lies half way. 0.5 is barred and must neither be the best nor stretch the colours.
TEST_CASE("a heat map: bright is least, logarithmic between, barred cells grey, the best framed") {
  const HeatMap map{.title = "heat",
                    .row_heading = "r",
                    .column_heading = "c",
                    .rows = {"one", "two"},
                    .columns = {"a", "b", "c"},
                    .values = {{4, 2, 0.5}, {1, kNan, 1}},
                    .barred = {{false, false, true}, {false, true, false}}};
  const std::string svg = heat_map_svg(map);
  CHECK(count(svg, R"(fill="#440154")") == 1);
  CHECK(count(svg, R"(fill="#21918c")") == 1);
  CHECK(count(svg, R"(fill="#fde725")") == 2);
  CHECK(count(svg, R"(fill="#e0e0e0")") == 1);
  CHECK(count(svg, R"(stroke="#d55e00")") == 1);
  CHECK(count(svg, "<rect") == 1 + 5 + 1);  // the background, the cells that there are, the frame
  CHECK(svg == heat_map_svg(map));
}

TEST_CASE("a heat map of one value, of nothing that may be chosen, and of nothing at all can be drawn") {
  HeatMap map{.title = "heat", .rows = {"one"}, .columns = {"a"}, .values = {{3}}, .barred = {{false}}};
  CHECK(count(heat_map_svg(map), R"(fill="#fde725")") == 1);
  map.barred = {{true}};
  CHECK(count(heat_map_svg(map), R"(stroke="#d55e00")") == 0);
  CHECK(count(heat_map_svg({.title = "empty"}), "</svg>") == 1);
  for (const std::string& svg : {heat_map_svg(map), heat_map_svg({.title = "empty"})})
    CHECK(count(svg, "nan") + count(svg, "inf") == 0);
}

TEST_CASE("ticks are 1, 2 and 5 times powers of ten") {
  CHECK(ticks_125(0.3, 12) == std::vector<double>{0.5, 1, 2, 5, 10});
  CHECK(ticks_125(100, 100) == std::vector<double>{100});
  CHECK(ticks_125(6, 9) == std::vector<double>{6, 9});
}

// Points at x = 1, 10, 100 with the middle one hollow: no line leads to it, so there is none at all.
TEST_CASE("a plot of lines: lines connect filled neighbours only, and what is not finite is left out") {
  LinePlot plot{.title = "t", .x_heading = "x", .y_heading = "y", .lines = {{"a", {{1, 1}, {10, 2, true}, {100, 3}}}}};
  CHECK(count(line_plot_svg(plot), R"(stroke-width="2.0")") == 0);
  CHECK(count(line_plot_svg(plot), R"(fill="#ffffff" stroke="#000000")") == 1);
  plot.lines[0].points[1].hollow = false;
  CHECK(count(line_plot_svg(plot), R"(stroke-width="2.0")") == 1);
  plot.lines[0].points[1].y = kNan;
  CHECK(count(line_plot_svg(plot), R"(stroke-width="2.0")") == 0);
  CHECK(count(line_plot_svg(plot), "<circle") == 2 + 1);  // and one in the legend
  for (const std::string& svg : {line_plot_svg(plot), line_plot_svg({.title = "empty"})})
    CHECK(count(svg, "nan") + count(svg, "inf") == 0);
}

}  // namespace
