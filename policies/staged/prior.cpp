#include "policies/staged/prior.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/units.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

namespace {

// Standard deviations, of logarithms but for the ceiling's (docs/explain/model.md, "World and belief" and "Profiling").
constexpr double kSpeedSpread = 0.10, kSyncSpread = 0.15;
constexpr double kNoiseScaleSpread = 0.3, kCeilingSpread = 0.003;
constexpr double kRunReading = 0.065;  ///< of a past run's time: its own noise, its stage's and its nodes'
constexpr double kNodes = 0.03;        ///< of the nodes that the job will have
constexpr double kStep = 1e-2;         ///< of central differences, in logarithms
constexpr int kRounds = 4;
constexpr double kLeastErrors = 0.05;  ///< of those that are believed in at first, however well past runs were foretold

sim::Configuration configuration_of(const PastRun& run, int pool) {
  const int batch = std::max(1, sim::whole<int>(std::round(run.batch_size / run.workers), "samples of a worker in a past run"));
  return {.groups = {{.pool = pool, .workers = run.workers, .batch_per_worker = batch}}};
}

/// A mean and how sure it is, in one number of precision.
struct LogBelief {
  double sum, precision;
  double mean() const { return sum / precision; }
  double spread() const { return 1 / std::sqrt(precision); }
};

LogBelief speed_of(const ConfigureView& view, int pool, const std::vector<PastRun>& runs, double spread_factor) {
  sim::StageRunner& believed = view.believed->stages();
  const double speed_spread = spread_factor * kSpeedSpread, sync_spread = spread_factor * kSyncSpread;
  LogBelief speed{.sum = 0, .precision = 1 / (speed_spread * speed_spread)};
  for (const PastRun& run : runs) {
    if (run.asynchronous || run.servers > 0 || run.epochs <= 0) continue;
    const sim::Configuration c = configuration_of(run, pool);
    const sim::StageRates& rates = believed.rates(view.job, c);
    if (!rates.fits) continue;
    sim::Configuration one = c;
    one.groups.front().workers = 1;
    const double exchanged = std::max(0.0, 1 - believed.rates(view.job, one).step_s / rates.step_s);
    const double variance = kRunReading * kRunReading + std::pow(sync_spread * exchanged, 2);
    speed.sum += std::log(run.time_s / (run.epochs * (rates.epoch.training_s + rates.epoch.evaluation_s))) / variance;
    speed.precision += 1 / variance;
  }
  return speed;
}

/// What one run's accuracy is by a belief, and how it moves.
struct Expected {
  double accuracy = 0, by_noise_scale = 0, by_ceiling = 0, by_examples = 0;
};

double accuracy_after(const ConfigureView& view, const workloads::Belief& belief, const PastRun& run,
                      const workloads::Revision& revision) {
  const workloads::RevisedBelief revised(belief, revision);
  sim::TrainingState state;
  if (revised.train(view.job, configuration_of(run, 0), run.epochs * run.samples, state).diverged) return sim::kUnset;
  return revised.accuracy(view.job, state);
}

Expected expect(const ConfigureView& view, const workloads::Belief& belief, const PastRun& run, const workloads::Revision& at) {
  const auto moved = [&](double noise_scale, double ceiling, double examples) {
    workloads::Revision there = at;
    there.noise_scale_factor *= std::exp(noise_scale);
    there.ceiling_offset += ceiling;
    there.examples_factor *= std::exp(examples);
    return accuracy_after(view, belief, run, there);
  };
  const double here = moved(0, 0, 0);
  return {.accuracy = here,
          .by_noise_scale = (moved(kStep, 0, 0) - here) / kStep,
          .by_ceiling = (moved(0, kStep * kCeilingSpread, 0) - here) / (kStep * kCeilingSpread),
          .by_examples = (moved(0, 0, kStep) - here) / kStep};
}

/// Squares of what readings were off by, over what was believed of that.
struct Surprise {
  double squares = 0, readings = 0;
  double factor() const { return std::sqrt((1 + squares) / (1 + readings)); }
};

struct Fit {
  double noise_scale_spread, ceiling_spread;
  Surprise surprise;  ///< before the step
};

/// One step of Gauss-Newton for (log noise scale, ceiling).
Fit improve(const ConfigureView& view, const workloads::Belief& belief, const std::vector<PastRun>& runs, double spread_factor,
            workloads::Revision& at) {
  // Normal equations of the prior and of each run's linearised reading.
  const double log_noise = std::log(at.noise_scale_factor);
  const double noise_scale_spread = spread_factor * kNoiseScaleSpread, ceiling_spread = spread_factor * kCeilingSpread;
  double a = 1 / (noise_scale_spread * noise_scale_spread), b = 0, c = 1 / (ceiling_spread * ceiling_spread);
  double u = -log_noise * a, v = -at.ceiling_offset * c;
  Surprise surprise{.squares = log_noise * log_noise * a + at.ceiling_offset * at.ceiling_offset * c};
  for (const PastRun& run : runs) {
    if (run.asynchronous || run.censored || run.epochs <= 0 || run.samples <= 0) continue;
    const Expected e = expect(view, belief, run, at);
    const double deviation = belief.models().convergence->evaluation_deviation(*view.job.profile, e.accuracy);
    const double variance = deviation * deviation + std::pow(spread_factor * kExamplesSpread * e.by_examples, 2);
    const double residual = (run.accuracy - e.accuracy) / variance;
    if (!std::isfinite(residual)) continue;
    surprise.squares += residual * residual * variance;
    ++surprise.readings;
    a += e.by_noise_scale * e.by_noise_scale / variance;
    b += e.by_noise_scale * e.by_ceiling / variance;
    c += e.by_ceiling * e.by_ceiling / variance;
    u += e.by_noise_scale * residual;
    v += e.by_ceiling * residual;
  }
  const double determinant = a * c - b * b;
  at.noise_scale_factor = std::exp(std::clamp(log_noise + (c * u - b * v) / determinant, -1.5, 1.5));
  at.ceiling_offset = std::clamp(at.ceiling_offset + (a * v - b * u) / determinant, -0.05, 0.05);
  return {std::sqrt(c / determinant), std::sqrt(a / determinant), surprise};
}

}  // namespace

Prior untold_prior(double spread_factor) {
  return {.noise_scale_spread = spread_factor * kNoiseScaleSpread,
          .other_speed_spread = spread_factor * kSpeedSpread,
          .examples_spread = spread_factor * kExamplesSpread,
          .ceiling_spread = spread_factor * kCeilingSpread};
}

Prior prior_of(const ConfigureView& view, const workloads::Belief& belief, double spread_factor) {
  Prior prior = untold_prior(spread_factor);
  if (view.history == nullptr || view.history->runs().empty() || !belief.profiles().of(*view.job.profile).convergence)
    return prior;
  Surprise surprise;
  const double believed_in = 1 / std::pow(spread_factor * kSpeedSpread, 2);
  for (std::size_t pool = 0; pool < view.cluster.pools.size(); ++pool) {
    const LogBelief speed = speed_of(
        view, static_cast<int>(pool),
        view.history->on_instance(*view.job.profile, sim::instance_of(view.cluster, static_cast<sim::PoolId>(pool)).name),
        spread_factor);
    prior.mean.slower_on_pool.push_back(std::exp(speed.mean()));
    prior.speed_spreads.push_back(std::hypot(speed.spread(), kNodes));
    if (const double told = speed.precision - believed_in; told > 0) {
      surprise.squares += std::pow(speed.sum / told, 2) / (1 / believed_in + 1 / told);
      ++surprise.readings;
    }
  }
  const std::vector<PastRun> runs = view.history->of(*view.job.profile);
  Fit fit{};
  for (int round = 0; round < kRounds; ++round) fit = improve(view, belief, runs, spread_factor, prior.mean);
  prior.noise_scale_spread = fit.noise_scale_spread;
  prior.ceiling_spread = fit.ceiling_spread;
  surprise.squares += fit.surprise.squares;
  surprise.readings += fit.surprise.readings;
  prior.error_factor = surprise.factor();
  return prior;
}

const Prior& Priors::of(const ConfigureView& view, const workloads::Belief& belief) {
  const auto known = priors_.find(view.job.profile->index);
  if (known != priors_.end()) return known->second;
  Prior prior = learns_ ? prior_of(view, belief, spread_factor_) : untold_prior(spread_factor_);
  if (errors_ && prior.error_factor != 1) {
    prior = prior_of(view, belief, spread_factor_ * std::max(kLeastErrors, prior.error_factor));
    prior.error_factor = 1;  // it is in the spreads now
  }
  return priors_.emplace(view.job.profile->index, std::move(prior)).first->second;
}

}  // namespace rehearse::policies
