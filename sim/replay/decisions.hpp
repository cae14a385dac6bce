// The decisions of a policy as the replay asks for them. Views are read-only; answers are plain values, and every one is
// validated (sim/replay/validate.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/configuration.hpp"
#include "sim/replay/job.hpp"
#include "sim/replay/models.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::sim {

/// What a job has shown when a stage ends: measured, with the world's noise.
struct StageSeen {
  Configuration configuration;  ///< of the stage
  int stages = 0;               ///< ended so far, this one included
  double epochs = 0;            ///< trained
  double examples = 0;          ///< samples trained on
  double accuracy = 0;          ///< last evaluation
  double noise_scale = 0;       ///< as read, samples
  double step_s = 0;            ///< of this stage
  double elapsed_s = 0;         ///< since the job was submitted
  double cost_usd = 0;          ///< of the job so far
  int divergences = 0;
};

/// `configure`: at a job's arrival, ranks the whole menu of configurations. Never asked about rigid jobs.
class Configurator {
 public:
  virtual ~Configurator() = default;
  virtual Menu configure(const Job& job, double now_s) = 0;
  /// At the end of a stage of a choice with `until_epochs`; `seen` has all stages so far. The first choice whose devices are free
  /// counts, those that the job holds included; a job never goes back to the queue. Without any, it keeps what it has to its end.
  virtual Menu configure_again(const Job& /*job*/, std::span<const StageSeen> /*seen*/, double /*now_s*/) { return {}; }
};

/// One group of a job's configuration, on the nodes of its allocation.
struct PlaceView {
  const OpGraph* graph = nullptr;
  const Job* job = nullptr;
  const Configuration* configuration = nullptr;
  const std::vector<NodeShare>* nodes = nullptr;  ///< of the group
  const Device* worker = nullptr;
  int group = 0;            ///< index into the configuration's
  int workers_on_node = 0;  ///< of the first node
};

/// `place`: gets the GPUs of ONE node of the allocation. Answers replicas = all of them (data-parallel), or one
/// model-parallel replica (a device for each op; indices into the node's workers).
class Place {
 public:
  virtual ~Place() = default;
  virtual StepPlan place(const PlaceView& view) = 0;
};

/// `threads`: how a CPU worker runs the graph with so many samples a step.
class Threads {
 public:
  virtual ~Threads() = default;
  virtual ThreadPlan plan(const OpGraph& graph, const Device& cpu, double batch) = 0;
};

/// A job as a queue sees it.
struct QueueJob {
  Job job;
  Menu menu;
  std::uint64_t number = 0;  ///< in order of arrival
  double queued_since_s = 0;
  int first_fitting_entry = -1;  ///< of the menu, on an empty cluster
};

/// Read-only. `queued` are the slots that joined the queue since the last call, in order; `ended` those that left the
/// cluster. A discipline keeps its own ordered index from them.
struct QueueView {
  double now_s = 0;
  const Cluster* cluster = nullptr;
  std::span<const JobSlot> queued;
  std::span<const JobSlot> ended;
  std::span<const QueueJob> jobs;     ///< by slot
  std::span<const int> free_devices;  ///< by pool
};

/// `queue`: which job runs next, where.
class Queue {
 public:
  virtual ~Queue() = default;
  /// `answer` comes empty.
  virtual void decide(const QueueView& view, QueueAnswer& answer) = 0;
};

/// A policy: a named bundle of the four. All pointers are set.
struct Policy {
  std::string name;
  Configurator* configure = nullptr;
  Place* place = nullptr;
  Threads* threads = nullptr;
  Queue* queue = nullptr;
};

}  // namespace rehearse::sim
