#include "policies/configure/history_predictors.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::policies {

namespace {

const std::string& instance_name(const sim::Cluster& cluster, int pool) {
  return cluster.instances[static_cast<std::size_t>(cluster.pools[static_cast<std::size_t>(pool)].instance)].name;
}

void add_note(std::string& note, const char* text) { note += (note.empty() ? "" : "; ") + std::string(text); }

}  // namespace

/// Seconds of one worker's step of a batch that fits both, `to` over `from`.
double HistoryPredictors::roofline_ratio(const sim::Profile& profile, const std::string& from, const std::string& to) const {
  const workloads::ProfileModel& model = belief_.profiles().of(profile);
  const auto worker_of = [&](const std::string& name) -> const sim::Device* {
    for (const sim::Instance& instance : cluster_.instances)
      if (instance.name == name)
        return &cluster_.devices[static_cast<std::size_t>(instance.gpus.empty() ? instance.cpu : instance.gpus.front().device)];
    return nullptr;
  };
  const sim::Device *a = worker_of(from), *b = worker_of(to);
  if (a == nullptr || b == nullptr) return 1;
  const double fits =
      std::min(model.memory.largest_batch(*a, profile.precision), model.memory.largest_batch(*b, profile.precision));
  const double batch = std::max(1.0, std::min(model.publication_batch, fits));
  const auto seconds = [&](const sim::Device& device) {
    const workloads::ComputeTime time =
        model.step.compute_time(device, {.batch = batch, .precision = profile.precision, .threads = device.cores});
    return std::max(time.total_s(), time.host_s);
  };
  return seconds(*b) / seconds(*a);
}

const EpochTimePredictor* HistoryPredictors::epoch_times(const sim::Job& job, const std::string& instance) {
  const auto key = std::make_pair(job.profile->index, instance);
  auto found = epoch_times_.find(key);
  if (found == epoch_times_.end()) {
    const PredictorOptions options{
        .features = options_.features,
        .margin_quantile = options_.margin_quantile,
        .time_ratio = [&](const std::string& from, const std::string& to) { return roofline_ratio(*job.profile, from, to); }};
    found = epoch_times_.emplace(key, EpochTimePredictor::fit(history_, job.profile->model, instance, options)).first;
  }
  return found->second ? &*found->second : nullptr;
}

const AccuracyPredictor* HistoryPredictors::accuracies(const sim::Job& job, bool asynchronous) {
  const auto key = std::make_pair(job.profile->index, asynchronous);
  auto found = accuracies_.find(key);
  if (found == accuracies_.end()) {
    const AccuracyQuestion question{.model = job.profile->model, .dataset = job.profile->dataset, .asynchronous = asynchronous};
    found =
        accuracies_
            .emplace(key, AccuracyPredictor::fit(history_, question,
                                                 {.features = options_.features, .margin_quantile = options_.margin_quantile}))
            .first;
  }
  return found->second ? &*found->second : nullptr;
}

HistoryPredictors::Training HistoryPredictors::predict_training(const sim::Job& job, const sim::Configuration& c) {
  const double cap = job.epochs > 0 ? job.epochs : belief_.models().convergence->default_epoch_cap(*job.profile);
  Training out{.epochs = cap, .expected_epochs = cap};
  const AccuracyPredictor* predictor = accuracies(job, c.sync.kind == sim::SyncKind::servers_async);
  if (predictor == nullptr) return out;
  const PlannedRun run{
      .workers = c.workers(), .batch_size = c.batch_size(), .samples = belief_.profiles().of(*job.profile).training_samples};
  if (job.has_target()) {
    const int whole_cap = static_cast<int>(std::floor(cap));
    out.epochs = predictor->fewest_epochs(run, job.target_accuracy, whole_cap).value_or(cap);
    out.expected_epochs = predictor->expected_epochs(run, job.target_accuracy, whole_cap).value_or(cap);
  }
  const Prediction accuracy = predictor->accuracy(run, out.epochs);
  out.accuracy = std::clamp(accuracy.safe, 0.0, 1.0);
  out.extrapolated = accuracy.extrapolated;
  return out;
}

/// Kept, as it is the same for every pool and, when synchronous, every number of workers.
const HistoryPredictors::Training& HistoryPredictors::training(const sim::Job& job, const sim::Configuration& c) {
  const int stale_workers =
      c.sync.kind == sim::SyncKind::servers_async || options_.features == RunFeatures::thesis ? c.workers() : 0;
  const TrainingKey key{job.profile->index, c.batch_size(), stale_workers, job.has_target() ? job.target_accuracy : -1,
                        job.epochs};
  const auto known = trainings_.find(key);
  return known != trainings_.end() ? known->second : trainings_.emplace(key, predict_training(job, c)).first->second;
}

sim::Prediction HistoryPredictors::predict(const sim::Job& job, const sim::Configuration& c, const sim::CostRules& costs) {
  sim::Prediction out;
  const sim::Group& group = c.groups.front();
  const double samples = belief_.profiles().of(*job.profile).training_samples;
  const EpochTimePredictor* times = epoch_times(job, instance_name(cluster_, group.pool));
  if (times == nullptr) {
    out.note = "no past run of this model";
    out.feasible = false;
    return out;
  }
  const Prediction epoch = times->epoch_time_s({.workers = c.workers(), .batch_size = c.batch_size(), .samples = samples});
  out.extrapolated = epoch.extrapolated;
  if (epoch.borrowed) out.note = "times of another instance, scaled";
  double time_scale = 1, money_scale = 1, expected_epochs = 0;
  if (job.work == sim::Work::steps) {
    out.epochs = expected_epochs = job.steps * job.batch_size / samples;
    if (job.duration_s > 0) {  // the trace says how long it takes on the GPUs it had
      const Prediction there = times->epoch_time_s({.workers = job.gpus, .batch_size = job.batch_size, .samples = samples});
      time_scale = job.duration_s / (out.epochs * there.expected);
      money_scale = job.duration_s / (out.epochs * there.smooth);
    }
  } else {
    const Training& trained = training(job, c);
    out.epochs = trained.epochs;
    out.accuracy = trained.accuracy;
    out.extrapolated = out.extrapolated || trained.extrapolated;
    if (job.has_target() && std::isnan(out.accuracy)) add_note(out.note, "no past run of this model and dataset");
    expected_epochs = trained.expected_epochs;
  }
  out.time_s = costs.start_s + out.epochs * epoch.safe * time_scale;
  out.cost_usd = sim::usd_per_s(cluster_, costs, c) * (costs.start_s + expected_epochs * epoch.smooth * money_scale);
  out.safe_cost_usd = std::max(out.cost_usd, sim::usd_per_s(cluster_, costs, c) * out.time_s);
  return out;
}

}  // namespace rehearse::policies
