#include "workloads/steps/profile_models.hpp"

#include "workloads/layers/layer_cost.hpp"

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
                     .convergence = std::move(inputs.convergence)});
}

}  // namespace rehearse::workloads
