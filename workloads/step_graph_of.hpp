// An operation graph at one batch size on given devices: what the step timers take (docs/model.md, "Step level").
#pragma once

#include <span>

#include "sim/step/step_graph.hpp"
#include "workloads/graph_builder.hpp"
#include "workloads/op_time.hpp"

namespace rehearse::workloads {

struct StepGraphOptions {
  Conditions conditions;
  Optimizer optimizer = Optimizer::momentum;
  std::span<const int> groups = {};  ///< co-location group of each operation; empty: none
};

/// Classes are the devices' names, in their order (sim::class_devices). Durations are op_duration_s's, bytes are rounded up to
/// whole ones. Edges of one producer and one size carry one tensor; gradients on their way to an update lie in the gradient's
/// buffer; what a layer keeps privately for its backward pass is a tensor of its own. Throws what StepGraphBuilder::build throws.
sim::StepGraph step_graph_of(const sim::OpGraph& graph, std::span<const sim::Device> devices, const StepGraphOptions& options);

}  // namespace rehearse::workloads
