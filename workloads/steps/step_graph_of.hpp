// An operation graph at one batch size on given devices: what the step timers take (docs/explain/model.md, "Step level").
#pragma once

#include <cstdint>
#include <span>

#include "sim/step/step_graph.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/steps/op_time.hpp"

namespace rehearse::workloads {

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
