// One training step in TensorFlow's operations at one batch size on given devices, and the host that issues it.
#pragma once

#include <span>

#include "sim/cluster/cluster.hpp"
#include "sim/step/step_graph.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/tensorflow/tensorflow.hpp"

namespace rehearse::workloads {

/// Seconds of a host's thread to issue an operation of each kind (docs/explain/step.md, "A host that dispatches": sources).
struct TfHostCosts {
  double metadata_s = 1e-6, elementwise_s = 1e-5, movement_s = 2e-5, product_s = 3e-5, library_s = 1e-4;
  double send_s = 1e-5;
  double factor = 1;  ///< of all of them
  int threads = 0;    ///< executors that work at once; 0: as many as there are devices
};

struct TfStep {
  sim::StepGraph graph;
  sim::HostModel host;
};

/// Classes are the devices' names. Durations are the devices' alone, without launches; operations of metadata have none. Memory
/// is taken in TensorFlow's pieces of 256 bytes; parameters and slots lie with their variables, gradients are tensors like
/// others. `groups`: co-location group of each operation; may be empty.
TfStep tensorflow_step(const TensorFlowGraph& made, std::span<const sim::Device> devices, double batch, const TfHostCosts& costs,
                       std::span<const int> groups = {});

}  // namespace rehearse::workloads
