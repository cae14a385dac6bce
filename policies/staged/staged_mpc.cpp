#include "policies/staged/staged_mpc.hpp"

#include <algorithm>
#include <cmath>

#include "policies/staged/prior.hpp"
#include "policies/staged/staged.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::policies {

namespace {

// Spreads of logarithms: of one reading, and of what is believed (docs/explain/model.md, "World and belief").
constexpr double kNoiseScaleReading = 0.3;
constexpr double kSpeedReading = 0.04;
constexpr double kMostExamplesLog = 0.35;  ///< five spreads of the examples factor

/// Mean of `n` readings with this sum, shrunk towards 0 (Gaussian posterior mean).
double shrunk(double sum, double n, double spread, double reading) {
  return n > 0 ? sum / (n + reading * reading / (spread * spread)) : 0;
}

/// Accuracy after each stage seen, by the belief with this examples factor.
std::vector<double> accuracies(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                               const workloads::RevisedBelief& belief) {
  std::vector<double> result;
  sim::TrainingState state;
  double epochs = 0;
  for (const sim::StageSeen& stage : seen) {
    const double examples = (stage.epochs - epochs) * belief.samples_per_epoch(*view.job.profile);
    belief.train(view.job, stage.configuration, examples, state);
    result.push_back(belief.accuracy(view.job, state));
    epochs = stage.epochs;
  }
  return result;
}

double left_of(double spread, double n, double reading) { return 1 / std::sqrt(1 / (spread * spread) + n / (reading * reading)); }

struct LogExamples {
  double mean = 0, spread = 0;
};

/// Most probable logarithm of the examples factor, given its own spread and what evaluations read: Gauss-Newton from none, with
/// slopes by a finite step. Accuracy is nearly linear in it, so that two or three steps do.
LogExamples fitted_log_examples(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::Belief& belief,
                                double spread, workloads::Revision revision) {
  constexpr double kStep = 0.01, kClose = 0.003;
  constexpr int kRounds = 4;
  const auto expected_at = [&](double log_examples) {
    revision.examples_factor = std::exp(log_examples);
    return accuracies(view, seen, workloads::RevisedBelief(belief, revision));
  };
  const double most = kMostExamplesLog * (spread / kExamplesSpread);
  double at = 0, left = spread;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<double> here = expected_at(at), there = expected_at(at + kStep);
    double precision = 1 / (spread * spread), pull = -at * precision;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const double deviation = belief.models().convergence->evaluation_deviation(*view.job.profile, here[i]);
      const double slope = (there[i] - here[i]) / (kStep * deviation);
      precision += slope * slope;
      pull += slope * (seen[i].accuracy - here[i]) / deviation;
    }
    const double next = std::clamp(at + pull / precision, -most, most);
    const bool close = std::abs(next - at) < kClose;
    at = next;
    left = 1 / std::sqrt(precision);
    if (close) break;
  }
  return {at, left};
}

}  // namespace

workloads::Revision revise(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::Belief& belief,
                           const Prior& prior) {
  return corrected(view, seen, belief, prior).mean;
}

Prior corrected(const ConfigureView& view, std::span<const sim::StageSeen> seen, const workloads::Belief& belief,
                const Prior& prior) {
  if (seen.empty()) return prior;
  Prior after = prior;
  workloads::Revision& revision = after.mean;
  const workloads::RevisedBelief before(belief, prior.mean);
  sim::StageRunner& runner = view.believed->stages();
  double noise_sum = 0, noise_readings = 0;
  std::vector<double> speed_sum(view.cluster.pools.size(), 0), speed_readings(speed_sum);
  revision.slower_on_pool.resize(speed_sum.size(), 1.0);
  sim::TrainingState state;
  double epochs = 0;
  for (const sim::StageSeen& stage : seen) {
    const double examples = (stage.epochs - epochs) * before.samples_per_epoch(*view.job.profile);
    const double believed = before.train(view.job, stage.configuration, examples, state).noise_scale;
    epochs = stage.epochs;
    if (believed > 0 && stage.noise_scale > 0) {
      noise_sum += std::log(stage.noise_scale / believed);
      ++noise_readings;
    }
    const auto pool = static_cast<std::size_t>(stage.configuration.groups.front().pool);
    speed_sum[pool] +=
        std::log(stage.step_s / (runner.rates(view.job, stage.configuration).step_s * revision.slower_on_pool[pool]));
    ++speed_readings[pool];
  }
  revision.noise_scale_factor *= std::exp(shrunk(noise_sum, noise_readings, prior.noise_scale_spread, kNoiseScaleReading));
  after.noise_scale_spread = left_of(prior.noise_scale_spread, noise_readings, kNoiseScaleReading);
  after.speed_spreads.clear();
  for (std::size_t pool = 0; pool < speed_sum.size(); ++pool) {
    const double spread = prior.speed_spread(pool);
    revision.slower_on_pool[pool] *= std::exp(shrunk(speed_sum[pool], speed_readings[pool], spread, kSpeedReading));
    after.speed_spreads.push_back(left_of(spread, speed_readings[pool], kSpeedReading));
  }
  const LogExamples examples = fitted_log_examples(view, seen, belief, prior.examples_spread, revision);
  revision.examples_factor = std::exp(examples.mean);
  after.examples_spread = examples.spread;
  return after;
}

sim::Menu StagedMpc::configure(const ConfigureView& view, const workloads::Belief& belief) {
  return configure_again(view, {}, belief);
}

sim::Menu StagedMpc::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                     const workloads::Belief& belief) {
  if (view.job.work != sim::Work::train || view.candidates.empty()) return believed_menu(view);
  const std::vector<double> ends = ends_after(stage_ends(view.job, view.manual, view.stage_rules, view.believed->stages()), seen);
  const workloads::RevisedBelief revised(belief, revise(view, seen, belief, priors_.of(view, belief)));
  sim::StageRunner runner = view.believed->stages_on(revised.models());
  const sim::Standing from = standing_after(view.job, view.candidates, seen, runner);
  const StageProblem problem{.job = &view.job,
                             .candidates = view.candidates,
                             .ends = ends,
                             .from = from,
                             .deadline_s = from.time_s + (1 - reserve_) * (view.job.deadline_s - from.time_s),
                             .budget_epochs = budget_epochs(view),
                             .tolerance = 0.002};
  const StagePlan plan = plan_stages(problem, runner);
  if (plan.stages.empty()) return believed_menu(view);
  return staged_menu(view, *plan.stages.front(), plan, ends);
}

}  // namespace rehearse::policies
