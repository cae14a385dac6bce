#include "workloads/profile_models.hpp"

namespace rehearse::workloads {

void ProfileModels::add(ProfileModelInputs inputs) {
  StepModel step(inputs.graph);
  MemoryModel memory(inputs.graph, inputs.optimizer);
  models_.push_back({.graph = std::move(inputs.graph),
                     .step = std::move(step),
                     .memory = std::move(memory),
                     .model = std::move(inputs.model),
                     .dataset = std::move(inputs.dataset),
                     .training_samples = inputs.training_samples,
                     .validation_samples = inputs.validation_samples,
                     .publication_batch = inputs.publication_batch,
                     .convergence = std::move(inputs.convergence)});
}

}  // namespace rehearse::workloads
