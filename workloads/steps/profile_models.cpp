#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/layers/layer_cost.hpp"
#include "workloads/steps/profiles.hpp"

namespace rehearse::workloads {

void ProfileModels::add(ProfileModelInputs inputs) {
  StepModel step(inputs.graph);
  MemoryModel memory(inputs.graph, inputs.optimizer);
  const double checkpoint_bytes = kBytesPerNumber * inputs.graph.parameters * (1 + optimizer_slots(inputs.optimizer));
  models_.push_back({.graph = std::move(inputs.graph),
                     .step = std::move(step),
                     .memory = std::move(memory),
                     .model = std::move(inputs.model),
                     .dataset = std::move(inputs.dataset),
                     .optimizer = inputs.optimizer,
                     .training_samples = inputs.training_samples,
                     .validation_samples = inputs.validation_samples,
                     .publication_batch = inputs.publication_batch,
                     .checkpoint_bytes = checkpoint_bytes,
                     .convergence = std::move(inputs.convergence),
                     .max_accumulation = inputs.max_accumulation,
                     .measured = std::move(inputs.measured)});
}

int ProfileModel::passes(double batch, const sim::Device& device, sim::Precision precision, double memory_factor) const {
  for (int n = 1; n <= max_accumulation && (n == 1 || n <= batch); n *= 2)
    if (memory.bytes(std::ceil(batch / n), precision) * memory_factor <= kUsableMemory * device.memory_bytes) return n;
  return 0;
}

MemoryModel::MemoryModel(const sim::OpGraph& graph, Optimizer optimizer)
    : fixed_bytes_(kBytesPerNumber * graph.parameters * (2 + optimizer_slots(optimizer)) + kBucketBytes + kContextBytes) {
  for (const sim::Op& op : graph.ops) {
    saved_bytes_per_sample_ += op.saved_bytes.per_sample;
    workspace_bytes_per_sample_ = std::max(workspace_bytes_per_sample_, op.workspace_bytes.per_sample);
  }
}

double MemoryModel::bytes(double batch, sim::Precision precision) const {
  const double size = is_half(precision) ? 0.5 : 1;
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
