// METIS (Karypis and Kumar, SIAM J. Scientific Computing 20(1), 1998): the fewest bytes between devices, work in the ratio of
// their speeds.
#include <metis.h>

#include <array>

#include "policies/place/methods/methods.hpp"
#include "policies/place/placement_graph.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

static_assert(sizeof(idx_t) == sizeof(std::int32_t) && sizeof(real_t) == sizeof(float));

DeviceOfGroup Metis::place(const PlacementView& view, PlacementEvaluator&) {
  const PlacementGraph groups(view);
  const std::vector<std::int32_t> devices = all_devices(view.machine());
  idx_t vertices = groups.groups(), parts = static_cast<idx_t>(devices.size()), constraints = 1, cut = 0;
  std::vector<idx_t> part_of(static_cast<std::size_t>(vertices), 0);
  // Its recursive bisection splits at least once: of one part it makes two.
  if (parts == 1) return devices_of_parts(part_of, devices);
  // METIS complains on stdout, and leaves parts empty, when there are hardly more vertices than parts.
  if (vertices <= parts) {
    for (idx_t v = 0; v < vertices; ++v) part_of[static_cast<std::size_t>(v)] = v;
    return devices_of_parts(part_of, devices);
  }
  PartitionGraph graph = partition_graph(groups, view.machine());
  std::vector<real_t> targets;
  for (const double share : device_shares(groups, devices)) targets.push_back(static_cast<real_t>(share));
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = static_cast<idx_t>(view.random_key() & 0x7fffffff);
  if (graph.neighbour.empty()) graph.neighbour.push_back(0), graph.bytes.push_back(1);  // no null pointers
  // Recursive bisection is METIS's own choice for up to 8 parts.
  const int status =
      METIS_PartGraphRecursive(&vertices, &constraints, graph.first.data(), graph.neighbour.data(), graph.work.data(), nullptr,
                               graph.bytes.data(), &parts, targets.data(), nullptr, options.data(), &cut, part_of.data());
  sim::check(status == METIS_OK, "METIS found a partition");
  return devices_of_parts(part_of, devices);
}

}  // namespace rehearse::policies
