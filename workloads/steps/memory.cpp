#include "workloads/steps/memory.hpp"

#include <algorithm>

#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {

MemoryModel::MemoryModel(const sim::OpGraph& graph, Optimizer optimizer)
    : fixed_bytes_(kBytesPerNumber * graph.parameters * (2 + optimizer_slots(optimizer)) + kBucketBytes + kContextBytes) {
  for (const sim::Op& op : graph.ops) {
    saved_bytes_per_sample_ += op.saved_bytes.per_sample;
    workspace_bytes_per_sample_ = std::max(workspace_bytes_per_sample_, op.workspace_bytes.per_sample);
  }
}

double MemoryModel::bytes(double batch, sim::Precision precision) const {
  const double size = precision == sim::Precision::fp16 ? 0.5 : 1;
  return fixed_bytes_ + batch * size * saved_bytes_per_sample_ +
         std::min(kLargestWorkspaceBytes, batch * size * workspace_bytes_per_sample_);
}

bool MemoryModel::fits(double batch, const sim::Device& device, sim::Precision precision) const {
  return bytes(batch, precision) <= kUsableMemory * device.memory_bytes;
}

int MemoryModel::largest_batch(const sim::Device& device, sim::Precision precision) const {
  int fitting = 0, too_large = 1 << 30;
  if (fits(too_large, device, precision)) return too_large;
  while (too_large - fitting > 1) {
    const int middle = fitting + (too_large - fitting) / 2;
    (fits(middle, device, precision) ? fitting : too_large) = middle;
  }
  return fitting;
}

}  // namespace rehearse::workloads
