#include "sim/replay/alone.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/replay/epochs.hpp"

namespace rehearse::sim {

namespace {

constexpr std::size_t kMostTrainings = 200'000;

/// NaN targets would never compare equal.
double comparable(double target) { return std::isnan(target) ? -1 : target; }

}  // namespace

bool AloneOutcome::keeps_limits(const Job& job, double deviation) const {
  return fits && failure == FailureReason::none && (!job.has_deadline() || time_s <= job.deadline_s) &&
         (!job.has_cost_limit() || cost_usd <= job.cost_limit_usd) &&
         (!job.has_target() || accuracy >= job.target_accuracy - 2 * deviation);
}

std::size_t AloneRunner::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = Random::mix(key.individuality + static_cast<std::uint64_t>(key.profile) * 2 + (key.budget ? 1 : 0));
  for (const double value : {key.cap, key.target, key.batch, key.learning_rate})
    hash = Random::mix(hash ^ std::bit_cast<std::uint64_t>(value));
  return Random::mix(hash ^ static_cast<std::uint64_t>(key.asynchronous_workers));
}

AloneRunner::Training AloneRunner::train(const Job& job, const Configuration& configuration, double cap) const {
  Training done;
  Progress now;
  const TrainingEnd end =
      train_epochs(job, configuration, cap, *models_.convergence, now, [&](const EpochStep& step, const Progress&) {
        (step.outcome.diverged ? done.epochs_lost : done.epochs_trained) += step.part;
        done.evaluations += step.outcome.diverged ? 0 : 1;
      });
  done.divergences = now.divergences;
  done.accuracy = now.accuracy;
  if (end == TrainingEnd::failed) done.failure = FailureReason::cannot_converge;
  return done;
}

const AloneRunner::Training& AloneRunner::training(const Job& job, const Configuration& configuration, double cap) {
  const Key key{.profile = job.profile->index,
                .individuality = models_.convergence->individuality(job),
                .cap = cap,
                .target = comparable(job.target_accuracy),
                .batch = configuration.batch_size(),
                .learning_rate = configuration.learning_rate,
                .budget = job.stop == Stop::budget,
                .asynchronous_workers = configuration.sync.kind == SyncKind::servers_async ? configuration.workers() : 0};
  const auto known = trainings_.find(key);
  if (known != trainings_.end()) return known->second;
  if (trainings_.size() >= kMostTrainings) trainings_.clear();
  return trainings_.emplace(key, train(job, configuration, cap)).first->second;
}

AloneOutcome AloneRunner::run(const Job& job, const Choice& choice) {
  AloneOutcome outcome;
  const Configuration& configuration = choice.configuration;
  if (!could_ever_fit(cluster_, configuration)) return outcome;
  double running_s = job.duration_s, start_s = 0, collect_s = 0, power = 1;
  if (job.work != Work::rigid) {
    const Layout layout = empty_cluster_layout(cluster_, configuration);
    const std::vector<Plans> plans = ask_plans(policy_, *models_.step_times, cluster_, job, configuration, layout);
    StepTiming timing = models_.step_times->timing(job, configuration, layout, plans);
    if (!timing.fits) return outcome;
    const double noise = models_.step_times->noise(job, configuration, layout, 0);
    timing.step_s *= noise;
    timing.forward_s *= noise;
    outcome.step_s = timing.step_s;
    start_s = start_seconds(job, rules_, models_, false) + timing.profiling_s;
    power = timing.power_fraction;
    if (job.work == Work::steps) {
      running_s = job.steps * timing.step_s;
    } else {
      const Training& done = training(job, configuration, epoch_cap(job, choice.predicted.epochs, *models_.convergence));
      const EpochTimes times = epoch_times(job, configuration, *models_.convergence, timing);
      running_s = (done.epochs_trained + done.epochs_lost) * times.training_s + done.evaluations * times.evaluation_s;
      outcome.accuracy = done.accuracy;
      outcome.epochs = done.evaluations + done.divergences;
      outcome.failure = done.failure;
    }
  }
  if (job.work != Work::rigid && outcome.failure == FailureReason::none) collect_s = rules_.collect_s;
  outcome.fits = true;
  outcome.time_s = start_s + running_s + collect_s;
  outcome.cost_usd = usd_for(cluster_, rules_, configuration, outcome.time_s);
  outcome.energy_j =
      power_w(cluster_, configuration, 0) * (start_s + collect_s) + power_w(cluster_, configuration, power) * running_s;
  return outcome;
}

}  // namespace rehearse::sim
