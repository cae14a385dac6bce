#include "sim/step/machine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

// The machine that a catalogue's instance is: GPUs under PCIe switches under sockets, NVLink where there is, nodes joined by
// NICs.

namespace {

// Data sheets' figures less protocol: PCIe 3.0 x16 moves about 12 GB/s of 15.75 (bandwidthTest of CUDA's samples), QPI at 9.6
// GT/s 19.2 GB/s a direction.
constexpr Link kPcie = {.bandwidth_bytes_per_s = 1.2e10, .latency_s = 1e-5};
constexpr Link kQpi = {.bandwidth_bytes_per_s = 1.92e10, .latency_s = 1e-6};
constexpr double kFasterThanPcie = 2e10;  // x16 of the fourth generation reach 25e9 only in new machines, which have NVLink

/// Both directions of a link.
struct Pair {
  int up = -1, down = -1;
};

class Wiring {
 public:
  Wiring(const Cluster& cluster, const Instance& instance, const NodeWiring& wiring, const MachineOptions& options)
      : cluster_(cluster), instance_(instance), wiring_(wiring), options_(options) {}

  Machine build() {
    check_instance();
    const int cpu_class = options_.with_cpu ? builder_.add_class(cluster_.devices[instance_.cpu].name) : -1;
    const int gpu_class = gpus_ > 0 ? builder_.add_class(cluster_.devices[instance_.gpus[0].device].name) : -1;
    for (int node = 0; node < options_.nodes; ++node) add_node(node, cpu_class, gpu_class);
    for (const Place& from : places_)
      for (const Place& to : places_)
        if (from.device != to.device) connect(from, to);
    return builder_.build();
  }

 private:
  /// Where a device stands; the CPU at socket 0.
  struct Place {
    int device = 0, node = 0, socket = 0;
    int bus = -1;  // its PCIe switch, -1 for the CPU
    Pair port, nvlink;
  };

  void check_instance() {
    Mistakes mistakes;
    const int available = instance_.gpus.empty() ? 0 : instance_.gpus[0].count;
    gpus_ = options_.gpus < 0 ? available : options_.gpus;
    if (options_.with_cpu && instance_.cpu < 0)
      mistakes.add({.pointer = "instance " + instance_.name, .expected = "a CPU among its devices", .found = "none"});
    if (gpus_ > available)
      mistakes.add({.pointer = "instance " + instance_.name,
                    .expected = std::to_string(gpus_) + " GPUs",
                    .found = std::to_string(available)});
    if (options_.nodes < 1) mistakes.add({.pointer = "nodes", .expected = "1 or more", .found = std::to_string(options_.nodes)});
    mistakes.throw_if_any();
  }

  Pair add_links(const std::string& name, LinkKind kind, const Link& link) {
    return {.up = builder_.add_link({name + " out", kind, link.bandwidth_bytes_per_s}),
            .down = builder_.add_link({name + " in", kind, link.bandwidth_bytes_per_s})};
  }

  std::int64_t usable(double bytes, double context_bytes) const {
    return whole<std::int64_t>(std::max(0.0, options_.usable_memory * bytes - context_bytes), "bytes of a device's memory");
  }

  void add_node(int node, int cpu_class, int gpu_class) {
    const std::string prefix = options_.nodes > 1 ? "node" + std::to_string(node) + "/" : "";
    if (options_.with_cpu) add_cpu(prefix, cpu_class, node);
    if (options_.nodes > 1) nics_.push_back(add_links(prefix + "nic", LinkKind::nic, instance_.network));
    for (int gpu = 0; gpu < gpus_; ++gpu) add_gpu(gpu, prefix, gpu_class, node);
    const int sockets = places_.empty() ? 0 : places_.back().socket + 1;
    if (sockets > 1) qpi_.resize(node + 1);
    if (sockets > 1) qpi_[node] = add_links(prefix + "qpi", LinkKind::qpi, wiring_.qpi);
  }

  void add_cpu(const std::string& prefix, int cpu_class, int node) {
    Place host{.node = node};
    host.device = builder_.add_device({.name = prefix + "cpu",
                                       .device_class = cpu_class,
                                       .kind = DeviceKind::cpu,
                                       .memory_bytes = usable(instance_.memory_bytes, 0),
                                       .cores = cluster_.devices[instance_.cpu].cores});
    places_.push_back(host);
  }

  void add_gpu(int gpu, const std::string& prefix, int gpu_class, int node) {
    const Device& device = cluster_.devices[instance_.gpus[0].device];
    const std::string name = prefix + "gpu" + std::to_string(gpu);
    const int bus = gpu / wiring_.gpus_per_switch;
    Place place{.node = node, .socket = bus / wiring_.switches_per_socket};
    place.device = builder_.add_device({.name = name,
                                        .device_class = gpu_class,
                                        .kind = DeviceKind::gpu,
                                        .memory_bytes = usable(device.memory_bytes, options_.context_bytes)});
    place.port = add_links(name + " pcie", LinkKind::pcie, wiring_.pcie);
    if (wiring_.gpu_to_gpu.bandwidth_bytes_per_s > 0)
      place.nvlink = add_links(name + " nvlink", LinkKind::nvlink, wiring_.gpu_to_gpu);
    if (gpu % wiring_.gpus_per_switch == 0)
      uplinks_.push_back(add_links(prefix + "pcie switch" + std::to_string(bus), LinkKind::pcie_switch, wiring_.uplink));
    place.bus = static_cast<int>(uplinks_.size()) - 1;
    places_.push_back(place);
  }

  void connect(const Place& from, const Place& to) {
    const bool gpus = from.bus >= 0 && to.bus >= 0, inside = from.node == to.node;
    if (gpus && inside && from.nvlink.up >= 0) {
      builder_.set_route(from.device, to.device, {from.nvlink.up, to.nvlink.down}, wiring_.gpu_to_gpu.latency_s);
      return;
    }
    std::vector<std::int32_t> links;
    double latency_s = wiring_.pcie.latency_s;
    const bool over_host = !inside || from.bus != to.bus;
    if (from.bus >= 0) links.push_back(from.port.up);
    if (from.bus >= 0 && over_host) links.push_back(uplinks_[from.bus].up);
    if (inside && from.socket != to.socket) {
      links.push_back(from.socket < to.socket ? qpi_[from.node].up : qpi_[from.node].down);
      latency_s += wiring_.qpi.latency_s;
    }
    if (!inside) {
      links.push_back(nics_[from.node].up);
      links.push_back(nics_[to.node].down);
      latency_s += instance_.network.latency_s;
    }
    if (to.bus >= 0 && over_host) links.push_back(uplinks_[to.bus].down);
    if (to.bus >= 0) links.push_back(to.port.down);
    builder_.set_route(from.device, to.device, std::move(links), latency_s);
  }

  const Cluster& cluster_;
  const Instance& instance_;
  const NodeWiring& wiring_;
  const MachineOptions& options_;
  int gpus_ = 0;
  MachineBuilder builder_;
  std::vector<Place> places_;
  std::vector<Pair> uplinks_, qpi_, nics_;
};

}  // namespace

NodeWiring wiring_of(const Instance& instance) {
  NodeWiring wiring{.pcie = kPcie, .gpu_to_gpu = {}, .uplink = kPcie, .qpi = kQpi};
  if (instance.inside.bandwidth_bytes_per_s > kFasterThanPcie)
    wiring.gpu_to_gpu = instance.inside;
  else if (instance.inside.bandwidth_bytes_per_s > 0)
    wiring.pcie = wiring.uplink = instance.inside;
  return wiring;
}

Machine machine_of(const Cluster& cluster, const Instance& instance, const NodeWiring& wiring, const MachineOptions& options) {
  return Wiring(cluster, instance, wiring, options).build();
}

std::vector<Device> class_devices(const Cluster& cluster, const Instance& instance) {
  std::vector<Device> result;
  if (instance.cpu >= 0) result.push_back(cluster.devices[instance.cpu]);
  if (!instance.gpus.empty()) result.push_back(cluster.devices[instance.gpus[0].device]);
  return result;
}

}  // namespace rehearse::sim
