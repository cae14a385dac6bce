#include "experiments/studies/placement_pictures.hpp"

#include <algorithm>

#include "report/graph_dot.hpp"
#include "report/plots/timeline.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::scenarios {

namespace {

/// The device of each group; -1 where its operations lie on several.
std::vector<int> devices_of_groups(const policies::Groups& groups, const std::vector<std::int32_t>& device_of_op) {
  constexpr int kNone = -2;
  std::vector<int> devices(static_cast<std::size_t>(groups.count), kNone);
  for (std::size_t op = 0; op < device_of_op.size(); ++op) {
    int& device = devices[static_cast<std::size_t>(groups.of_op[op])];
    device = device == kNone || device == device_of_op[op] ? device_of_op[op] : -1;
  }
  return devices;
}

}  // namespace

void write_pictures(const ResultsFolder& folder, const std::string& name, const PlacementCase& placed,
                    const std::vector<std::int32_t>& device_of_op) {
  std::vector<std::string> names;
  for (int d = 0; d < placed.machine.devices(); ++d) names.push_back(placed.machine.device(d).name);
  const std::vector<int> devices = devices_of_groups(placed.groups, device_of_op);
  const report::DotGraph graph = report::dot_graph(placed.graph);
  const bool by_group = std::find(devices.begin(), devices.end(), -1) == devices.end();
  folder.write("placement-" + name + ".dot",
               by_group ? to_dot(grouped(graph, placed.groups.of_op), devices, names) : to_dot(graph, device_of_op, names));
  sim::StepTimeline timeline;
  sim::make_fast_timer(placed.graph, placed.machine)->time({.device_of_op = device_of_op}, &timeline);
  folder.write("timeline-" + name + ".json", report::step_timeline_json(placed.graph, placed.machine, timeline));
}

}  // namespace rehearse::scenarios
