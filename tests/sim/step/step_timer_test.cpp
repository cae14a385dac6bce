// Hand-worked steps, which the fast timer and the reference must both give.
#include "sim/step/step_timer.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/base/errors.hpp"
#include "tests/sim/step/made_up.hpp"

using namespace rehearse::sim;
using namespace rehearse::tests;

namespace {

constexpr Tick kMs = 1 << 20;  // the tests' unit: 2^20 ticks, 0.977 ms
const double kMsInS = seconds_of(kMs);
constexpr double kByteAMs = 1024;  // a link of 1024 bytes/s moves a byte in 2^20 ticks

/// Operations of one class of device with durations in units.
class Sketch {
 public:
  int op(const char* name, int units, std::int64_t workspace_bytes = 0, std::int64_t parameter_bytes = 0) {
    return builder_.add_op({.name = name, .parameter_bytes = parameter_bytes, .workspace_bytes = workspace_bytes},
                           std::vector{units * kMsInS});
  }
  void feed(int from, std::int64_t bytes, std::initializer_list<int> readers, bool held = false) {
    const int tensor = builder_.add_tensor({.producer = from, .bytes = bytes, .held = held});
    for (const int reader : readers) builder_.add_reader(tensor, reader);
  }
  StepGraph build() { return builder_.build(); }

 private:
  StepGraphBuilder builder_{"sketch", {"gpu"}};
};

/// What the timer gives, in units; both timers in turn.
struct Timed {
  Timed(bool reference, const StepGraph& graph, const Machine& machine, const StepPlacement& placement)
      : timer(reference ? make_reference_timer(graph, machine) : make_fast_timer(graph, machine)),
        timing(timer->time(placement, &line)) {}
  double units() const { return static_cast<double>(timing.makespan) / kMs; }
  double start(int op) const {
    for (const StepTimeline::Run& run : line.runs)
      if (run.op == op) return static_cast<double>(run.start) / kMs;
    return -1;
  }
  StepTimeline line;
  std::unique_ptr<StepTimer> timer;
  const StepResult& timing;
};

}  // namespace

TEST_CASE("one device runs one operation at a time, those that are ready longest first") {
  const bool reference = GENERATE(false, true);
  Sketch s;
  // c is ready at 0 beside a; b only when a ends at 2. FIFO: a 0-2, c 2-5, b 5-6.
  const int a = s.op("a", 2), b = s.op("b", 1), c = s.op("c", 3);
  s.feed(a, 0, {b});
  const StepGraph graph = s.build();
  const Machine machine = ported(1, kByteAMs, 0);
  const Timed t(reference, graph, machine, {.device_of_op = std::vector{0, 0, 0}});
  CHECK(t.units() == 6);
  CHECK(t.start(c) == 2);
  CHECK(t.start(b) == 5);
  CHECK(t.timing.busy == std::vector<Tick>{6 * kMs});
}

TEST_CASE("by critical path the longest way to the end goes first") {
  const bool reference = GENERATE(false, true);
  Sketch s;
  // a, b, c are ready at 0; d (5, on the other device) follows c. FIFO: a 0-1, b 1-2, c 2-3, d 3-8: 8. By ways to the end c has
  // 1 + 5 = 6, a and b 1: c 0-1, d 1-6, a 1-2, b 2-3: 6.
  s.op("a", 1);
  s.op("b", 1);
  const int c = s.op("c", 1), d = s.op("d", 5);
  s.feed(c, 0, {d});
  const StepGraph graph = s.build();
  const Machine machine = ported(2, kByteAMs, 0);
  const std::vector<std::int32_t> placement = {0, 0, 0, 1};
  CHECK(Timed(reference, graph, machine, {.device_of_op = placement}).units() == 8);
  CHECK(Timed(reference, graph, machine, {.device_of_op = placement, .order = StepOrder::critical_path}).units() == 6);
  // Given priorities b, a, c: b 0-1, a 1-2, c 2-3, d 3-8.
  const std::vector<std::int64_t> priority = {2, 3, 1, 0};
  const Timed t(reference, graph, machine, {.device_of_op = placement, .order = StepOrder::given, .priority = priority});
  CHECK(t.units() == 8);
  CHECK(t.start(1) == 0);
  CHECK(t.start(0) == 1);
}

TEST_CASE("a transfer pays its latency, then its bytes; one of a tensor serves all its readers there") {
  const bool reference = GENERATE(false, true);
  Sketch s;
  // a 0-1 on 0; latency 2, 4 bytes: arrives at 1 + 2 + 4 = 7; b 7-8, c 8-9 on device 1: one transfer for both.
  const int a = s.op("a", 1), b = s.op("b", 1), c = s.op("c", 1);
  s.feed(a, 4, {b, c});
  const StepGraph graph = s.build();
  const Machine machine = ported(2, kByteAMs, 2 * kMsInS);
  const Timed t(reference, graph, machine, {.device_of_op = std::vector{0, 1, 1}});
  CHECK(t.units() == 9);
  CHECK(t.timing.transfers == 1);
  CHECK(t.timing.transferred_bytes == 4);
  REQUIRE(t.line.transfers.size() == 1);
  CHECK(t.line.transfers[0].ready == 1 * kMs);
  CHECK(t.line.transfers[0].start == 3 * kMs);
  CHECK(t.line.transfers[0].end == 7 * kMs);
}

TEST_CASE("transfers share links by max-min") {
  const bool reference = GENERATE(false, true);
  Sketch s;
  // a on 0 ends at 1 and sends 2 bytes to 1 and 6 bytes to 2 over its one port: half a byte a unit each. The first arrives at
  // 1 + 4 = 5; the second has had 2, and gets the whole port for its last 4: 9. b 5-6, c 9-10.
  const int a = s.op("a", 1), b = s.op("b", 1), c = s.op("c", 1);
  s.feed(a, 2, {b});
  s.feed(a, 6, {c});
  const StepGraph graph = s.build();
  const Machine machine = ported(3, kByteAMs, 0);
  const Timed t(reference, graph, machine, {.device_of_op = std::vector{0, 1, 2}});
  CHECK(t.start(b) == 5);
  CHECK(t.start(c) == 9);
  CHECK(t.units() == 10);
}

TEST_CASE("a flow takes what another one cannot use") {
  const bool reference = GENERATE(false, true);
  // Ports of 1 byte a unit in and out. Three flows: 0->2, 1->2 of 4 bytes each, and 0->3 of 6. Port in of 2: 1/2 each; 0's port
  // out leaves 1/2 for 0->3. After 8 units 0->2 and 1->2 are done, 0->3 has 4 of its 6 bytes, and ends alone at 8 + 2 = 10.
  Sketch s;
  const int a = s.op("a", 0), b = s.op("b", 0), c = s.op("c", 1), d = s.op("d", 1);
  s.feed(a, 4, {c});
  s.feed(b, 4, {c});
  s.feed(a, 6, {d});
  const StepGraph graph = s.build();
  const Machine machine = ported(4, kByteAMs, 0);
  const Timed t(reference, graph, machine, {.device_of_op = std::vector{0, 1, 2, 3}});
  CHECK(t.start(c) == 8);
  CHECK(t.start(d) == 10);
}

TEST_CASE("operations of equal cost that end together are handled in the order of their indices") {
  const bool reference = GENERATE(false, true);
  // a and b end at 1 on devices 0 and 1 and make c and d ready at 1 on device 2, without latency and bytes: c 1-2, d 2-3.
  Sketch s;
  const int a = s.op("a", 1), b = s.op("b", 1), c = s.op("c", 1), d = s.op("d", 1);
  s.feed(b, 0, {c});
  s.feed(a, 0, {d});
  const StepGraph graph = s.build();
  const Machine machine = ported(3, kByteAMs, 0);
  const Timed t(reference, graph, machine, {.device_of_op = std::vector{0, 1, 2, 2}});
  CHECK(t.start(c) == 1);
  CHECK(t.start(d) == 2);
}

TEST_CASE("memory is counted by who still needs it") {
  const bool reference = GENERATE(false, true);
  Sketch s;
  // All on device 0. Resident: 1000. a makes 100 with a workspace of 50: 1150. b reads it, makes 30: 1130 while it runs, then
  // a's 100 are free: 1030. c reads b's: makes 500: 1530, the peak.
  const int a = s.op("a", 1, 50, 1000), b = s.op("b", 1), c = s.op("c", 1), d = s.op("d", 1);
  s.feed(a, 100, {b});
  s.feed(b, 30, {c});
  s.feed(c, 500, {d});
  const StepGraph graph = s.build();
  const Machine machine = ported(2, kByteAMs, 0);
  CHECK(Timed(reference, graph, machine, {.device_of_op = std::vector{0, 0, 0, 0}}).timing.peak_memory_bytes ==
        std::vector<std::int64_t>{1530, 0});
  // d on device 1: c's 500 lie there from when c ends until d does. On 0 the most is still c's: 1000 + 30 + 500.
  CHECK(Timed(reference, graph, machine, {.device_of_op = std::vector{0, 0, 0, 1}}).timing.peak_memory_bytes ==
        std::vector<std::int64_t>{1530, 500});
}

TEST_CASE("a tensor that is held takes memory only elsewhere") {
  const bool reference = GENERATE(false, true);
  Sketch s;
  const int a = s.op("a", 1, 0, 10), b = s.op("b", 1), c = s.op("c", 1);
  s.feed(a, 100, {b, c}, true);
  const StepGraph graph = s.build();
  const Machine machine = ported(2, kByteAMs, 0);
  CHECK(Timed(reference, graph, machine, {.device_of_op = std::vector{0, 0, 1}}).timing.peak_memory_bytes ==
        std::vector<std::int64_t>{10, 100});
}

TEST_CASE("out of memory names device, operation and bytes") {
  const bool reference = GENERATE(false, true);
  Sketch s;
  // 200 bytes of memory. a's parameters leave 80; a's output of 60 fits: 20 left. b wants 40 with 20 left.
  const int a = s.op("a", 1, 0, 120), b = s.op("b", 1), c = s.op("c", 1);
  s.feed(a, 60, {b, c});
  s.feed(b, 40, {c});
  const StepGraph graph = s.build();
  const Machine machine = ported(2, kByteAMs, 0, 200);
  const Timed here(reference, graph, machine, {.device_of_op = std::vector{0, 0, 0}});
  CHECK(here.timing.out_of_memory.device == 0);
  CHECK(here.timing.out_of_memory.op == b);
  CHECK(here.timing.out_of_memory.bytes == 40);
  CHECK(here.timing.out_of_memory.free_bytes == 20);
  CHECK(here.units() == 3);  // as if it had fitted
  const Timed apart(reference, graph, machine, {.device_of_op = std::vector{0, 1, 1}});
  CHECK_FALSE(apart.timing.out_of_memory.happened());
}

TEST_CASE("no placement beats the lower bound, and one device's makespan is its work") {
  rc::prop("random graphs", [](std::uint64_t seed) {
    Random random(seed);
    const Machine machine = random_machine(random);
    const StepGraph graph = random_graph(random, 60);
    const auto timer = make_fast_timer(graph, machine);
    const Tick bound = lower_bound(graph, machine);
    for (int i = 0; i < 5; ++i) {
      const auto placement = random_placement(random, graph.ops(), machine.devices());
      RC_ASSERT(timer->time({.device_of_op = placement}).makespan >= bound);
    }
    for (int device = 0; device < machine.devices(); ++device) {
      const std::vector<std::int32_t> all_there(graph.ops(), device);
      Tick work = 0;
      for (int op = 0; op < graph.ops(); ++op) work += graph.duration(op, device == 0 ? 1 : 0);  // the CPU is device 0
      RC_ASSERT(timer->time({.device_of_op = all_there}).makespan == work);
    }
  });
}

/// From the timeline alone: nothing runs before what it reads has arrived, nor two operations at once on a device.
TEST_CASE("precedence and devices are kept") {
  rc::prop("random graphs, in every order", [](std::uint64_t seed) {
    Random random(seed);
    const Machine machine = random_machine(random);
    const StepGraph graph = random_graph(random, 60);
    const auto timer = make_fast_timer(graph, machine);
    const auto placement = random_placement(random, graph.ops(), machine.devices());
    for (const StepOrder order : {StepOrder::fifo, StepOrder::critical_path}) {
      StepTimeline line;
      timer->time({.device_of_op = placement, .order = order}, &line);
      RC_ASSERT(static_cast<int>(line.runs.size()) == graph.ops());
      std::vector<Tick> start(graph.ops()), end(graph.ops()), free_at(machine.devices());
      for (const StepTimeline::Run& run : line.runs) {
        start[run.op] = run.start;
        end[run.op] = run.end;
        RC_ASSERT(run.start >= free_at[run.device]);
        free_at[run.device] = run.end;
      }
      std::vector<std::vector<Tick>> there(graph.tensors(), std::vector<Tick>(machine.devices(), -1));
      for (const StepTimeline::Transfer& t : line.transfers) {
        RC_ASSERT(there[t.tensor][t.to] == -1);  // once to a device
        there[t.tensor][t.to] = t.end;
        const Route route = machine.route(t.from, t.to);
        RC_ASSERT(t.start == t.ready + route.latency);
        const double alone = static_cast<double>(graph.tensor(t.tensor).bytes) / route.bandwidth_bytes_per_s * 0x1p30;
        RC_ASSERT(static_cast<double>(t.end - t.start) >= alone - 1);
      }
      for (int t = 0; t < graph.tensors(); ++t) {
        const int producer = graph.tensor(t).producer;
        for (const std::int32_t reader : graph.readers_of(t)) {
          const bool local = placement[reader] == placement[producer];
          RC_ASSERT(start[reader] >= (local ? end[producer] : there[t][placement[reader]]));
          RC_ASSERT(local || there[t][placement[reader]] >= end[producer]);
        }
      }
    }
  });
}

TEST_CASE("a timer used again gives the same") {
  rc::prop("after other placements", [](std::uint64_t seed) {
    Random random(seed);
    const Machine machine = random_machine(random);
    const StepGraph graph = random_graph(random, 60);
    const auto used = make_fast_timer(graph, machine), fresh = make_fast_timer(graph, machine);
    const auto placement = random_placement(random, graph.ops(), machine.devices());
    for (int i = 0; i < 3; ++i) used->time({.device_of_op = random_placement(random, graph.ops(), machine.devices())});
    const StepResult& a = used->time({.device_of_op = placement});
    const StepResult& b = fresh->time({.device_of_op = placement});
    RC_ASSERT(a.makespan == b.makespan);
    RC_ASSERT(a.peak_memory_bytes == b.peak_memory_bytes);
    RC_ASSERT(a.busy == b.busy);
  });
}

TEST_CASE("a placement on a device that there is not is our own mistake") {
  Sketch s;
  s.op("a", 1);
  const StepGraph graph = s.build();
  const Machine machine = ported(1, kByteAMs, 0);
  const auto timer = make_fast_timer(graph, machine);
  CHECK_THROWS_AS(timer->time({.device_of_op = std::vector{1}}), CheckFailed);
  CHECK_THROWS_AS(timer->time({.device_of_op = std::vector<std::int32_t>{}}), CheckFailed);
}
