#include "report/plots/timeline.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace {

using namespace rehearse::report;

Timeline two_rows() {
  return {.title = "a < b",
          .rows = {"core 0", "core \"1\""},
          .slices = {{.row = 1, .name = "in", .start_s = 0.25, .end_s = 0.75, .kind = 1},
                     {.row = 0, .name = "cut", .start_s = -1, .end_s = 0.5, .kind = 0},
                     {.row = 0, .name = "after", .start_s = 2, .end_s = 3, .kind = 2},
                     {.row = 0, .name = "touches", .start_s = 1, .end_s = 2, .kind = 2}}};
}

}  // namespace

TEST_CASE("a timeline's figure: slices by kind, row and date in ms, cut at its ends, the first row at the top") {
  using Rows = std::vector<std::vector<double>>;
  const Figure figure = timeline_figure(two_rows(), 0, 1, {"conv", "gemm", "pool"});
  REQUIRE(figure.series.size() == 3);
  CHECK(figure.series[0].rows == Rows{{0, 500, 1, 2}});
  CHECK(figure.series[1].rows == Rows{{250, 750, 0, 1}});
  CHECK(figure.series[2].rows.empty());  // what lies outside, or only touches the end, is not drawn
  CHECK(figure.series[2].name == "pool");
  CHECK(figure.y.tics == std::vector<std::pair<double, std::string>>{{1.5, "core 0"}, {0.5, "core \"1\""}});
  CHECK(figure.x.low == 0);
  CHECK(figure.x.high == 1000);
}

TEST_CASE("rows that are too low for their names leave some out") {
  Timeline many{.title = "many"};
  for (int row = 0; row < 100; ++row) many.rows.push_back("core " + std::to_string(row));
  // 4.2 in for 100 rows: 0.042 in each, a name of 0.12 in every third.
  const Figure figure = timeline_figure(many, 0, 1, {});
  REQUIRE(figure.y.tics.size() == 34);
  CHECK(figure.y.tics[1] == std::pair<double, std::string>{96.5, "core 3"});
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
