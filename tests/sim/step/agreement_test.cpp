// The fast timer against the reference, whose network is SimGrid's: random graphs, machines, placements and orders.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/step/step_timer.hpp"
#include "tests/sim/step/made_up.hpp"

using namespace rehearse::sim;
using namespace rehearse::tests;

namespace {

void compare(const StepResult& fast, const StepResult& reference) {
  RC_ASSERT(std::abs(fast.makespan_s() - reference.makespan_s()) <= 1e-9 * reference.makespan_s());
  RC_ASSERT(fast.busy == reference.busy);
  RC_ASSERT(fast.peak_memory_bytes == reference.peak_memory_bytes);
  RC_ASSERT(fast.transfers == reference.transfers);
  RC_ASSERT(fast.transferred_bytes == reference.transferred_bytes);
  RC_ASSERT(fast.out_of_memory.device == reference.out_of_memory.device);
  RC_ASSERT(fast.out_of_memory.op == reference.out_of_memory.op);
  RC_ASSERT(fast.out_of_memory.bytes == reference.out_of_memory.bytes);
}

}  // namespace

TEST_CASE("the fast timer and the reference agree") {
  rc::prop("to 1e-9, on graphs of equal and unequal costs", [](std::uint64_t seed) {
    Random random(seed);
    const Machine machine = random_machine(random);
    const StepGraph graph = random_graph(random, 80);
    const auto placement = random_placement(random, graph.ops(), machine.devices());
    std::vector<std::int64_t> priority(graph.ops());
    for (std::int64_t& p : priority) p = static_cast<std::int64_t>(random.below(5));
    const auto fast = make_fast_timer(graph, machine), reference = make_reference_timer(graph, machine);
    for (const StepOrder order : {StepOrder::fifo, StepOrder::critical_path, StepOrder::given}) {
      const StepPlacement given{.device_of_op = placement, .order = order, .priority = priority};
      StepTimeline fast_line, reference_line;
      compare(fast->time(given, &fast_line), reference->time(given, &reference_line));
      RC_ASSERT(fast_line.runs.size() == reference_line.runs.size());
      for (std::size_t i = 0; i < fast_line.runs.size(); ++i) {
        RC_ASSERT(fast_line.runs[i].op == reference_line.runs[i].op);
        RC_ASSERT(std::abs(fast_line.runs[i].start - reference_line.runs[i].start) <= 1);
      }
    }
  });
}
