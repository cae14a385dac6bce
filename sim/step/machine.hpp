// The devices that one step runs on, and the links between them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"

namespace rehearse::sim {

inline constexpr double kUsableMemory = 0.94;   ///< of a device's capacity, before fragmentation ends a run
inline constexpr double kContextBytes = 0.6e9;  ///< of the framework and its libraries, on each GPU

struct MachineDevice {
  std::string name;
  int device_class = 0;  ///< index into Machine::class_names(): devices of one class run an operation equally fast
  DeviceKind kind = DeviceKind::gpu;
  std::int64_t memory_bytes = 0;  ///< that a step may use
  int cores = 1;                  ///< of a CPU
};

enum class LinkKind : std::uint8_t { pcie, pcie_switch, nvlink, qpi, nic, host_memory, other };

/// One direction of a link. All transfers over it share its bandwidth.
struct MachineLink {
  std::string name;
  LinkKind kind = LinkKind::other;
  double bandwidth_bytes_per_s = 0;
};

/// The way from one device to another. Its latency is paid once, before the transfer begins to share the links.
struct Route {
  std::span<const std::int32_t> links;
  Tick latency = 0;
  double bandwidth_bytes_per_s = 0;  ///< of its narrowest link
};

class Machine {
 public:
  int devices() const { return static_cast<int>(devices_.size()); }
  const MachineDevice& device(int device) const { return devices_[device]; }
  const std::vector<MachineLink>& links() const { return links_; }
  const std::vector<std::string>& class_names() const { return classes_; }
  /// From a device to another one.
  Route route(int from, int to) const {
    const Way& way = ways_[from * devices_.size() + to];
    return {std::span(way_links_).subspan(way.first, way.count), way.latency, way.bandwidth_bytes_per_s};
  }
  int way_of(int from, int to) const { return from * devices() + to; }
  bool has_cpu() const;

 private:
  friend class MachineBuilder;
  struct Way {
    std::int32_t first = 0, count = 0;
    Tick latency = 0;
    double bandwidth_bytes_per_s = 0;
  };
  Machine() = default;
  std::vector<std::string> classes_;
  std::vector<MachineDevice> devices_;
  std::vector<MachineLink> links_;
  std::vector<Way> ways_;  // of each pair
  std::vector<std::int32_t> way_links_;
};

class MachineBuilder {
 public:
  int add_class(std::string name);
  int add_device(MachineDevice device);
  int add_link(MachineLink link);
  /// Links in any order, each at most once, at least one. The latency is rounded up to the grid. One direction only.
  void set_route(int from, int to, std::vector<std::int32_t> links, double latency_s);
  /// Throws InputError: no device, a pair of devices without a route, a bandwidth that is not positive, a negative latency or
  /// memory.
  Machine build();

 private:
  struct Given {
    std::vector<std::int32_t> links;
    double latency_s = 0;
    int from = 0, to = 0;
  };
  void check_parts(Mistakes& mistakes) const;
  std::vector<const Given*> routes_of_pairs(Mistakes& mistakes) const;
  void add_way(const Given* route);
  Machine machine_;
  std::vector<Given> routes_;
};

/// How a node's devices hang together (docs/explain/step.md, "Links of a node").
struct NodeWiring {
  Link pcie;                ///< a GPU's port, each direction
  Link gpu_to_gpu;          ///< a GPU's NVLink port; bandwidth 0: none, GPUs talk over PCIe
  int gpus_per_switch = 4;  ///< that share a PCIe switch and its uplink to the host
  int switches_per_socket = 2;
  Link uplink;  ///< of a PCIe switch, each direction
  Link qpi;     ///< between two sockets, each direction
};

/// From a catalogue's entry: `inside` is the GPUs' port, NVLink when it is faster than PCIe can be.
NodeWiring wiring_of(const Instance& instance);

struct MachineOptions {
  int nodes = 1;  ///< joined by their NICs; above 1 their names begin with "node<i>/"
  int gpus = -1;  ///< of each node; -1: all that it has
  bool with_cpu = true;
  double usable_memory = kUsableMemory;
  double context_bytes = kContextBytes;
};

/// Device 0 of each node is its CPU unless there is to be none, its GPUs follow. Classes are the names of the cluster's devices.
/// Throws InputError when the instance has no CPU or fewer GPUs than asked for.
Machine machine_of(const Cluster& cluster, const Instance& instance, const NodeWiring& wiring,
                   const MachineOptions& options = {});

/// The devices behind the classes of machine_of's machines, in their order.
std::vector<Device> class_devices(const Cluster& cluster, const Instance& instance);

}  // namespace rehearse::sim
