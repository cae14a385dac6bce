#include "policies/configure/belief_of_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/statistics.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::policies {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kCaps = 2;  ///< of the most epochs that a job of the profile trains by default

}  // namespace

double BeliefOfRuns::log_seconds(const std::string& instance, double workers, double batch) const {
  const int n = static_cast<int>(std::lround(workers)), share = static_cast<int>(std::lround(batch / workers));
  if (n < 1 || share < 1) return sim::kNan;
  const auto [known, is_new] = seconds_.try_emplace({instance, n, share}, sim::kNan);
  for (std::size_t pool = 0; is_new && pool < cluster_.pools.size(); ++pool) {
    const auto id = static_cast<sim::PoolId>(pool);
    if (sim::instance_of(cluster_, id).name != instance) continue;
    const sim::Job job{.name = "belief", .profile = &profile_, .work = sim::Work::train, .epochs = 1};
    const sim::StageRates& rates =
        believed_.stages().rates(job, {.groups = {{.pool = id, .workers = n, .batch_per_worker = share}}});
    if (!rates.fits) continue;
    known->second =
        std::log((rates.epoch.training_s + rates.epoch.evaluation_s) / belief_.profiles().of(profile_).training_samples);
    break;
  }
  return known->second;
}

const std::vector<double>& BeliefOfRuns::curve(double batch) const {
  const int samples = std::max(1, static_cast<int>(std::lround(batch)));
  const auto [known, is_new] = curves_.try_emplace(samples);
  const sim::Convergence* convergence = belief_.models().convergence;
  if (!is_new || convergence == nullptr || !belief_.profiles().of(profile_).convergence) return known->second;
  const sim::Job job{.name = "belief", .profile = &profile_, .work = sim::Work::train};
  sim::Progress now;
  double best = 0;
  const sim::TrainingEnd end = sim::train_epochs(job, {.groups = {{.pool = 0, .workers = 1, .batch_per_worker = samples}}},
                                                 kCaps * convergence->default_epoch_cap(profile_), *convergence, now,
                                                 [&](const sim::EpochStep&, const sim::Progress& at) {
                                                   best = std::isnan(at.accuracy) ? best : std::max(best, at.accuracy);
                                                   known->second.push_back(best);
                                                 });
  if (end == sim::TrainingEnd::failed || now.divergences > 0) known->second.clear();
  return known->second;
}

double BeliefOfRuns::log_epochs(double batch, double accuracy) const {
  if (!belief_.profiles().of(profile_).convergence) return sim::kNan;
  const std::vector<double>& accuracies = curve(batch);
  const auto at = std::ranges::lower_bound(accuracies, accuracy);
  if (at == accuracies.end()) return kInfinite;
  const auto i = static_cast<std::size_t>(at - accuracies.begin());
  const double before = i > 0 ? accuracies[i - 1] : 0;
  const double part = accuracies[i] > before ? std::clamp((accuracy - before) / (accuracies[i] - before), 0.0, 1.0) : 1;
  return std::log(std::max(1.0, static_cast<double>(i) + part));
}

}  // namespace rehearse::policies
