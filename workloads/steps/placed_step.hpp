// One step of a model-parallel replica: a model's operations on the GPUs of one node, by the step level.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/step_graph.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/profiles.hpp"

namespace rehearse::workloads {

/// Where a replica runs, and how. What it refers to must outlive it.
struct ReplicaSetting {
  const ProfileModel* model = nullptr;
  const sim::Cluster* cluster = nullptr;
  int pool = 0;
  int gpus = 0;           ///< of a node
  Conditions conditions;  ///< its batch is the whole replica's
};

/// Device i is the node's worker i; there is no CPU.
sim::Machine replica_machine(const ReplicaSetting& setting);

/// Its one class is the GPU. `groups`: co-location group of each operation; empty: none.
sim::StepGraph replica_graph(const ReplicaSetting& setting, std::span<const int> groups = {});

struct ReplicaTime {
  sim::Tick makespan = 0;
  double busy_fraction = 1;  ///< of the devices' time in the makespan, on average
  double memory_bytes = 0;   ///< on the fullest device, the framework's own included
  bool fits = true;
};

using MakeTimer = std::unique_ptr<sim::StepTimer> (*)(const sim::StepGraph&, const sim::Machine&);

/// By the timer that `make` makes.
ReplicaTime time_replica(const ReplicaSetting& setting, std::span<const sim::DeviceIndex> device_of_op, MakeTimer make);

/// What a replay has timed by the fast timer, to be timed again by the reference.
struct TimedReplica {
  int profile = 0, pool = 0, gpus = 0;
  double batch = 0, time_factor = 1, power_limit_w = 0;
  std::vector<sim::DeviceIndex> device_of_op;
  sim::Tick makespan = 0;
};

/// The setting behind it.
ReplicaSetting setting_of(const TimedReplica& timed, const ProfileModel& model, const sim::Cluster& cluster,
                          sim::Precision precision);

// An operation graph at one batch size on given devices: what the step timers take (docs/explain/step.md, "Step level").

/// How the gradients of parameters that several time steps read are summed.
enum class GradientSum : std::uint8_t {
  in_place,  ///< each time step adds to the gradient's buffer, one after the other
  add_n      ///< each makes a term of its own, kept until all are there; the update adds them (TensorFlow's default, AddN)
};

struct StepGraphOptions {
  Conditions conditions;
  Optimizer optimizer = Optimizer::momentum;
  std::span<const int> groups = {};  ///< co-location group of each operation; empty: none
  GradientSum gradient_sum = GradientSum::in_place;
};

/// Classes are the devices' names, in their order (sim::class_devices). Durations are op_duration_s's, bytes are rounded up to
/// whole ones. Edges of one producer and one size carry one tensor; gradients on their way to an update lie in the gradient's
/// buffer; what a layer keeps privately for its backward pass is a tensor of its own. With GradientSum::add_n terms go to the
/// update's device, which reads them all; those of embeddings, of few rows each, are still added in place. Throws what
/// StepGraphBuilder::build throws.
sim::StepGraph step_graph_of(const sim::OpGraph& graph, std::span<const sim::Device> devices, const StepGraphOptions& options);

}  // namespace rehearse::workloads
