#include "sim/replay/alone_stages.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/units.hpp"
#include "sim/replay/epochs.hpp"

namespace rehearse::sim {

namespace {

/// Dates are on a grid, and each phase ends on one (sim/base/units.hpp).
StageCost held_for(double seconds, double usd_per_s, double watts) {
  const double whole_s = on_date_grid(seconds);
  return {.time_s = whole_s, .cost_usd = usd_per_s * whole_s, .energy_j = watts * whole_s};
}

}  // namespace

StageCost& StageCost::operator+=(const StageCost& other) {
  time_s += other.time_s;
  cost_usd += other.cost_usd;
  energy_j += other.energy_j;
  return *this;
}

bool StageRunner::Less::operator()(const Key& a, const Key& b) const {
  const auto rest = [](const Key& k) {
    return std::make_tuple(k.profile, k.sync.kind, k.sync.servers, k.power_limit_w, k.groups.size());
  };
  if (rest(a) != rest(b)) return rest(a) < rest(b);
  for (std::size_t g = 0; g < a.groups.size(); ++g) {
    const auto group = [g](const Key& k) {
      return std::tie(k.groups[g].pool, k.groups[g].workers, k.groups[g].batch_per_worker);
    };
    if (group(a) != group(b)) return group(a) < group(b);
  }
  return false;
}

StageRates StageRunner::compute(const Job& job, const Configuration& configuration) const {
  StageRates rates;
  if (!could_ever_fit(cluster_, configuration)) return rates;
  const Layout layout = empty_cluster_layout(cluster_, configuration);
  const std::vector<Plans> plans = ask_plans(policy_, *models_.step_times, cluster_, job, configuration, layout);
  const StepTiming timing = models_.step_times->timing(job, configuration, layout, plans);
  if (!timing.fits) return rates;
  return {.fits = true,
          .epoch = epoch_times(job, configuration, *models_.convergence, timing),
          .step_s = timing.step_s,
          .profiling_s = timing.profiling_s,
          .usd_per_s = usd_per_s(cluster_, rules_, configuration),
          .idle_w = power_w(cluster_, configuration, 0),
          .busy_w = power_w(cluster_, configuration, timing.power_fraction)};
}

const StageRates& StageRunner::rates(const Job& job, const Configuration& configuration) {
  Key key{.profile = job.profile->index,
          .groups = configuration.groups,
          .sync = configuration.sync,
          .power_limit_w = configuration.power_limit_w};
  const auto known = rates_.find(key);
  if (known != rates_.end()) return known->second;
  return rates_.emplace(std::move(key), compute(job, configuration)).first->second;
}

StageTraining StageRunner::train(const Job& job, const Choice& choice, Progress from, double batch_before) const {
  const Convergence& convergence = *models_.convergence;
  const double cap = epoch_cap(job, choice.predicted.epochs, convergence);
  StageTraining training{.end = std::move(from)};
  take_up_batch(job, batch_before, choice.configuration.batch_size(), rules_, models_, training.end.training);
  const TrainingEnd end = train_epochs(job, choice.configuration, std::min(cap, choice.until_epochs), convergence, training.end,
                                       [&](const EpochStep& step, const Progress&) {
                                         training.epochs += step.part;
                                         training.evaluations += step.outcome.diverged ? 0 : 1;
                                         training.noise_scale = step.outcome.noise_scale;
                                       });
  if (end == TrainingEnd::failed) training.failure = FailureReason::cannot_converge;
  training.ended = end != TrainingEnd::epochs || training.end.epochs_trained >= cap;
  return training;
}

StageCost StageRunner::switching(const Job& job, const Configuration* held, const Configuration& next) {
  if (held != nullptr && *held == next) return {};
  StageCost cost;
  if (held != nullptr) {
    const StageRates& old = rates(job, *held);
    cost += held_for(rules_.checkpoint_s, old.usd_per_s, old.idle_w);
  }
  const StageRates& r = rates(job, next);
  cost += held_for(start_seconds(job, rules_, models_, held != nullptr) + r.profiling_s, r.usd_per_s, r.idle_w);
  return cost;
}

StageCost StageRunner::running(const StageRates& rates, const StageTraining& training, double slower) {
  // Summed as the replay sums, epoch by epoch, so that both round to the same date.
  double seconds = 0, left = training.epochs;
  for (int e = 0; e < training.evaluations; ++e) {
    const double part = std::min(1.0, left);
    seconds += part * rates.epoch.training_s * slower;
    seconds += rates.epoch.evaluation_s * slower;
    left -= part;
  }
  seconds += left * rates.epoch.training_s * slower;  // epochs that diverged
  return held_for(seconds, rates.usd_per_s, rates.busy_w);
}

double StageRunner::noise(const Job& job, const Configuration& configuration, int stage) const {
  return models_.step_times->noise(job, configuration, empty_cluster_layout(cluster_, configuration), stage);
}

bool StageRunner::run(const Job& job, const Choice& choice, Standing& standing) {
  const StageRates& r = rates(job, choice.configuration);
  if (!r.fits) return false;
  const StageTraining training =
      train(job, choice, standing.progress, standing.held != nullptr ? standing.held->batch_size() : 0);
  const double slower = noise(job, choice.configuration, standing.stages);
  StageCost cost = switching(job, standing.held, choice.configuration);
  cost += running(r, training, slower);
  standing.progress = training.end;
  standing.held = &choice.configuration;
  ++standing.stages;
  standing.time_s += cost.time_s;
  standing.cost_usd += cost.cost_usd;
  standing.energy_j += cost.energy_j;
  standing.step_s = r.step_s * slower;
  standing.noise_scale = training.noise_scale;
  standing.ended = training.ended;
  standing.failure = training.failure;
  return true;
}

}  // namespace rehearse::sim
