// How training converges: accuracy against examples seen, global batch and learning rate. Progress counts steps at the reference
// batch; the gradient noise scale decides how much one step at another batch advances it (docs/explain/model.md, "Convergence").
// McCandlish et al., An Empirical Model of Large-Batch Training, 2018; Johnson et al., AdaScale SGD, ICML 2020; Qiao et al.,
// Pollux, OSDI 2021.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/models.hpp"

namespace rehearse::workloads {

/// The gradient noise scale phi(p, B) = noise_scale (B/B0)^batch_exponent at this progress. Between knots the logarithms are
/// linear in progress; outside them phi is constant.
struct NoiseKnot {
  double progress = 0.0;        ///< steps at the reference batch
  double noise_scale = 0.0;     ///< samples, at the reference batch
  double batch_exponent = 0.0;  ///< gamma: the noise scale grows with the batch it is trained at
};

/// From `start_progress` on, a(p) = C - (C - a_k)(1 + (p - start)/scale)^-exponent with a_k where the phase before it ended, and
/// C = max(a_k, ceiling - ceiling_loss max(0, log2(mean batch / gap batch))^2 - staleness loss).
struct AccuracyPhase {
  double start_progress = 0.0;  ///< the first one's is 0
  double ceiling = 0.0;
  double scale = 1.0;  ///< steps at the reference batch
  double exponent = 1.0;
  double ceiling_loss = 0.0;
};

/// What is believed of one (model, dataset) pair.
struct ConvergenceParameters {
  std::string model;
  std::string dataset;
  std::string metric;  ///< higher is better, 0 to 1
  std::string source;  ///< where each figure is from
  double reference_batch = 0.0;
  double reference_learning_rate = 0.0;  ///< before the publication's schedule lowers it
  /// The reference rate over the most useful rate: 1 = no headroom. In (0, 1].
  double reference_rate_fraction = 1.0;
  /// The most useful rate grows with the batch as (1 + phi/B)^-exponent: 1 for plain gradients and momentum; 1/2 for optimizers
  /// that divide a gradient by its own size (Adam, Adadelta). In (0, 1].
  double rate_exponent = 1.0;
  double reference_epochs = 0.0;  ///< the publication's, at the reference batch
  double training_samples = 0.0;
  double validation_samples = 0.0;  ///< what the metric is an average over: images, scored words
  double start_accuracy = 0.0;
  double gap_batch = 1.0;             ///< largest mean batch without loss of the ceiling
  double staleness_loss = 0.0;        ///< of the ceiling, for each asynchronous worker beyond the first
  std::vector<NoiseKnot> noise;       ///< at least one, progress strictly increasing
  std::vector<AccuracyPhase> phases;  ///< at least one, start strictly increasing from 0
};

/// How a step's worth follows from the noise scale.
enum class GainLaw {
  harmonic,        ///< (B/B0)(phi + B0)/(phi + B): what is believed (McCandlish et al., 2018)
  root_of_squares  ///< (B/B0) sqrt((phi^2 + B0^2)/(phi^2 + B^2)): the same ends, and a sharper bend between them
};

/// How the true world differs from what is believed.
struct ConvergenceErrors {
  double noise_scale_factor = 1.0;
  double ceiling_offset = 0.0;   ///< added to every phase's ceiling
  double examples_factor = 1.0;  ///< examples that the same progress needs
  GainLaw gain_law = GainLaw::harmonic;
};

// How the learning rate follows the global batch B; rates are those before the publication's schedule, which every rule keeps.
//   adascale       reference rate x r(B, p)^rate exponent: as useful as the reference rate is at the reference batch
//   linear_warmup  reference rate x B/B0, reached linearly over the first five epochs (Goyal et al. 2017, section 2.2)
//   sqrt           reference rate x sqrt(B/B0)
//   fixed          the reference rate
using sim::LrRule;
using sim::TrainingState;

/// "adascale", "linear-warmup", "sqrt", "fixed"; nothing for another name.
std::optional<LrRule> lr_rule(std::string_view name);
std::string_view to_string(LrRule rule);

struct StepSetting {
  double global_batch = 0.0;  ///< samples of a synchronous step over all workers; of one push when asynchronous
  LrRule rule = LrRule::adascale;
  double learning_rate = 0.0;         ///< 0: by the rule
  double asynchronous_workers = 1.0;  ///< 1: synchronous
};

/// What is wrong with the parameters, one sentence each; empty when they can be used.
std::vector<std::string> mistakes_in(const ConvergenceParameters&);

/// phi(p, B), samples.
double noise_scale(const ConvergenceParameters&, const ConvergenceErrors&, double progress, double batch);
/// r: reference steps that one step at `batch` is worth.
double step_gain(double noise, double batch, double reference_batch, GainLaw law = GainLaw::harmonic);
/// q(x) = 2x - x^2 for 0 < x < 2, else 0: the share of a step's use that is left at x times the most useful rate.
double rate_response(double x);
/// e*: the most useful rate, before the publication's schedule: e_max/(1 + phi/B)^rate_exponent, which is
/// reference rate x r^rate_exponent / its fraction.
double most_useful_rate(const ConvergenceParameters&, const ConvergenceErrors&, double progress, double batch);
/// The rate that the setting uses in this state, before the publication's schedule.
double learning_rate(const ConvergenceParameters&, const ConvergenceErrors&, const TrainingState&, const StepSetting&);
/// Reference steps for each sample: r min(1, q(x)/q(x_reference)) / (B examples_factor). Rates between the reference rate and its
/// mirror image beyond e* are equally good: a published rate is not beaten by a retuned one, only matched.
double progress_per_example(const ConvergenceParameters&, const ConvergenceErrors&, const TrainingState&, const StepSetting&);

/// Trains on `examples` samples (any amount >= 0). Relative error of progress below 1e-4. Once the state has diverged nothing
/// more is learnt; the caller goes back to a copy.
void advance(const ConvergenceParameters&, const ConvergenceErrors&, TrainingState&, const StepSetting&, double examples);

/// Noise-free metric of the state's weights. Never falls as progress grows with the mean batch unchanged.
double accuracy(const ConvergenceParameters&, const ConvergenceErrors&, const TrainingState&);
/// What `accuracy` tends to when the state's progress goes on for ever, its mean batch and staleness unchanged.
double accuracy_ceiling(const ConvergenceParameters&, const ConvergenceErrors&, const TrainingState&);
/// Standard deviation of one evaluation: max(0.002, sqrt(a (1 - a) / N)).
double evaluation_deviation(double accuracy, double validation_samples);

struct EpochsToTarget {
  std::optional<int> epochs;   ///< first epoch whose noise-free accuracy reaches the target, none within the cap
  bool above_ceiling = false;  ///< no number of epochs would do: "never"
  bool diverged = false;
  TrainingState end;
};

/// Trains from nothing under one setting until the target is reached, but at most `cap` epochs.
EpochsToTarget epochs_to_target(const ConvergenceParameters&, const ConvergenceErrors&, const StepSetting&, double target,
                                int cap);

// What is believed of the convergence of each (model, dataset) pair, with sources.

/// Every pair whose accuracy is modelled. Pairs that are not here have a cost only.
const std::vector<ConvergenceParameters>& convergence_table();

/// What a publication tells of a training.
struct PublishedTraining {
  double batch = 0;  ///< global
  double learning_rate = 0;
  double epochs = 0;
  double final_accuracy = 0;  ///< after them
};

/// The shape and the noise scale (in samples) of a fit at another batch, rate and length: its progress is stretched and its
/// levels are scaled so that the training ends as was published.
ConvergenceParameters reshaped(const ConvergenceParameters& fit, const PublishedTraining& training, double training_samples);

/// Null when the pair's accuracy is not modelled.
const ConvergenceParameters* find_convergence(std::string_view model, std::string_view dataset);

}  // namespace rehearse::workloads
