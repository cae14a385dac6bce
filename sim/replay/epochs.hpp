// Training, epoch after epoch: the one loop behind stages, estimates and plans.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/jobs/models.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::sim {

enum class TrainingEnd : std::uint8_t { epochs, target, failed };

/// What one epoch did; `part` of a whole one.
struct EpochStep {
  double part = 1;
  EpochOutcome outcome;
};

/// Trains until `until` epochs are trained, the target is measured (Stop::target), or the job diverges for the last time. A part
/// of an epoch, where it begins inside one or ends with `until`, is evaluated like a whole one. After each epoch `on_epoch(const
/// EpochStep&, const Progress& now)`.
template <class OnEpoch>
TrainingEnd train_epochs(const Job& job, const Configuration& configuration, double until, const Convergence& convergence,
                         Progress& now, OnEpoch&& on_epoch) {
  const double samples = convergence.samples_per_epoch(*job.profile);
  const bool stops_at_target = job.has_target() && job.stop == Stop::target;
  while (now.epochs_trained < until) {
    const double end = std::min(until, std::floor(now.epochs_trained) + 1);
    EpochStep step{.part = end - now.epochs_trained};
    step.outcome = convergence.train(job, configuration, step.part * samples, now.training);
    ++now.epochs;
    if (step.outcome.diverged) {
      ++now.divergences;
    } else {
      now.epochs_trained = end;
      now.accuracy = convergence.accuracy(job, now.training);
      now.measured_accuracy = convergence.measured_accuracy(job, now.epochs, now.accuracy);
    }
    on_epoch(step, now);
    if (now.divergences >= kMostDivergences) return TrainingEnd::failed;
    if (stops_at_target && !step.outcome.diverged && now.measured_accuracy >= job.target_accuracy) return TrainingEnd::target;
  }
  return TrainingEnd::epochs;
}

}  // namespace rehearse::sim
