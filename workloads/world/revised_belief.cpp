#include "workloads/world/revised_belief.hpp"

#include <algorithm>

#include "workloads/world/training_models.hpp"

namespace rehearse::workloads {

RevisedBelief::RevisedBelief(const Belief& belief, Revision revision) : base_(*belief.models_), revision_(std::move(revision)) {}

const sim::OpGraph& RevisedBelief::graph(const sim::Profile& profile) const { return base_.graph(profile); }

sim::StepTiming RevisedBelief::timing(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout,
                                      std::span<const sim::Plans> plans) const {
  return base_.timing(job, configuration, layout, plans);
}

double RevisedBelief::noise(const sim::Job&, const sim::Configuration& configuration, const sim::Layout&, int) const {
  double slower = 0;
  for (const sim::Group& group : configuration.groups) {
    const auto pool = static_cast<std::size_t>(group.pool);
    slower = std::max(slower, pool < revision_.slower_on_pool.size() ? revision_.slower_on_pool[pool] : 1.0);
  }
  return slower;
}

double RevisedBelief::checkpoint_bytes(const sim::Profile& profile) const { return base_.checkpoint_bytes(profile); }
double RevisedBelief::samples_per_epoch(const sim::Profile& profile) const { return base_.samples_per_epoch(profile); }
double RevisedBelief::evaluation_samples(const sim::Profile& profile) const { return base_.evaluation_samples(profile); }
double RevisedBelief::default_epoch_cap(const sim::Profile& profile) const { return base_.default_epoch_cap(profile); }
double RevisedBelief::evaluation_deviation(const sim::Profile& profile, double accuracy) const {
  return base_.evaluation_deviation(profile, accuracy);
}

sim::EpochOutcome RevisedBelief::train(const sim::Job& job, const sim::Configuration& configuration, double examples,
                                       sim::TrainingState& state) const {
  return base_.train_with(errors(), job, configuration, examples, state);
}

double RevisedBelief::accuracy(const sim::Job& job, const sim::TrainingState& state) const {
  return base_.accuracy_with(errors(), job, state);
}

ConvergenceErrors RevisedBelief::errors() const {
  return {.noise_scale_factor = revision_.noise_scale_factor,
          .ceiling_offset = revision_.ceiling_offset,
          .examples_factor = revision_.examples_factor};
}

}  // namespace rehearse::workloads
