// One step of a model-parallel replica: a model's operations on the GPUs of one node, by the step level.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/profile_models.hpp"

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

}  // namespace rehearse::workloads
