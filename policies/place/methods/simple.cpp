// Placements that need no thought: yardsticks for the others.
#include <algorithm>

#include "policies/place/methods/methods.hpp"
#include "policies/place/placement_graph.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

DeviceOfGroup all_on(const PlacementView& view, std::int32_t device) {
  return DeviceOfGroup(static_cast<std::size_t>(view.groups().count), device);
}

}  // namespace

DeviceOfGroup SingleCpu::place(const PlacementView& view, PlacementEvaluator&) {
  std::int32_t cpu = 0;
  while (view.machine().device(cpu).kind != sim::DeviceKind::cpu) ++cpu;
  return all_on(view, cpu);
}

DeviceOfGroup SingleGpu::place(const PlacementView& view, PlacementEvaluator&) {
  const std::vector<std::int32_t> gpus = gpus_or_all(view.machine());
  if (view.machine().device(gpus.front()).kind != sim::DeviceKind::gpu)
    throw sim::InputError(sim::Mistake{.expected = "a GPU for single-gpu", .found = "none"});
  return all_on(view, fastest_device(PlacementGraph(view), view.machine(), gpus));
}

DeviceOfGroup RoundRobin::place(const PlacementView& view, PlacementEvaluator&) {
  const std::vector<std::int32_t> devices = gpus_or_all(view.machine());
  const PlacementGraph graph(view);
  DeviceOfGroup answer(static_cast<std::size_t>(view.groups().count));
  for (std::size_t i = 0; i < answer.size(); ++i)
    answer[static_cast<std::size_t>(graph.order()[i])] = devices[i % devices.size()];
  return answer;
}

DeviceOfGroup RandomPlacement::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const auto draw = [&](sim::Random& random) {
    DeviceOfGroup devices(static_cast<std::size_t>(view.groups().count));
    for (std::int32_t& device : devices)
      device = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(view.machine().devices())));
    return devices;
  };
  sim::Random random(view.random_key());
  if (tries_ == 1) return draw(random);
  constexpr std::int64_t kBatch = 64;
  std::int64_t left = tries_ == 0 ? evaluator.left() : std::min(tries_, evaluator.left());
  while (left > 0) {
    std::vector<DeviceOfGroup> batch(static_cast<std::size_t>(std::min(left, kBatch)));
    for (DeviceOfGroup& devices : batch) devices = draw(random);
    evaluator.score(batch);
    left -= static_cast<std::int64_t>(batch.size());
  }
  return evaluator.best();
}

}  // namespace rehearse::policies
