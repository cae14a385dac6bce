// What somebody measured of trainings' accuracy, by (model, dataset) pair and by run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/training/convergence.hpp"
#include "workloads/calibration/measurement.hpp"

namespace rehearse::workloads {

/// What a row says of the metric: what it was after an epoch; that this epoch was the first with at least so much; or that a run
/// never got there.
enum class Reading : std::uint8_t { evaluation, reached, never };

struct ConvergencePoint {
  std::int64_t line = 0;  ///< of the file it comes from, for messages
  std::string model, dataset;
  double batch = 0;             ///< global, samples
  double epoch = kNotMeasured;  ///< passes over the training samples, parts of one too; not known: of `never` alone
  double metric = 0;            ///< higher is better, 0 to 1
  Reading reading = Reading::evaluation;
  double examples = kNotMeasured;  ///< seen until then; not known: epoch x the dataset's training samples
  double learning_rate = 0;        ///< of the run, before its schedule lowers it; 0: as useful as the reference rate (AdaScale)
  double noise_scale = kNotMeasured;  ///< in this epoch, samples
  double progress = kNotMeasured;     ///< steps at the pair's smallest batch, as AdaScale counts them
  int phase = -1;                     ///< how often the schedule has lowered the rate until then; -1: not known
  bool adaptive = false;              ///< trained by an optimizer that divides gradients by their size (Adam, Adadelta, RMSprop)
  std::string run, source;
};

/// What all runs at one setting say of one target.
struct TargetReached {
  double target = 0;
  double mean_epochs = kNotMeasured;  ///< of the runs that reached it
  int reached = 0, never = 0;         ///< runs
  bool is_reached() const { return reached > 0 && reached >= never; }
};

/// One training: evaluations in order of epochs.
struct ConvergenceRun {
  double batch = 0, learning_rate = 0;
  std::string name;
  std::vector<ConvergencePoint> points;
};

/// All runs at one batch and rate that tell when targets were reached, together.
struct TargetsAtSetting {
  double batch = 0, learning_rate = 0;
  std::vector<TargetReached> targets;  ///< rising
};

struct MeasuredPair {
  std::string model, dataset;
  double training_samples = 0, validation_samples = 0;
  bool adaptive = false;
  std::vector<ConvergenceRun> runs;        ///< by batch, rate and name
  std::vector<TargetsAtSetting> settings;  ///< by batch and rate
  /// Batches of all runs, rising, each once.
  std::vector<double> batches() const;
  double highest_metric() const;  ///< evaluated, or reached by half of a setting's runs
  bool has_progress() const;      ///< of every row
  bool has_rates() const;         ///< some run's rate is given
};

/// By model, dataset and kind of optimizer. Each point has examples, or an epoch of a dataset that the program knows
/// (sim::check); the samples of another dataset are taken from examples / epoch.
std::vector<MeasuredPair> pairs_of(std::span<const ConvergencePoint> points);

/// The pair without the runs at this batch, or with those alone.
MeasuredPair without_batch(const MeasuredPair& pair, double batch);
MeasuredPair only_batch(const MeasuredPair& pair, double batch);

/// What progress counts steps at: the smallest batch where AdaScale kept every rate useful. Where rates are given, the largest
/// batch that needs at most a quarter more epochs than the best to the highest metric that all reach: its rate is none too high.
double reference_batch_of(const MeasuredPair& pair);

/// The noise scales of a run, a running median over five epochs: what is not finite or above 0 does not count; where nothing does
/// it stays as it was, NaN at first. A measured scale is a ratio of two estimates that both vanish as training ends, and jumps by
/// orders there.
std::vector<double> clipped_noise_scales(const ConvergenceRun& run);

/// Steps that AdaScale's gain (Johnson et al., ICML 2020) predicts from measured noise scales, beside those made.
struct StepCheck {
  double batch = 0;
  double predicted_over_measured = kNotMeasured;  ///< from the fifth epoch at the smallest batch to the run's end
  double worst = 0;                               ///< largest |predicted / measured - 1| from there to any later epoch
  int epochs = 0;                                 ///< compared
};

/// Each epoch's progress over the gain at that epoch's noise scale. NaN without progress or noise scales.
StepCheck check_steps(const ConvergenceRun& run, double reference_batch, double training_samples);

}  // namespace rehearse::workloads
