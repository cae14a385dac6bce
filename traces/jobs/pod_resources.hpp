// What a pod of Kubernetes asks for, by the scheduler's rules, and which of it is GPUs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/base/errors.hpp"
#include "sim/io/json.hpp"

namespace rehearse::traces {

/// GPUs, or `places` parts of one of equal size.
struct PodGpus {
  double places = 0;
  double fraction = 1;
  bool mixed = false;  ///< sizes differ: these are parts of equal size that come to as much
};

/// Amounts by name: "nvidia.com/gpu", "cpu", "memory" in bytes.
class PodResources {
 public:
  /// Takes the amounts of all names in a list of resources, {NAME: QUANTITY}; names of anything but devices, cores and memory
  /// are left out.
  void replace(sim::JsonValue resources, sim::Mistakes& mistakes);
  void replace(const PodResources& other);
  void add(const PodResources& other, double times);
  /// Of each name the larger amount.
  void raise(const PodResources& other);
  double of(std::string_view name) const;
  PodGpus gpus() const;
  /// All names of devices with their amounts: "aliyun.com/gpu-mem: 8"; "none".
  std::string devices() const;

 private:
  std::map<std::string, double, std::less<>> amounts_;
};

/// Of the pod's `spec`: the larger of what all containers ask for together and what any init container does; init containers that
/// go on (restartPolicy Always) count beside the containers, and beside the init containers after them. A container that has
/// limits without requests asks for its limits. Kubernetes' documentation, "Init Containers", "Sidecar Containers" and "Pod
/// Overhead"; amounts of the pod as a whole ("Pod-level resource specification") come before those of its containers.
PodResources pod_request(sim::JsonValue spec, sim::Mistakes& mistakes);

}  // namespace rehearse::traces
