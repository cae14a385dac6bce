#include "sim/step/machine.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

bool Machine::has_cpu() const {
  return std::any_of(devices_.begin(), devices_.end(), [](const MachineDevice& d) { return d.kind == DeviceKind::cpu; });
}

int MachineBuilder::add_class(std::string name) {
  machine_.classes_.push_back(std::move(name));
  return static_cast<int>(machine_.classes_.size()) - 1;
}

int MachineBuilder::add_device(MachineDevice device) {
  machine_.devices_.push_back(std::move(device));
  return machine_.devices() - 1;
}

int MachineBuilder::add_link(MachineLink link) {
  machine_.links_.push_back(std::move(link));
  return static_cast<int>(machine_.links_.size()) - 1;
}

void MachineBuilder::set_route(int from, int to, std::vector<std::int32_t> links, double latency_s) {
  std::sort(links.begin(), links.end());
  routes_.push_back({std::move(links), latency_s, from, to});
}

void MachineBuilder::check_parts(Mistakes& mistakes) const {
  if (machine_.devices_.empty()) mistakes.add({.pointer = "devices", .expected = "a device", .found = "none"});
  for (const MachineDevice& device : machine_.devices_) {
    if (device.memory_bytes < 0)
      mistakes.add({.pointer = "device " + device.name,
                    .expected = "0 bytes of memory or more",
                    .found = std::to_string(device.memory_bytes)});
    if (device.device_class < 0 || device.device_class >= static_cast<int>(machine_.classes_.size()))
      mistakes.add({.pointer = "device " + device.name, .expected = "a class of devices", .found = "none"});
  }
  for (const MachineLink& link : machine_.links_)
    if (!(link.bandwidth_bytes_per_s > 0) || !std::isfinite(link.bandwidth_bytes_per_s))
      mistakes.add({.pointer = "link " + link.name,
                    .expected = "a bandwidth above 0, finite",
                    .found = std::to_string(link.bandwidth_bytes_per_s)});
}

/// The route of each pair of devices, null where none was given.
std::vector<const MachineBuilder::Given*> MachineBuilder::routes_of_pairs(Mistakes& mistakes) const {
  const int devices = machine_.devices(), links = static_cast<int>(machine_.links_.size());
  std::vector<const Given*> of_pair(static_cast<std::size_t>(devices) * devices);
  for (const Given& route : routes_) {
    const bool known = route.from >= 0 && route.from < devices && route.to >= 0 && route.to < devices && route.from != route.to;
    const bool whole = !route.links.empty() && route.links.front() >= 0 && route.links.back() < links &&
                       std::adjacent_find(route.links.begin(), route.links.end()) == route.links.end();
    if (known && whole && route.latency_s >= 0 && route.latency_s * 0x1p30 < 0x1p62)
      of_pair[static_cast<std::size_t>(route.from) * devices + route.to] = &route;
    else
      mistakes.add({.pointer = "route " + std::to_string(route.from) + " -> " + std::to_string(route.to),
                    .expected = "two devices, links that there are, each once, and a latency of 0 s or more",
                    .found = std::to_string(route.links.size()) + " links, " + std::to_string(route.latency_s) + " s"});
  }
  return of_pair;
}

void MachineBuilder::add_way(const Given* route) {
  Machine::Way& way = machine_.ways_.emplace_back();
  way.first = static_cast<std::int32_t>(machine_.way_links_.size());
  if (route == nullptr) return;
  way.count = static_cast<std::int32_t>(route->links.size());
  way.latency = ticks_up(route->latency_s);
  way.bandwidth_bytes_per_s = machine_.links_[route->links[0]].bandwidth_bytes_per_s;
  for (const std::int32_t link : route->links) {
    machine_.way_links_.push_back(link);
    way.bandwidth_bytes_per_s = std::min(way.bandwidth_bytes_per_s, machine_.links_[link].bandwidth_bytes_per_s);
  }
}

Machine MachineBuilder::build() {
  Mistakes mistakes;
  check_parts(mistakes);
  const std::vector<const Given*> of_pair = routes_of_pairs(mistakes);
  mistakes.throw_if_any();
  for (int from = 0; from < machine_.devices(); ++from)
    for (int to = 0; to < machine_.devices(); ++to) {
      const Given* route = of_pair[static_cast<std::size_t>(from) * machine_.devices() + to];
      if (from != to && route == nullptr)
        mistakes.add({.pointer = "device " + machine_.devices_[from].name,
                      .expected = "a route to device " + machine_.devices_[to].name,
                      .found = "none"});
      add_way(route);
    }
  mistakes.throw_if_any();
  return std::move(machine_);
}

}  // namespace rehearse::sim
