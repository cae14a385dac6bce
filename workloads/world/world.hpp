// World and belief. Both answer the replay's questions about step time and convergence; the world's answers are true, the
// belief's come from data sheets and publications. They are different types, so that no policy can be handed the world by
// mistake: only strategies that are named oracles take a World.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/jobs/models.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/steps/profile_models.hpp"

namespace rehearse::workloads {

/// How far the world is from the belief (docs/explain/model.md, "World and belief"). Standard deviations of logarithms, but for the
/// ceiling's; `evaluation_noise` scales the deviation of an evaluation.
struct WorldErrors {
  double model_error = 0.10;        ///< step compute time of a (model, device)
  double sync_error = 0.15;         ///< synchronisation time of a pool
  double noise_scale_error = 0.30;  ///< noise scale of a (model, dataset)
  double ceiling_error = 0.003;     ///< accuracy ceiling of a (model, dataset)
  double examples_error = 0.07;     ///< examples that a job needs
  double step_noise = 0.03;         ///< a stage's step time, and a node's
  double evaluation_noise = 1;

  /// Each error scaled by model_error / 0.10.
  static WorldErrors scaled(double model_error);
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

}  // namespace rehearse::workloads
