#include "policies/place/partition_graph.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::policies {

namespace {

/// Scales to a sum of about 2^24, which leaves partitioners room for products of weights.
std::vector<std::int32_t> scaled(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  std::vector<std::int32_t> whole;
  for (const double v : values)
    whole.push_back(std::max(1, static_cast<std::int32_t>(std::lround(sum > 0 ? v / sum * 0x1p24 : 0))));
  return whole;
}

}  // namespace

PartitionGraph partition_graph(const PlacementGraph& groups, const sim::Machine& machine) {
  const std::int32_t gpu = fastest_device(groups, machine, gpus_or_all(machine));
  PartitionGraph graph;
  std::vector<double> work, bytes;
  graph.first.push_back(0);
  for (int g = 0; g < groups.groups(); ++g) {
    work.push_back(static_cast<double>(groups.duration(g, gpu)));
    for (const PlacementGraph::Arc& arc : groups.arcs(g)) {
      graph.neighbour.push_back(arc.group);
      bytes.push_back(static_cast<double>(arc.bytes()));
    }
    graph.first.push_back(static_cast<std::int32_t>(graph.neighbour.size()));
  }
  graph.work = scaled(work);
  graph.bytes = scaled(bytes);
  return graph;
}

std::vector<double> device_shares(const PlacementGraph& groups, std::span<const std::int32_t> devices) {
  std::vector<double> shares;
  double sum = 0;
  for (const std::int32_t d : devices) {
    const auto work = static_cast<double>(groups.work(d));
    shares.push_back(1 / std::max(1.0, work));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

DeviceOfGroup devices_of_parts(std::span<const std::int32_t> parts, std::span<const std::int32_t> devices) {
  DeviceOfGroup answer;
  for (const std::int32_t part : parts) answer.push_back(devices[static_cast<std::size_t>(part)]);
  return answer;
}

}  // namespace rehearse::policies
