#include "workloads/training/convergence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::workloads {
namespace {

constexpr double kWarmupEpochs = 5.0;
constexpr double kDivergence = 2.0;
// Largest moves of log phi and of log rate in one integration step, and the least step as a share of the examples asked for.
constexpr double kMaxLogNoiseMove = 0.2;
constexpr double kMaxLogRateMove = 0.025;
constexpr double kMaxSlopeMove = 0.1;
constexpr double kLeastStep = 1e-3;
constexpr double kOnEdge = 1e-9;

constexpr std::array<std::pair<std::string_view, LrRule>, 4> kRules{
    {{"adascale", LrRule::adascale}, {"linear-warmup", LrRule::linear_warmup}, {"sqrt", LrRule::sqrt}, {"fixed", LrRule::fixed}}};

// log phi is a + slope (p - start) up to `end`.
struct NoisePiece {
  double start;
  double end;
  double log_noise;
  double slope;

  double at(double progress) const { return std::exp(log_noise + slope * (progress - start)); }
};

NoisePiece piece_at(const ConvergenceParameters& c, const ConvergenceErrors& errors, double progress, double log_batch_ratio) {
  const auto log_of = [&](const NoiseKnot& k) {
    return std::log(k.noise_scale * errors.noise_scale_factor) + k.batch_exponent * log_batch_ratio;
  };
  const auto next =
      std::upper_bound(c.noise.begin(), c.noise.end(), progress, [](double p, const NoiseKnot& k) { return p < k.progress; });
  if (next == c.noise.begin()) return {progress, next->progress, log_of(*next), 0.0};
  const NoiseKnot& last = *(next - 1);
  if (next == c.noise.end()) return {progress, HUGE_VAL, log_of(last), 0.0};
  const double log_last = log_of(last);
  return {last.progress, next->progress, log_last, (log_of(*next) - log_last) / (next->progress - last.progress)};
}

// The most useful rate over the one at the reference batch, when a step is worth `gain` of those.
double useful_rate_ratio(const ConvergenceParameters& c, double gain) {
  return c.rate_exponent == 1.0 ? gain : std::pow(gain, c.rate_exponent);
}

// The rate over the reference rate that a setting asks for, `useful` being the most useful one's ratio.
double relative_rate(const ConvergenceParameters& c, const StepSetting& s, double useful, double examples) {
  if (s.learning_rate > 0.0) return s.learning_rate / c.reference_learning_rate;
  const double ratio = s.global_batch / c.reference_batch;
  switch (s.rule) {
    case LrRule::adascale:
      return useful;
    case LrRule::linear_warmup:
      return 1.0 + (ratio - 1.0) * std::min(1.0, examples / (kWarmupEpochs * c.training_samples));
    case LrRule::sqrt:
      return std::sqrt(ratio);
    case LrRule::fixed:
      return 1.0;
  }
  sim::fail_check("unknown learning-rate rule");
}

struct Slope {
  double progress_per_example;
  double x;  // rate over the most useful one
};

Slope slope_at(const ConvergenceParameters& c, const ConvergenceErrors& errors, const StepSetting& s, double noise,
               double examples) {
  const double gain = step_gain(noise, s.global_batch, c.reference_batch, errors.gain_law);
  const double useful = useful_rate_ratio(c, gain);
  const double x = c.reference_rate_fraction * relative_rate(c, s, useful, examples) / useful;
  const double use = std::min(1.0, rate_response(x) / rate_response(c.reference_rate_fraction));
  return {gain * use / (s.global_batch * errors.examples_factor), x};
}

// Examples until the warm-up ends or has moved the rate as far as one integration step allows.
double warmup_step(const ConvergenceParameters& c, const StepSetting& s, double seen) {
  const double end = kWarmupEpochs * c.training_samples;
  if (s.rule != LrRule::linear_warmup || s.learning_rate > 0.0 || seen >= end) return HUGE_VAL;
  return std::min(end - seen, kMaxLogRateMove * (seen + end / std::abs(s.global_batch / c.reference_batch - 1.0)));
}

// The share of a step from response `x` to `x_end` that ends on the first edge of the plateau between them; 1 when there is none.
double share_to_plateau_edge(const ConvergenceParameters& c, double x, double x_end) {
  double share = 1.0;
  for (const double edge : {c.reference_rate_fraction, kDivergence - c.reference_rate_fraction})
    if (std::abs(x - edge) > kOnEdge && (x < edge) != (x_end < edge)) share = std::min(share, (edge - x) / (x_end - x));
  return share;
}

double batch_gap(const ConvergenceParameters& c, const TrainingState& state) {
  if (state.examples <= 0.0) return 0.0;
  return std::max(0.0, state.log2_batch_examples / state.examples - std::log2(c.gap_batch));
}

// Where a phase that begins at accuracy `from` tends to.
double phase_ceiling(const AccuracyPhase& phase, double gap, double loss, double offset, double from) {
  return std::max(from, std::min(1.0, phase.ceiling + offset - phase.ceiling_loss * gap * gap - loss));
}

// Accuracy at `progress`, or (infinite progress) its limit.
double accuracy_at(const ConvergenceParameters& c, const ConvergenceErrors& errors, const TrainingState& state, double progress) {
  const double gap = batch_gap(c, state);
  const double loss = state.examples > 0.0 ? c.staleness_loss * state.staleness_examples / state.examples : 0.0;
  double a = c.start_accuracy;
  for (std::size_t k = 0; k < c.phases.size(); ++k) {
    const AccuracyPhase& phase = c.phases[k];
    const double end = k + 1 < c.phases.size() ? std::min(progress, c.phases[k + 1].start_progress) : progress;
    if (end <= phase.start_progress) break;
    const double ceiling = phase_ceiling(phase, gap, loss, errors.ceiling_offset, a);
    a = ceiling - (ceiling - a) * std::pow(1.0 + (end - phase.start_progress) / phase.scale, -phase.exponent);
  }
  return a;
}

}  // namespace

std::optional<LrRule> lr_rule(std::string_view name) {
  for (const auto& [known, rule] : kRules)
    if (known == name) return rule;
  return std::nullopt;
}

std::string_view to_string(LrRule rule) {
  for (const auto& [name, known] : kRules)
    if (known == rule) return name;
  sim::fail_check("unknown learning-rate rule");
}

std::vector<std::string> mistakes_in(const ConvergenceParameters& c) {
  std::vector<std::string> mistakes;
  const auto expect = [&](bool ok, const char* rule) {
    if (!ok) mistakes.emplace_back(rule);
  };
  const auto positive = [](double x) { return x > 0.0 && std::isfinite(x); };
  const auto share = [](double x) { return x >= 0.0 && x <= 1.0; };
  expect(positive(c.reference_batch), "the reference batch must be positive");
  expect(positive(c.reference_learning_rate), "the reference learning rate must be positive");
  expect(positive(c.reference_rate_fraction) && c.reference_rate_fraction <= 1.0,
         "the reference rate's fraction must be in (0, 1]");
  expect(positive(c.rate_exponent) && c.rate_exponent <= 1.0, "the rate's exponent must be in (0, 1]");
  expect(positive(c.reference_epochs), "the reference epochs must be positive");
  expect(positive(c.training_samples) && positive(c.validation_samples), "the numbers of samples must be positive");
  expect(share(c.start_accuracy), "the start accuracy must be in [0, 1]");
  expect(positive(c.gap_batch), "the gap batch must be positive");
  expect(c.staleness_loss >= 0.0 && std::isfinite(c.staleness_loss), "the staleness loss must not be negative");
  expect(!c.noise.empty(), "there must be a noise scale");
  for (std::size_t i = 0; i < c.noise.size(); ++i) {
    const NoiseKnot& k = c.noise[i];
    expect(positive(k.noise_scale) && std::isfinite(k.batch_exponent), "noise scales must be positive, their exponents finite");
    expect(std::isfinite(k.progress) && (i == 0 || k.progress > c.noise[i - 1].progress),
           "the noise scale's progress must increase");
  }
  expect(!c.phases.empty() && c.phases.front().start_progress == 0.0, "the first accuracy phase must start at progress 0");
  for (std::size_t i = 0; i < c.phases.size(); ++i) {
    const AccuracyPhase& k = c.phases[i];
    expect(share(k.ceiling) && k.ceiling_loss >= 0.0 && std::isfinite(k.ceiling_loss),
           "ceilings must be in [0, 1], their losses not negative");
    expect(positive(k.scale) && positive(k.exponent), "scales and exponents of phases must be positive");
    expect(i == 0 || k.start_progress > c.phases[i - 1].start_progress, "the phases' starts must increase");
  }
  return mistakes;
}

double noise_scale(const ConvergenceParameters& c, const ConvergenceErrors& errors, double progress, double batch) {
  return piece_at(c, errors, progress, std::log(batch / c.reference_batch)).at(progress);
}

double step_gain(double noise, double batch, double reference_batch, GainLaw law) {
  if (law == GainLaw::root_of_squares)
    return batch / reference_batch * std::hypot(noise, reference_batch) / std::hypot(noise, batch);
  return batch / reference_batch * (noise + reference_batch) / (noise + batch);
}

double rate_response(double x) { return x > 0.0 && x < kDivergence ? 2.0 * x - x * x : 0.0; }

double most_useful_rate(const ConvergenceParameters& c, const ConvergenceErrors& errors, double progress, double batch) {
  const double gain = step_gain(noise_scale(c, errors, progress, batch), batch, c.reference_batch, errors.gain_law);
  return c.reference_learning_rate * useful_rate_ratio(c, gain) / c.reference_rate_fraction;
}

double learning_rate(const ConvergenceParameters& c, const ConvergenceErrors& errors, const TrainingState& state,
                     const StepSetting& s) {
  const double gain =
      step_gain(noise_scale(c, errors, state.progress, s.global_batch), s.global_batch, c.reference_batch, errors.gain_law);
  return c.reference_learning_rate * relative_rate(c, s, useful_rate_ratio(c, gain), state.examples);
}

double progress_per_example(const ConvergenceParameters& c, const ConvergenceErrors& errors, const TrainingState& state,
                            const StepSetting& s) {
  if (state.diverged) return 0.0;
  return slope_at(c, errors, s, noise_scale(c, errors, state.progress, s.global_batch), state.examples).progress_per_example;
}

// Classic Runge-Kutta over examples. A step ends about where the right side has a kink (a knot of the noise scale, the end of the
// warm-up, an edge of the rates' plateau), and lets neither the noise scale nor the rate move so far that the fourth order is
// lost.
void advance(const ConvergenceParameters& c, const ConvergenceErrors& errors, TrainingState& state, const StepSetting& s,
             double examples) {
  sim::check(examples >= 0.0 && s.global_batch > 0.0, "training needs a batch and no negative number of examples");
  const double log_ratio = std::log(s.global_batch / c.reference_batch);
  double seen = state.examples;
  double left = state.diverged ? 0.0 : examples;
  while (left > 0.0) {
    const NoisePiece piece = piece_at(c, errors, state.progress, log_ratio);
    const auto slope = [&](double p, double e) { return slope_at(c, errors, s, piece.at(p), e); };
    const double p = state.progress;
    const Slope first = slope(p, seen);
    if (first.x >= kDivergence) {
      state.diverged = true;
      break;
    }
    const double k1 = first.progress_per_example;
    double h = std::min({left, warmup_step(c, s, seen), kMaxLogNoiseMove / (std::abs(piece.slope) * k1)});
    if (p + h * k1 > piece.end) h = (piece.end - p) / slope((p + piece.end) / 2, seen + h / 2).progress_per_example;
    h = std::min(h, left);
    const Slope last = slope(p + h * k1, seen + h);
    const double change = std::abs(last.progress_per_example / k1 - 1.0);
    h *= std::min(share_to_plateau_edge(c, first.x, last.x), kMaxSlopeMove / change);
    h = std::min(left, std::max(h, kLeastStep * examples));
    const double k2 = slope(p + h / 2 * k1, seen + h / 2).progress_per_example;
    const double k3 = slope(p + h / 2 * k2, seen + h / 2).progress_per_example;
    const double k4 = slope(p + h * k3, seen + h).progress_per_example;
    state.progress = p + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    seen += h;
    left -= h;
  }
  state.examples += examples;
  state.log2_batch_examples += examples * std::log2(s.global_batch);
  state.staleness_examples += examples * (s.asynchronous_workers - 1.0);
}

double accuracy(const ConvergenceParameters& c, const ConvergenceErrors& errors, const TrainingState& state) {
  return accuracy_at(c, errors, state, state.progress);
}

double accuracy_ceiling(const ConvergenceParameters& c, const ConvergenceErrors& errors, const TrainingState& state) {
  return accuracy_at(c, errors, state, HUGE_VAL);
}

double evaluation_deviation(double a, double validation_samples) {
  return std::max(0.002, std::sqrt(std::max(0.0, a * (1.0 - a)) / validation_samples));
}

EpochsToTarget epochs_to_target(const ConvergenceParameters& c, const ConvergenceErrors& errors, const StepSetting& s,
                                double target, int cap) {
  EpochsToTarget result;
  TrainingState& state = result.end;
  for (int epoch = 1; epoch <= cap; ++epoch) {
    advance(c, errors, state, s, c.training_samples);
    if (accuracy(c, errors, state) >= target) {
      result.epochs = epoch;
      return result;
    }
    if (state.diverged || accuracy_ceiling(c, errors, state) < target) break;
  }
  result.diverged = state.diverged;
  result.above_ceiling = accuracy_ceiling(c, errors, state) < target;
  return result;
}

}  // namespace rehearse::workloads
