#include "workloads/world/world.hpp"

#include "workloads/world/steps_timed.hpp"
#include "workloads/world/training_models.hpp"

namespace rehearse::workloads {

WorldErrors WorldErrors::scaled(double model_error) {
  const WorldErrors standard;
  const double factor = model_error / standard.model_error;
  return {.model_error = model_error,
          .sync_error = standard.sync_error * factor,
          .noise_scale_error = standard.noise_scale_error * factor,
          .ceiling_error = standard.ceiling_error * factor,
          .examples_error = standard.examples_error * factor,
          .step_noise = standard.step_noise * factor,
          .evaluation_noise = standard.evaluation_noise * factor};
}

Belief::Belief(const sim::Cluster& cluster, const ProfileModels& profiles)
    : models_(std::make_unique<TrainingModels>(cluster, profiles, nullptr, std::nullopt)) {}
Belief::~Belief() = default;
sim::Models Belief::models() const { return {models_.get(), models_.get()}; }
const ProfileModels& Belief::profiles() const { return models_->profiles(); }
const sim::Cluster& Belief::cluster() const { return models_->cluster(); }

// A belief's step times are its training models (Belief::models).
std::uint64_t steps_timed(const Belief& belief) {
  return static_cast<const TrainingModels*>(belief.models().step_times)->steps_timed();
}

World::World(const Belief& belief, const WorldErrors& errors, std::uint64_t seed, int repetition)
    : models_(std::make_unique<TrainingModels>(belief.cluster(), belief.profiles(), belief.models_.get(),
                                               WorldDraw{.errors = errors, .seed = seed, .repetition = repetition})) {}
World::~World() = default;
sim::Models World::models() const { return {models_.get(), models_.get()}; }
double World::evaluation_noise() const { return models_->evaluation_noise(); }
const std::vector<TimedReplica>& World::timed_replicas() const { return models_->timed_replicas(); }
const ProfileModels& World::profiles() const { return models_->profiles(); }
const sim::Cluster& World::cluster() const { return models_->cluster(); }

}  // namespace rehearse::workloads
