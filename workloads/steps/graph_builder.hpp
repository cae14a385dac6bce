// From layers to the operation graph of one training step: forward, backward, update.
#pragma once

#include "sim/step/op_graph.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

enum class Optimizer { sgd, momentum, adam };

/// Numbers that an optimiser keeps for each parameter, besides the parameter and its gradient.
constexpr int optimizer_slots(Optimizer o) { return o == Optimizer::adam ? 2 : o == Optimizer::momentum ? 1 : 0; }

struct GraphOptions {
  Optimizer optimizer = Optimizer::momentum;
  double stored_bytes_per_sample = 0;  ///< of a sample as it is read from storage
  /// Each time step of recurrent layers, and of the layers of such a network that treat every position alike (attention by
  /// its queries), becomes operations of its own, so that steps of several layers can run side by side.
  bool unroll = false;
};

/// The graph of one step of one replica. Gradients are taken of every `Loss`; data gradients that nobody needs (those of the
/// first layer) are left out. An edge is a tensor that one operation hands to another, activations kept for the backward pass
/// included. Throws sim::InputError when a layer cannot work (infer_shapes).
/// The operations of an unrolled graph add up to those of the plain one: FLOPs, bytes, kept activations and parameters, which lie
/// in a `variable` where several steps read them. Parameter gradients are summed step by step, in place.
sim::OpGraph build_graph(const Network& network, const GraphOptions& options = {});

}  // namespace rehearse::workloads
