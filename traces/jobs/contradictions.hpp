// What a trace says against itself or against the cluster that it is replayed on, and can be told from one row and those before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rehearse::traces {

/// Of the scenario's cluster; where it is empty, nothing is checked against it.
struct ClusterLimits {
  std::vector<int> pool_gpus;          ///< of all nodes, in the order of Cluster::pools; a node without GPUs counts as one
  int node_gpus = 0;                   ///< of the largest node
  std::vector<std::string> gpu_types;  ///< names of devices

  /// What a rigid job on `gpus` asks for in vain, if it does; else empty. `pool` is an index, -1 for any.
  std::string too_many(double gpus, int pool) const;
  /// The same for one node, which the replay leaves by spreading the job.
  std::string too_many_for_a_node(double gpus) const;
  /// Whether one of the types in `theirs` (with | between them) is here. Names are compared without case up to the end of the
  /// shorter one: "V100M32" and "V100-SXM2-16GB" are v100.
  bool has_gpu_type(std::string_view theirs) const;
};

inline constexpr std::string_view kUnknownGpuType = "a GPU of the cluster: set aside, the job runs on any";

/// No public trace pauses as long; a clock that was set, a missing date read as 0, or pieces of two traces do.
inline constexpr double kClockJump_s = 365 * 86400.0;
inline constexpr std::string_view kClockJumps = "a date within 365 days of those before, or their clock jumped: taken as it is";

}  // namespace rehearse::traces
