#include "workloads/world/world.hpp"

#include <algorithm>

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

WorldErrors WorldErrors::calibrated() {
  WorldErrors errors;
  errors.workers_error = errors.batch_error = 0.03;
  errors.memory_error = 0.05;
  return errors;
}

WorldErrors WorldErrors::datasheet() {
  WorldErrors errors;
  errors.model_error = errors.sync_error = 0.3;
  errors.workers_error = errors.batch_error = 0.08;
  errors.memory_error = 0.15;
  return errors;
}

WorldErrors WorldErrors::other_form() {
  WorldErrors errors = datasheet();
  errors.is_of_other_form = true;
  return errors;
}

std::array<double*, 10> WorldErrors::all() {
  return {&model_error, &sync_error,       &noise_scale_error, &ceiling_error, &examples_error,
          &step_noise,  &evaluation_noise, &workers_error,     &batch_error,   &memory_error};
}

void WorldErrors::scale(double factor) {
  for (double* error : all()) *error *= factor;
}

bool WorldErrors::none() const {
  WorldErrors copy = *this;
  const auto errors = copy.all();
  return std::all_of(errors.begin(), errors.end(), [](const double* error) { return *error == 0; });
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
