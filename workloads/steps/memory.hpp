// How much memory of its device one worker needs, and the largest batch that fits (docs/explain/model.md, "Memory of a device").
#pragma once

#include "sim/cluster/cluster.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/op_graph.hpp"
#include "workloads/steps/graph_builder.hpp"

namespace rehearse::workloads {

using sim::kContextBytes;
using sim::kUsableMemory;
inline constexpr double kBucketBytes = 2 * 64e6;  ///< in which gradients are exchanged
inline constexpr double kLargestWorkspaceBytes = 512e6;

/// Sums over a graph, so that a batch's need is a few operations.
class MemoryModel {
 public:
  MemoryModel(const sim::OpGraph& graph, Optimizer optimizer);

  /// 4 P (2 + s) + b x saved outputs + largest workspace + buckets + context. Half precision halves what grows with the batch
  /// and changes nothing else: 2-byte weights and gradients beside 4-byte master weights.
  double bytes(double batch, sim::Precision precision = sim::Precision::fp32) const;
  bool fits(double batch, const sim::Device& device, sim::Precision precision = sim::Precision::fp32) const;
  /// The largest whole batch that fits; 0 when not even one sample does. At most 2^30.
  int largest_batch(const sim::Device& device, sim::Precision precision = sim::Precision::fp32) const;

 private:
  double fixed_bytes_ = 0;
  double saved_bytes_per_sample_ = 0;
  double workspace_bytes_per_sample_ = 0;  // of the largest
};

}  // namespace rehearse::workloads
