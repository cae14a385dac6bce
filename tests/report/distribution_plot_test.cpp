#include "report/distribution_plot.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace {

using namespace rehearse::report;

bool has(const std::string& svg, const std::string& what) { return svg.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("bars: the axis ends at a round number that holds the largest, and every bar has its height") {
  // At most 5 ticks for 7: of 2 each, up to 8. 640 - 60 - 20 = 560 pixels for two bars, 360 - 36 - 48 = 276 for 8: 7 is 241.5.
  const std::string svg = bars_svg("jobs < day", "day", "jobs", {{"a", 7}, {"b", 0}});
  CHECK(has(svg, "<rect x=\"88.0\" y=\"70.5\" width=\"224.0\" height=\"241.5\""));
  CHECK(has(svg, "<rect x=\"368.0\" y=\"312.0\" width=\"224.0\" height=\"0.0\""));
  for (const char* text : {">0<", ">2<", ">4<", ">6<", ">8<", ">a<", ">b<", ">jobs &lt; day<"}) CHECK(has(svg, text));
  CHECK(!has(svg, ">10<"));
}

TEST_CASE("bars: of many, some are named; of none, or all 0, there is an axis") {
  std::vector<std::pair<std::string, double>> days;
  for (int day = 0; day < 100; ++day) days.emplace_back("d" + std::to_string(day), 1);
  const std::string svg = bars_svg("", "", "", days);
  CHECK(has(svg, ">d0<"));
  CHECK(!has(svg, ">d1<"));
  CHECK(has(svg, ">d5<"));
  CHECK(has(bars_svg("", "", "", {}), ">1<"));
  CHECK(has(bars_svg("", "", "", {{"a", 0}}), ">1<"));
}

TEST_CASE("a distribution climbs in steps to 1") {
  // From 1 to 100 over 560 pixels: 10 lies at 60 + 280. Halves of 276 pixels.
  const std::string svg = distribution_svg("", "", {{.name = "all", .points = {{1, 0.25}, {10, 0.75}, {100, 1}}}});
  CHECK(has(svg, "60.0,312.0 60.0,243.0 340.0,243.0 340.0,105.0 620.0,105.0 620.0,36.0"));
}
