// Operation graphs with measured times, as other people's profilers and planners wrote them (docs/guide/graphs.md).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/step/machine.hpp"
#include "sim/step/step_graph.hpp"

namespace rehearse::traces {

inline constexpr double kMillisecond = 1e-3;  ///< in which profilers give times; in seconds

struct ProfiledOp {
  std::string name, type;  ///< `type` as the file has it; may be empty
  std::int64_t id = 0;     ///< the file's
  bool backward = false;
  int colour = -1;  ///< operations of one colour stay together; -1: this one goes where it likes
  double accelerator_s = 0, cpu_s = 0;
  double resident_bytes = 0;  ///< on its device for the whole step
};

struct ProfiledEdge {
  int from = 0, to = 0;  ///< indices into ProfiledGraph::ops
  double bytes = 0;
  double transfer_s = 0;  ///< between an accelerator and its host, where the file says it
};

/// Operations are in an order in which every edge goes forward.
struct ProfiledGraph {
  std::string name;
  std::vector<ProfiledOp> ops;
  std::vector<ProfiledEdge> edges;
  bool outputs_are_resident = false;  ///< `resident_bytes` has the outputs in it; else they live until their last reader
  int accelerators = 0, cpus = 0;     ///< that the file plans for; 0: it does not say
  double accelerator_memory_bytes = 0;
};

/// Of PipeDream's profiles, which have no times of a CPU: as the dnn-partitioning layer graphs made from them.
inline constexpr double kCpuSlowdown = 10;

struct PipedreamOptions {
  bool training = true;  ///< forward and backward; else forward alone
  int slots = 1;         ///< numbers that the optimiser keeps of each parameter
};

/// PipeDream's graph.txt (Narayanan et al., SOSP 2019). Throws sim::InputError with the line of each mistake.
ProfiledGraph read_pipedream_graph(const std::string& path, const PipedreamOptions& options = {});

/// An input of msr-fiddle/dnn-partitioning (Tarnawski et al., NeurIPS 2020). Times of operations are milliseconds; costs of edges
/// are of `edge_cost_s` seconds. Throws sim::InputError.
ProfiledGraph read_dnn_partitioning_graph(const std::string& path, double edge_cost_s = 1e-3);

/// A split in that repository's format: the device of each of the graph's operations, accelerators 0, 1, ..., then CPUs. Throws
/// sim::InputError for operations that are unknown, missing or placed twice, and for more devices than the graph has.
std::vector<int> read_dnn_partitioning_split(const std::string& path, const ProfiledGraph& graph);

/// Its operations' groups are the colours.
sim::StepGraph step_graph(const ProfiledGraph& graph, std::string accelerator_class, std::string cpu_class);

/// The devices that a dnn-partitioning file plans for: accelerators 0, 1, ... with their memory, then CPUs without a limit. Each
/// accelerator has its own link to and from the host. Classes are "accelerator" and "cpu".
sim::Machine planned_machine(const ProfiledGraph& graph);

/// For planned_machine: as step_graph, but every edge has so many bytes that its transfer to or from the host takes the file's
/// time (the files' bytes of some backward edges do not go with their times).
sim::StepGraph planned_step_graph(ProfiledGraph graph);

/// Throws sim::InputError for no operation at all, and for one that nothing is joined to when there are others: a file that has
/// lost its end.
void require_joined(const ProfiledGraph& graph, std::string_view file);

/// Backward operations that read nothing get edges of 0 bytes from the forward ones that no forward operation reads: without
/// those a planner's training graph would run both passes at once.
void wait_for_forward(ProfiledGraph& graph);

/// Reorders operations so that every edge goes forward. Throws sim::InputError for a cycle.
void order_forward(ProfiledGraph& graph, std::string_view file);

// An order of operations in which every edge goes forward, or the cycle that forbids it.

struct ForwardOrder {
  std::vector<int> ops;    ///< all of them; of those that may come next the smallest index
  std::vector<int> cycle;  ///< when there is none: some operations that wait for each other, in the edges' direction
};

/// Of operations 0 to count - 1.
ForwardOrder forward_order(int count, std::span<const std::pair<int, int>> edges);

/// "a cycle through \"a\", \"b\", \"c\" and 5 more", for messages.
std::string cycle_text(const std::vector<int>& cycle, const std::function<std::string_view(int)>& name_of);

}  // namespace rehearse::traces
