#include "report/timeline.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "report/svg.hpp"

namespace {

using namespace rehearse::report;

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string rectangle(const char* x, const char* y, const char* width, const char* height) {
  return std::string("<rect x=\"") + x + "\" y=\"" + y + "\" width=\"" + width + "\" height=\"" + height + "\"";
}

Timeline two_rows() {
  return {.title = "a < b",
          .rows = {"core 0", "core \"1\""},
          .slices = {{.row = 1, .name = "in", .start_s = 0.25, .end_s = 0.75, .kind = 1},
                     {.row = 0, .name = "cut", .start_s = -1, .end_s = 0.5, .kind = 0},
                     {.row = 0, .name = "after", .start_s = 2, .end_s = 3, .kind = 2},
                     {.row = 0, .name = "touches", .start_s = 1, .end_s = 2, .kind = 2}}};
}

}  // namespace

TEST_CASE("a timeline's picture: slices by row and date, cut at its ends") {
  const std::string svg = timeline_svg(two_rows(), 0, 1, {"conv", "gemm", "pool"});
  // 960 - 76 - 150 = 734 pixels for a second from 76 on; rows of 14 from 40 on.
  CHECK(count(svg, rectangle("259.5", "54.0", "367.0", "14.0")) == 1);
  CHECK(count(svg, rectangle("76.0", "40.0", "367.0", "14.0")) == 1);
  // The background and two slices: what lies outside, or only touches the end, is not drawn.
  CHECK(count(svg, "<rect") == 3);
  // A slice has the colour of its kind in the legend: a slice and a dot of the first two kinds, a dot of the third.
  CHECK(count(svg, distinct_colour(1)) == 2);
  CHECK(count(svg, distinct_colour(2)) == 2);
  CHECK(count(svg, distinct_colour(3)) == 1);
  for (const char* text : {"0 ms", "250 ms", "500 ms", "750 ms", "1000 ms", "core 0", "conv", "gemm", "pool"})
    CHECK(count(svg, std::string(">") + text + "<") == 1);
  CHECK(count(svg, "<title>a &lt; b</title>") == 1);
}

TEST_CASE("rows that are too low for their names leave some out") {
  Timeline many{.title = "many"};
  for (int row = 0; row < 100; ++row) many.rows.push_back("core " + std::to_string(row));
  // 400 pixels for 100 rows: 4 each, a name of 12 every fourth.
  const std::string svg = timeline_svg(many, 0, 1, {});
  CHECK(count(svg, ">core ") == 25);
  CHECK(count(svg, ">core 96<") == 1);
  CHECK(count(svg, ">core 97<") == 0);
}

TEST_CASE("a long name of a row has room left of the slices") {
  // 12 + 7 x 22 = 166 pixels; the slice of the whole second is 960 - 166 - 150 wide.
  const Timeline one{.title = "one", .rows = {"core 17, spare threads"}, .slices = {{.row = 0, .name = "all", .end_s = 1}}};
  CHECK(count(timeline_svg(one, 0, 1, {"conv"}), rectangle("166.0", "40.0", "644.0", "14.0")) == 1);
}

TEST_CASE("a timeline for Perfetto, whole") {
  Timeline one = two_rows();
  one.slices.resize(1);
  CHECK(timeline_json(one) == R"({"otherData": {"title": "a < b"}, "traceEvents": [
{"ph": "M", "pid": 0, "tid": 0, "name": "thread_name", "args": {"name": "core 0"}},
{"ph": "M", "pid": 0, "tid": 0, "name": "thread_sort_index", "args": {"sort_index": 0}},
{"ph": "M", "pid": 0, "tid": 1, "name": "thread_name", "args": {"name": "core \"1\""}},
{"ph": "M", "pid": 0, "tid": 1, "name": "thread_sort_index", "args": {"sort_index": 1}},
{"ph": "X", "pid": 0, "tid": 1, "name": "in", "ts": 250000.0000, "dur": 500000.0000},
{"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "a < b"}}
]}
)");
}
