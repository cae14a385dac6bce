#include "sim/replay/alone_stages.hpp"

#include <tuple>

#include "sim/replay/epochs.hpp"

namespace rehearse::sim {

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
          .usd_per_s = usd_per_s(cluster_, rules_, configuration),
          .idle_w = power_w(cluster_, configuration, 0),
          .busy_w = power_w(cluster_, configuration, timing.busy_fraction)};
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
  take_up_batch(job, batch_before, choice.configuration.batch_size(), rules_, convergence, training.end.training);
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
  const auto hold = [&](const Configuration& c, double seconds) {
    const StageRates& r = rates(job, c);
    cost += {.time_s = seconds, .cost_usd = r.usd_per_s * seconds, .energy_j = r.idle_w * seconds};
  };
  if (held != nullptr) hold(*held, rules_.checkpoint_s);
  hold(next, start_seconds(job, rules_, *models_.step_times, held != nullptr));
  return cost;
}

StageCost StageRunner::running(const StageRates& rates, const StageTraining& training, double slower) {
  const double seconds = slower * (training.epochs * rates.epoch.training_s + training.evaluations * rates.epoch.evaluation_s);
  return {.time_s = seconds, .cost_usd = rates.usd_per_s * seconds, .energy_j = rates.busy_w * seconds};
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
