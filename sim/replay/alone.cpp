#include "sim/replay/alone.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "sim/replay/stage.hpp"

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
  for (const double value : {key.cap, key.target, key.readings, key.batch, key.learning_rate})
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
                .readings = job.readings,
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
  double running_s = job.duration_on_s(configuration.groups.front().pool),
         start_s = boot_seconds(cluster_, nullptr, configuration), collect_s = 0, power = 1;
  if (job.work != Work::rigid) {
    const Layout layout = empty_cluster_layout(cluster_, configuration);
    const std::vector<Plans> plans = ask_plans(policy_, *models_.step_times, cluster_, job, configuration, layout);
    StepTiming timing = models_.step_times->timing(job, configuration, layout, plans);
    if (!timing.fits) return outcome;
    const double noise = models_.step_times->noise(job, configuration, layout, 0);
    timing.step_s *= noise;
    timing.forward_s *= noise;
    outcome.step_s = timing.step_s;
    start_s = boot_seconds(cluster_, nullptr, configuration) + start_seconds(job, rules_, models_, false) + timing.profiling_s;
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
  outcome.running_s = running_s;
  outcome.time_s = start_s + running_s + collect_s;
  outcome.cost_usd = usd_for(cluster_, rules_, configuration, outcome.time_s);
  outcome.energy_j =
      power_w(cluster_, configuration, 0) * (start_s + collect_s) + power_w(cluster_, configuration, power) * running_s;
  return outcome;
}

AloneOutcome AloneRunner::run_until_it_fits(const Job& job, Choice choice) {
  Configuration& configuration = choice.configuration;
  AloneOutcome outcome = run(job, choice);
  double before_s = 0;
  while (!outcome.fits && could_ever_fit(cluster_, configuration) && halve_batch(job, configuration)) {
    before_s += start_seconds(job, rules_, models_, false);
    outcome = run(job, choice);
  }
  if (!outcome.fits || before_s == 0) return outcome;
  outcome.time_s += before_s;
  outcome.cost_usd = usd_for(cluster_, rules_, configuration, outcome.time_s);
  outcome.energy_j += power_w(cluster_, configuration, 0) * before_s;
  return outcome;
}

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
  if (policy_.place != nullptr && policy_.place->changes() != std::exchange(place_changes_, policy_.place->changes()))
    rates_.clear();
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
  if (held != nullptr) cost += letting_go(job, *held);
  const StageRates& r = rates(job, next);
  cost += held_for(boot_seconds(cluster_, held, next) + start_seconds(job, rules_, models_, held != nullptr) + r.profiling_s,
                   r.usd_per_s, r.idle_w);
  return cost;
}

StageCost StageRunner::taking_up(const Job& job, const Configuration& next) {
  const StageRates& r = rates(job, next);
  return held_for(start_seconds(job, rules_, models_, true) + r.profiling_s, r.usd_per_s, r.idle_w);
}

StageCost StageRunner::letting_go(const Job& job, const Configuration& held) {
  const StageRates& old = rates(job, held);
  return held_for(rules_.checkpoint_s, old.usd_per_s, old.idle_w);
}

double StageRunner::node_usd_per_s(PoolId pool) const {
  return worker_usd_per_s(cluster_, pool) * workers_per_node(cluster_, pool);
}

/// As RentedNodes charges who is alone; less what the time would cost without a minimum.
double StageRunner::pay(const Configuration& configuration, double from_s, double to_s, std::vector<PaidNode>& paid) const {
  double more_usd = 0;
  for (std::size_t g = 0; g < configuration.groups.size(); ++g) {
    const PoolId pool = configuration.groups[g].pool;
    if (std::any_of(configuration.groups.begin(), configuration.groups.begin() + static_cast<std::ptrdiff_t>(g),
                    [&](const Group& other) { return other.pool == pool; }))
      continue;  // groups of one pool share its nodes
    for (long node = 0; node < nodes_for(cluster_, pool, configuration.workers_of(pool)); ++node) {
      auto known = std::find_if(paid.begin(), paid.end(), [&](const PaidNode& p) { return p.pool == pool && p.node == node; });
      if (known == paid.end()) known = paid.insert(paid.end(), {.pool = pool, .node = node, .paid_until_s = -1});
      if (from_s > known->paid_until_s) known->rented_since_s = known->paid_until_s = from_s;
      const double until_s = std::max(to_s, known->rented_since_s + rules_.minimum_node_s);
      more_usd += node_usd_per_s(pool) * (std::max(0.0, until_s - known->paid_until_s) - (to_s - from_s));
      known->paid_until_s = std::max(known->paid_until_s, until_s);
    }
  }
  return more_usd;
}

double StageRunner::minimum_usd(const Configuration* held, const Configuration& next, double since_s, const StageCost& cost,
                                std::vector<PaidNode>& paid) const {
  if (!has_minimum()) return 0;
  double more_usd = 0, from_s = since_s;
  if (held != nullptr && !(*held == next)) {
    from_s += on_date_grid(rules_.checkpoint_s);
    more_usd += pay(*held, since_s, from_s, paid);
  }
  return more_usd + pay(next, from_s, since_s + cost.time_s, paid);
}

void StageRunner::has_rented(std::span<const StageSeen> seen, std::vector<PaidNode>& paid) const {
  if (!has_minimum() || seen.empty()) return;
  const StageSeen& last = seen.back();
  double since_s = 0;
  for (const StageSeen& stage : seen)
    if (!(stage.configuration == last.configuration)) since_s = stage.elapsed_s;
  for (const Group& group : last.configuration.groups)
    for (long node = 0; node < nodes_for(cluster_, group.pool, last.configuration.workers_of(group.pool)); ++node)
      paid.push_back({.pool = group.pool, .node = node, .rented_since_s = since_s, .paid_until_s = last.elapsed_s});
}

double StageRunner::paid_ahead_usd(std::span<const PaidNode> paid, double time_s) const {
  double usd = 0;
  for (const PaidNode& node : paid) usd += node_usd_per_s(node.pool) * std::max(0.0, node.paid_until_s - time_s);
  return usd;
}

double StageRunner::paid_further_usd(std::span<const PaidNode> paid, double time_s, std::span<const PaidNode> other,
                                     double other_time_s) const {
  double usd = 0;
  for (const PaidNode& node : paid) {
    const auto same = [&](const PaidNode& o) { return o.pool == node.pool && o.node == node.node; };
    const auto known = std::find_if(other.begin(), other.end(), same);
    const double others_s = known == other.end() ? 0 : std::max(0.0, known->paid_until_s - other_time_s);
    const double further_s = node.paid_until_s - time_s - others_s;
    if (further_s > 0) usd += node_usd_per_s(node.pool) * (others_s > 0 ? further_s : rules_.minimum_node_s);
  }
  return usd;
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
  cost.cost_usd += minimum_usd(standing.held, choice.configuration, standing.time_s, cost, standing.paid);
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
