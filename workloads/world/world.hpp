// World and belief. Both answer the replay's questions about step time and convergence; the world's answers are true, the
// belief's come from data sheets and publications. They are different types, so that no policy can be handed the world by
// mistake: only strategies that are named oracles take a World.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/jobs/models.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/steps/profiles.hpp"

namespace rehearse::workloads {

/// How far the world is from the belief (docs/explain/model.md, "World and belief"). Standard deviations of logarithms, but for
/// the ceiling's; `evaluation_noise` scales the deviation of an evaluation.
struct WorldErrors {
  double model_error = 0.10;        ///< step compute time of a (model, device)
  double sync_error = 0.15;         ///< synchronisation time of a pool
  double noise_scale_error = 0.30;  ///< noise scale of a (model, dataset)
  double ceiling_error = 0.003;     ///< accuracy ceiling of a (model, dataset)
  double examples_error = 0.07;     ///< examples that a job needs
  double step_noise = 0.03;         ///< a stage's step time, and a node's
  double evaluation_noise = 1;
  // Of the shape of curves: a factor for each doubling.
  double workers_error = 0;  ///< of the workers, from one on: step time of a (model, instance)
  double batch_error = 0;    ///< of a worker's batch, from the publication's on: step compute time of a (model, device)
  double memory_error = 0;   ///< what a model needs of a device's memory
  /// The world's equations have another form than the belief's: how exchanges join computation, time against a worker's batch,
  /// and what a step is worth at a noise scale. Nothing of it is drawn.
  bool is_of_other_form = false;

  /// Each error scaled by model_error / 0.10.
  static WorldErrors scaled(double model_error);
  /// As measurements are from predictions (docs/explain/model.md): of devices that were calibrated, and by data sheets alone.
  static WorldErrors calibrated();
  static WorldErrors datasheet();
  /// As `datasheet`, in a world of another form.
  static WorldErrors other_form();
  void scale(double factor);
  /// Nothing is drawn; the form may be another all the same.
  bool none() const;

 private:
  std::array<double*, 10> all();
};

class TrainingModels;

class Belief {
 public:
  /// Everything must outlive the belief.
  Belief(const sim::Cluster& cluster, const ProfileModels& profiles);
  ~Belief();
  sim::Models models() const;
  const ProfileModels& profiles() const;
  const sim::Cluster& cluster() const;

 private:
  friend class World;
  friend class RevisedBelief;
  std::unique_ptr<TrainingModels> models_;
};

/// Drawn once for each (seed, repetition), the same for all policies.
class World {
 public:
  World(const Belief& belief, const WorldErrors& errors, std::uint64_t seed, int repetition);
  ~World();
  sim::Models models() const;
  /// Factor of an evaluation's deviation.
  double evaluation_noise() const;
  /// Every model-parallel step that was timed so far, in order; one may stand there several times.
  const std::vector<TimedReplica>& timed_replicas() const;
  const ProfileModels& profiles() const;
  const sim::Cluster& cluster() const;

 private:
  std::unique_ptr<TrainingModels> models_;
};

// The world without what nobody can know beforehand: the speed of single stages and nodes, and what an evaluation happens to
// read. What is left lasts: speeds of models and networks, noise scales, ceilings, the examples that a job needs. A job ends with
// the first evaluation that reads its target, one of several near it, so that each is taken to read one deviation more than there
// is; of two in a row, which end most jobs, not. For yardsticks alone.

class PlainWorld final : public sim::StepTimes, public sim::Convergence {
 public:
  /// The world must outlive it.
  explicit PlainWorld(const World& world) : world_(world.models()), evaluation_noise_(world.evaluation_noise()) {}
  sim::Models models() const { return {this, this}; }

  const sim::OpGraph& graph(const sim::Profile& profile) const override { return world_.step_times->graph(profile); }
  sim::StepTiming timing(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout,
                         std::span<const sim::Plans> plans) const override {
    return world_.step_times->timing(job, configuration, layout, plans);
  }
  double noise(const sim::Job&, const sim::Configuration&, const sim::Layout&, int) const override { return 1; }
  double checkpoint_bytes(const sim::Profile& profile) const override { return world_.step_times->checkpoint_bytes(profile); }

  std::uint64_t individuality(const sim::Job& job) const override { return world_.convergence->individuality(job); }
  double samples_per_epoch(const sim::Profile& profile) const override { return world_.convergence->samples_per_epoch(profile); }
  double evaluation_samples(const sim::Profile& profile) const override {
    return world_.convergence->evaluation_samples(profile);
  }
  double default_epoch_cap(const sim::Profile& profile) const override { return world_.convergence->default_epoch_cap(profile); }
  sim::EpochOutcome train(const sim::Job& job, const sim::Configuration& configuration, double examples,
                          sim::TrainingState& state) const override {
    return world_.convergence->train(job, configuration, examples, state);
  }
  double accuracy(const sim::Job& job, const sim::TrainingState& state) const override {
    return world_.convergence->accuracy(job, state);
  }
  double measured_accuracy(const sim::Job& job, int, double accuracy) const override {
    return job.readings > 1 ? accuracy : accuracy + evaluation_noise_ * evaluation_deviation(*job.profile, accuracy);
  }
  double evaluation_deviation(const sim::Profile& profile, double accuracy) const override {
    return world_.convergence->evaluation_deviation(profile, accuracy);
  }

 private:
  const sim::Models world_;
  const double evaluation_noise_;
};

// A belief about one job, corrected by what it or others like it have shown: the noise scale, the ceilings, the examples that it
// needs, the speed of pools.

struct Revision {
  double noise_scale_factor = 1;
  double ceiling_offset = 0;           ///< added to every phase's ceiling
  double examples_factor = 1;          ///< the same progress needs so many times the examples
  std::vector<double> slower_on_pool;  ///< step times over the believed ones; 1 for pools beyond its end
};

class RevisedBelief final : public sim::StepTimes, public sim::Convergence {
 public:
  /// The belief must outlive it.
  RevisedBelief(const Belief& belief, Revision revision);
  sim::Models models() const { return {this, this}; }

  const sim::OpGraph& graph(const sim::Profile& profile) const override;
  sim::StepTiming timing(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout,
                         std::span<const sim::Plans> plans) const override;
  double noise(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout, int stage) const override;
  double checkpoint_bytes(const sim::Profile& profile) const override;

  std::uint64_t individuality(const sim::Job&) const override { return 0; }
  double samples_per_epoch(const sim::Profile& profile) const override;
  double evaluation_samples(const sim::Profile& profile) const override;
  double default_epoch_cap(const sim::Profile& profile) const override;
  sim::EpochOutcome train(const sim::Job& job, const sim::Configuration& configuration, double examples,
                          sim::TrainingState& state) const override;
  double accuracy(const sim::Job& job, const sim::TrainingState& state) const override;
  double measured_accuracy(const sim::Job&, int, double accuracy) const override { return accuracy; }
  double evaluation_deviation(const sim::Profile& profile, double accuracy) const override;

 private:
  ConvergenceErrors errors() const;

  const TrainingModels& base_;
  const Revision revision_;
};

// How much a policy asks of the step model.

/// How many different steps of the belief were timed so far.
std::uint64_t steps_timed(const Belief& belief);

}  // namespace rehearse::workloads
