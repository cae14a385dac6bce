#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "report/plots/timeline.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "tests/sim/step/made_up.hpp"

using namespace rehearse;
using namespace rehearse::tests;

TEST_CASE("a step's timeline, whole") {
  // a (2^20 ticks, 976.5625 us) on gpu0; 4 bytes at 1024 bytes/s are 3906.25 us; b on gpu1.
  sim::StepGraphBuilder builder("g", {"gpu"});
  builder.add_op({.name = "a \"quoted\"", .group = 3}, std::vector{0x1p-10});
  builder.add_op({.name = "b"}, std::vector{0x1p-10});
  builder.add_reader(builder.add_tensor({.producer = 0, .bytes = 4}), 1);
  const sim::StepGraph graph = builder.build();
  const sim::Machine machine = ported(2, 1024, 0);
  sim::StepTimeline line;
  sim::make_fast_timer(graph, machine)->time({.device_of_op = std::vector{0, 1}}, &line);
  CHECK(report::step_timeline_json(graph, machine, line) ==
        R"({"displayTimeUnit": "ms", "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "devices"}},
{"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "links"}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 0, "args": {"name": "gpu0"}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "gpu1"}},
{"ph": "X", "name": "a \"quoted\"", "pid": 1, "tid": 0, "ts": 0.0000, "dur": 976.5625, "args": {"op": 0, "group": 3}},
{"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 4882.8125, "dur": 976.5625, "args": {"op": 1, "group": -1}},
{"ph": "X", "name": "a \"quoted\"", "pid": 2, "tid": 0, "ts": 976.5625, "dur": 3906.2500, "args": {"from": "gpu0", "to": "gpu1", "bytes": 4}},
{"ph": "M", "name": "thread_name", "pid": 2, "tid": 0, "args": {"name": "gpu0 out"}},
{"ph": "X", "name": "a \"quoted\"", "pid": 2, "tid": 1, "ts": 976.5625, "dur": 3906.2500, "args": {"from": "gpu0", "to": "gpu1", "bytes": 4}},
{"ph": "M", "name": "thread_name", "pid": 2, "tid": 1, "args": {"name": "gpu1 in"}}
]}
)");
}

TEST_CASE("any step's timeline is JSON whose slices lie beside each other on every row") {
  rc::prop("random graphs", [](std::uint64_t seed) {
    sim::Random random(seed);
    const sim::Machine machine = random_machine(random);
    const sim::StepGraph graph = random_graph(random, 30);
    sim::StepTimeline line;
    const auto placement = random_placement(random, graph.ops(), machine.devices());
    sim::make_fast_timer(graph, machine)->time({.device_of_op = placement}, &line);
    const sim::JsonDocument document = sim::parse_json(report::step_timeline_json(graph, machine, line), "timeline.json");
    sim::Mistakes mistakes;
    std::size_t runs = 0, crossings = 0, expected_crossings = 0;
    std::map<std::pair<std::int64_t, std::int64_t>, std::multiset<std::pair<double, double>>> rows;
    for (const sim::JsonValue event : sim::ObjectReader(document.root(), mistakes).list("traceEvents")) {
      sim::ObjectReader reader(event, mistakes);
      if (reader.text("ph") != "X") continue;
      const std::int64_t pid = reader.integer("pid");
      const double start = reader.number("ts");
      rows[{pid, reader.integer("tid")}].insert({start, start + reader.number("dur")});
      ++(pid == 1 ? runs : crossings);
    }
    for (const auto& [row, slices] : rows) {
      double free = 0;
      for (const auto& [start, end] : slices) {
        RC_ASSERT(start >= free - 3e-4);  // four decimals of a microsecond
        free = end;
      }
    }
    for (const sim::StepTimeline::Transfer& t : line.transfers)
      if (t.end > t.start) expected_crossings += machine.route(t.from, t.to).links.size();
    RC_ASSERT(mistakes.empty());
    RC_ASSERT(runs == static_cast<std::size_t>(graph.ops()));
    RC_ASSERT(crossings == expected_crossings);
  });
}
