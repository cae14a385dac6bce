// Figures of studies: what is in them, and that they come to be, or not, by gnuplot.
#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "report/plots/figure.hpp"
#include "report/plots/run_gnuplot.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "tests/cli/shell.hpp"

namespace {

using namespace rehearse::report;
namespace fs = std::filesystem;
namespace sim = rehearse::sim;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Rows = std::vector<std::vector<double>>;

bool has_gnuplot(const TemporaryFolder& folder) {
  if (Shell(folder).has("gnuplot")) return true;
  WARN("skipped: gnuplot is not installed");
  return false;
}

const Series* series_of(const Figure& figure, Style style) {
  for (const Series& series : figure.series)
    if (series.style == style) return &series;
  return nullptr;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

Figure ring_line(Rows rows) {
  return {
      .title = "it's <a> line", .x = {}, .y = {}, .series = {{.name = "a", .style = Style::ring_line, .rows = std::move(rows)}}};
}

/// Straight lines in the drawing of the first series: gnuplot's paths there, "M" to "L".
std::size_t lines_in(const std::string& svg) {
  const std::size_t begin = svg.find("gnuplot_plot_1\""), end = svg.find("gnuplot_plot_2\"");
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::string plot = svg.substr(begin, end - begin);
  std::size_t lines = 0;  // behind the first, which is the legend's sample
  for (std::size_t at = plot.find("<path"); at != std::string::npos; at = plot.find("<path", at + 1))
    lines += count(plot.substr(at, plot.find("/>", at) - at), "L");
  return lines;
}

// 0.5 is barred and must neither have the frame nor stretch the colours.
const HeatMap kHeat{.title = "heat",
                    .column_heading = "c",
                    .rows = {"one", "two"},
                    .columns = {"a", "b", "c"},
                    .values = {{4, 2, 0.5}, {1, kNan, 1}},
                    .barred = {{false, false, true}, {false, true, false}}};

TEST_CASE("a heat map: the first row at the top, barred cells grey, no cell without a number, the first of the best framed") {
  const Figure figure = heat_map_figure(kHeat);
  CHECK(series_of(figure, Style::cells)->rows == Rows{{0, 1, 1, 2, 4}, {1, 2, 1, 2, 2}, {0, 1, 0, 1, 1}, {2, 3, 0, 1, 1}});
  CHECK(series_of(figure, Style::grey_cells)->rows == Rows{{2, 3, 1, 2, 0.5}});
  CHECK(series_of(figure, Style::frame)->rows == Rows{{0, 1, 0, 1}});
  CHECK(figure.y.tics == std::vector<std::pair<double, std::string>>{{1.5, "one"}, {0.5, "two"}});
  CHECK(gnuplot_script(figure, {.name = "f"}).find("set cbrange [1:4]\n") != std::string::npos);
  // One colour needs a range too; with all cells barred there is no frame, and of nothing no figure.
  HeatMap map{.title = {}, .column_heading = {}, .rows = {"one"}, .columns = {"a"}, .values = {{3}}, .barred = {{false}}};
  CHECK(gnuplot_script(heat_map_figure(map), {.name = "f"}).find("set cbrange [3:3.03]\n") != std::string::npos);
  map.barred = {{true}};
  CHECK(series_of(heat_map_figure(map), Style::frame)->rows.empty());
  CHECK(has_points(heat_map_figure(map)));
  CHECK_FALSE(has_points(heat_map_figure({})));
}

TEST_CASE("what cannot lie on its axes is no point, and guides are none") {
  Figure figure{
      .x = {.logarithmic = true}, .y = {}, .series = {{.name = {}, .style = Style::points, .rows = {{0, 1}, {1, kNan}}}}};
  CHECK_FALSE(has_points(figure));
  figure.series.push_back({.name = {}, .style = Style::guide, .rows = {{1, 1}}});
  CHECK_FALSE(has_points(figure));
  figure.series.push_back({.name = {}, .style = Style::boxes, .rows = {{1, 2, 0, 1}}});
  CHECK(has_points(figure));
}

TEST_CASE("figures are drawn: lines join neighbours that are no rings, each style is one that gnuplot knows") {
  const TemporaryFolder folder;
  if (!has_gnuplot(folder)) return;
  // Points 1 and 2 are joined, 4 to 6 are: three lines, and the legend's. Point 3 is a ring, 7 alone.
  const Rows rows{{1, 1, 0}, {2, 2, 0}, {3, 3, 1}, {4, 4, 0}, {5, 3, 0}, {6, 4, 0}, {7, kNan, 0}, {8, 2, 0}};
  Figure others{.title = {}, .x = {}, .y = {}, .series = {}};
  others.series = {{.name = "rings", .style = Style::rings, .rows = {{1, 1}}},
                   {.name = "bars", .style = Style::bars, .rows = {{2, 1}}},
                   {.name = "slices", .style = Style::slices, .rows = {{1, 2, 3, 4}}},
                   {.name = "boxes", .style = Style::boxes, .rows = {{1, 2, 3, 4}}}};
  const std::vector<NamedFigure> figures{{"ring", ring_line(rows)},
                                         {"all-rings", ring_line({{1, 1, 1}})},
                                         {"heat", heat_map_figure(kHeat)},
                                         {"none", ring_line({})},
                                         {"others", others}};
  CHECK(draw_figures(figures, folder.path()).empty());
  const auto svg = [&](const char* name) { return sim::read_file(folder.path() + "/" + name + ".svg", 1 << 20); };
  CHECK(lines_in(svg("ring")) == 3 + 1);
  CHECK(lines_in(svg("all-rings")) == 0 + 1);
  CHECK(count(svg("ring"), "it\xe2\x80\x99s &lt;a> line") == 1);
  for (const char* number : {">4<", ">2<", ">0.5<"}) CHECK(count(svg("heat"), number) == 1);
  CHECK(count(svg("heat"), ">1<") == 2);
  CHECK(fs::exists(folder.path() + "/others.svg"));
  CHECK_FALSE(fs::exists(folder.path() + "/none.svg"));
}

TEST_CASE(
    "without gnuplot, and with one that fails, figures are left out and a line says so; a folder that is not there is a "
    "mistake") {
  const TemporaryFolder folder;
  const std::vector<NamedFigure> figures{{"a", ring_line({{1, 1, 0}})}, {"b", ring_line({{1, 1, 0}})}};
  {
    const EnvironmentVariable path("PATH", folder.path().c_str());
    const std::string said = draw_figures(figures, folder.path());
    CHECK(said.find("apt-get install gnuplot-nox") != std::string::npos);
    CHECK(count(said, "\n") == 0);
    CHECK(draw_figures({}, folder.path()).empty());
    fs::permissions(folder.write("gnuplot", "#!/bin/sh\necho out of ink\nexit 3\n"), fs::perms::owner_all);
    CHECK(draw_figures(figures, folder.path()) ==
          "Figures are left out, which gnuplot does not draw: a.svg: out of ink; b.svg: out of ink");
  }
  CHECK_FALSE(fs::exists(folder.path() + "/a.svg"));
  CHECK_THROWS_AS(draw_figures(figures, folder.path() + "/nowhere"), sim::InputError);
  for (const auto& left : fs::directory_iterator(folder.path())) CHECK_FALSE(left.is_directory());
}

}  // namespace
