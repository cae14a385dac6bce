// A host that dispatches: worked by hand, and the fast timer against the reference.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "sim/step/bfc_pool.hpp"
#include "sim/step/step_timer.hpp"
#include "tests/sim/step/made_up.hpp"

using namespace rehearse::sim;
using namespace rehearse::tests;

namespace {

constexpr Tick kUnit = 1 << 20;
const double kUnitInS = seconds_of(kUnit);
constexpr double kByteAUnit = 1024;  // of a link: bytes a second that move a byte in a unit

/// `ops` operations of these units, each of which reads the one before.
StepGraph chain(std::initializer_list<int> units, std::int64_t bytes = 4) {
  StepGraphBuilder builder("chain", {"gpu"});
  int before = -1;
  for (const int duration : units) {
    const int op = builder.add_op({.name = "op"}, std::vector{duration * kUnitInS});
    if (before >= 0) builder.add_reader(before, op);
    before = builder.add_tensor({.producer = op, .bytes = bytes});
  }
  return builder.build();
}

HostModel host(const StepGraph& graph, int dispatch, int send = 0, int threads = 8) {
  return {std::vector<Tick>(static_cast<std::size_t>(graph.ops()), dispatch * kUnit), send * kUnit, threads};
}

double units(bool reference, const StepGraph& graph, const Machine& machine, const HostModel& model,
             const std::vector<std::int32_t>& placement) {
  const auto timer = reference ? make_reference_timer(graph, machine, model) : make_fast_timer(graph, machine, model);
  return static_cast<double>(timer->time({.device_of_op = placement}).makespan) / kUnit;
}

}  // namespace

TEST_CASE("a stream runs while the host issues what comes next", "[host]") {
  const bool reference = GENERATE(false, true);
  const Machine machine = ported(1, kByteAUnit, 0);
  // Issued at 1, 5 units until 6; the next one is issued at 2 and waits on the stream until 6: 8.
  CHECK(units(reference, chain({5, 2}), machine, host(chain({5, 2}), 1), {0, 0}) == 8);
  // Issued at 3 and 6, one unit each: the host sets the pace, 7.
  CHECK(units(reference, chain({1, 1}), machine, host(chain({1, 1}), 3), {0, 0}) == 7);
  // Without work on the device: three times 3.
  CHECK(units(reference, chain({0, 0, 0}), machine, host(chain({0, 0, 0}), 3), {0, 0, 0}) == 9);
}

TEST_CASE("a tensor is sent by the executor once it is made, and its reader issued when it is there", "[host]") {
  const bool reference = GENERATE(false, true);
  const Machine machine = ported(2, kByteAUnit, kUnitInS);
  // Issued at 1, made at 6; the send takes the executor from 1 to 3; latency from 6 to 7, 4 bytes to 11; issued at 12, 2 units.
  CHECK(units(reference, chain({5, 2}), machine, host(chain({5, 2}), 1, 2), {0, 1}) == 14);
  // Order alone waits for the host, not for the stream: 1, send 3, latency 4, issued at 5, 2 units; the first ends at 6.
  CHECK(units(reference, chain({5, 2}, 0), machine, host(chain({5, 2}, 0), 1, 2), {0, 1}) == 7);
  // So that at issues without time it would end at 5, where both after each other take 7.
  CHECK(units(reference, chain({5, 2}, 0), machine, host(chain({5, 2}, 0), 0, 0), {0, 1}) == 5);
  CHECK(lower_bound(chain({5, 2}, 0), machine, true) == 5 * kUnit);
  CHECK(lower_bound(chain({5, 2}, 0), machine) == 7 * kUnit);
  CHECK(lower_bound(chain({5, 2}), machine, true) == 7 * kUnit);
}

TEST_CASE("executors share the host's threads", "[host]") {
  const bool reference = GENERATE(false, true);
  StepGraphBuilder builder("two", {"gpu"});
  for (int i = 0; i < 2; ++i) builder.add_op({.name = "op"}, std::vector{kUnitInS});
  const StepGraph graph = builder.build();
  const Machine machine = ported(2, kByteAUnit, 0);
  CHECK(units(reference, graph, machine, host(graph, 3, 0, 2), {0, 1}) == 4);  // side by side
  CHECK(units(reference, graph, machine, host(graph, 3, 0, 1), {0, 1}) == 7);  // one after the other
}

TEST_CASE("a CPU's operation keeps its executor", "[host]") {
  const bool reference = GENERATE(false, true);
  MachineBuilder builder;
  builder.add_class("gpu");
  builder.add_device({.name = "cpu", .kind = DeviceKind::cpu, .memory_bytes = 1000});
  builder.add_link({"unused", LinkKind::other, 1});
  const Machine machine = builder.build();
  // 1 + 5, then 1 + 2.
  CHECK(units(reference, chain({5, 2}), machine, host(chain({5, 2}), 1), {0, 0}) == 9);
}

TEST_CASE("memory is given back when the last reader is issued", "[host]") {
  const StepGraph graph = chain({5, 5, 5}, 100);
  const Machine machine = ported(1, kByteAUnit, 0);
  const HostModel model = host(graph, 1);
  const auto timer = make_fast_timer(graph, machine, model);
  // Two of three tensors at a time, while the first kernel still runs.
  CHECK(timer->time({.device_of_op = std::vector<std::int32_t>{0, 0, 0}}).peak_memory_bytes[0] == 200);
}

TEST_CASE("chunks of memory, by hand", "[host]") {
  BfcPool pool(4096);
  const std::int32_t a = pool.take(1000), b = pool.take(1), c = pool.take(1024);  // 0 to 1024, to 1280, to 2304
  CHECK(pool.size_of(a) == 1024);
  CHECK(pool.size_of(b) == 256);
  pool.give(a);
  // 1792 bytes are free behind, 1024 in front: the smaller chunk is taken, whole, as a half of it is less than what is asked for.
  const std::int32_t d = pool.take(600);
  CHECK(pool.size_of(d) == 1024);
  pool.give(d);
  CHECK(pool.size_of(pool.take(500)) == 512);  // now it is cut
  // 512 and 1792 are free, in two places: 2048 fit nowhere, though 2304 are free.
  CHECK_FALSE(pool.exceeded());
  const std::int32_t e = pool.take(2048);
  CHECK(pool.exceeded());
  CHECK(pool.region() == 4096 + 2048);
  pool.give(e);
  pool.give(c);
  CHECK(pool.size_of(pool.take(2816)) == 2816);  // what c left and what lay behind it are one chunk again
  CHECK(pool.take(0) == -1);
}

TEST_CASE("chunks never overlap, and all that is given back is one chunk again") {
  rc::prop("whatever the order", [](std::uint64_t seed) {
    Random random(seed);
    constexpr std::int64_t kAll = 1 << 20;
    BfcPool pool(kAll);
    std::vector<std::int32_t> taken;
    std::int64_t used = 0;
    for (int i = 0; i < 200; ++i) {
      if (taken.empty() || random.below(3) > 0) {
        const auto bytes = static_cast<std::int64_t>(1 + random.below(20'000));
        taken.push_back(pool.take(bytes));
        RC_ASSERT(pool.size_of(taken.back()) >= bytes);
        used += pool.size_of(taken.back());
        RC_ASSERT(used <= pool.region());
      } else {
        const std::size_t which = random.below(taken.size());
        used -= pool.size_of(taken[which]);
        pool.give(taken[which]);
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    for (const std::int32_t chunk : taken) pool.give(chunk);
    const std::int64_t before = pool.region();
    RC_ASSERT(pool.size_of(pool.take(kAll)) == kAll);
    RC_ASSERT(pool.region() == before);
  });
}

TEST_CASE("with a host the fast timer and the reference agree") {
  rc::prop("to 1e-9", [](std::uint64_t seed) {
    Random random(seed);
    const Machine machine = random_machine(random);
    const StepGraph graph = random_graph(random, 80);
    const auto placement = random_placement(random, graph.ops(), machine.devices());
    HostModel model{.send = pick<Tick>(random, {0, 5000, 10'000}),
                    .threads = 1 + static_cast<int>(random.below(8)),
                    .chunks = random.below(2) == 0};
    const bool equal = random.below(2) == 0;
    for (int op = 0; op < graph.ops(); ++op)
      model.dispatch.push_back(equal ? pick<Tick>(random, {0, 10'000, 10'000}) : static_cast<Tick>(random.below(100'000)));
    const auto fast = make_fast_timer(graph, machine, model), reference = make_reference_timer(graph, machine, model);
    StepTimeline line;
    const StepResult a = fast->time({.device_of_op = placement}, &line), b = reference->time({.device_of_op = placement});
    RC_ASSERT(std::abs(a.makespan_s() - b.makespan_s()) <= 1e-9 * b.makespan_s());
    RC_ASSERT(a.busy == b.busy);
    RC_ASSERT(a.peak_memory_bytes == b.peak_memory_bytes);
    RC_ASSERT(a.transfers == b.transfers);
    RC_ASSERT(a.transferred_bytes == b.transferred_bytes);
    // What each thread does is done one after the other, and so is what lies on a stream.
    RC_ASSERT(a.makespan >= lower_bound(graph, machine, true));
    const Tick all = std::accumulate(model.dispatch.begin(), model.dispatch.end(), Tick{0});
    RC_ASSERT(a.makespan >= all / std::min(model.threads, machine.devices()));
    std::vector<Tick> free_at(machine.devices());
    RC_ASSERT(line.runs.size() == static_cast<std::size_t>(graph.ops()));
    for (const StepTimeline::Run& run : line.runs) {
      if (run.end == run.start) continue;
      RC_ASSERT(run.start >= free_at[run.device]);
      free_at[run.device] = run.end;
    }
  });
}
