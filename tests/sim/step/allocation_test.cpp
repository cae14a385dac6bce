// The fast timer's promise to searches: after the first calls it takes no memory. Counts every operator new of this program.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <vector>

#include "tests/policies/place/toys.hpp"

namespace {

long allocations = 0;

}  // namespace

// Not inlined: half of a pair within a caller looks mismatched to the compiler.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rehearse::tests {

TEST_CASE("timing a step allocates nothing after the first calls") {
  sim::Random random(5);
  const sim::StepGraph graph = random_graph(random, 200);
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu", "gpu"});
  std::vector<std::vector<std::int32_t>> placements(32);
  for (auto& placement : placements)
    for (int op = 0; op < graph.ops(); ++op) placement.push_back(static_cast<std::int32_t>(random.below(4)));
  const auto timer = sim::make_fast_timer(graph, machine);
  const auto time_all = [&](sim::StepOrder order) {
    const long before = allocations;
    for (const auto& placement : placements) timer->time({.device_of_op = placement, .order = order});
    return allocations - before;
  };
  for (const sim::StepOrder order : {sim::StepOrder::fifo, sim::StepOrder::critical_path}) {
    time_all(order);
    CHECK(time_all(order) == 0);
  }
  // The counter counts.
  const long before = allocations;
  const std::vector<int> some(100, 1);
  CHECK(allocations > before);
  CHECK(some.size() == 100);
}

}  // namespace rehearse::tests
