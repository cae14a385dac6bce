// A finished training run as it was measured: a row of the native history CSV.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/jobs/job.hpp"

namespace rehearse::workloads {

/// What a row tells.
enum class Told : std::uint8_t {
  run,            ///< a whole run: its time and its accuracy
  steps,          ///< the time of some steps, as an epoch of them takes it; nothing of an accuracy
  recipe,         ///< no run: the publication's batch size and epochs
  out_of_memory,  ///< that a worker does not hold so many samples
};

/// The fields have the columns' names.
struct PastRun {
  std::string model, dataset;
  sim::Precision precision = sim::Precision::fp32;
  sim::LrRule lr_rule = sim::LrRule::adascale;
  int max_accumulation = 1;
  std::string recipe = {};
  std::string instance;
  int workers = 1;
  double batch_size = 0;  ///< global: of all workers together, also where each pushes on its own
  double samples = 0;     ///< training samples an epoch
  double epochs = 0;
  double time_s = 0;    ///< of all epochs
  double accuracy = 0;  ///< after the last epoch, in [0, 1]
  bool asynchronous = false;
  /// Trained until a reading had so much: its epochs are what that took, or, with less accuracy, how long it tried. 0: not so.
  double target_accuracy = 0;
  /// Cut short: its epochs would have taken longer than `time_s` and reached no less than `accuracy`.
  bool censored = false;
  int servers = 0;                                                       ///< parameter servers
  double learning_rate = 0;                                              ///< 0: not said
  double price_usd_per_hour = std::numeric_limits<double>::quiet_NaN();  ///< of all that it used; NaN: not said
  std::vector<double> curve = {};  ///< accuracy after epochs 1, 2, ...; empty: only the last is known
  Told told = Told::run;
  int group = 0;  ///< points of one run's curve have the same number; 0: a run by itself

  /// As numbers, but for prices that are not said.
  bool operator==(const PastRun& other) const;
};

/// Whether `time_s` was measured.
inline bool tells_time(const PastRun& run) { return run.told == Told::run || run.told == Told::steps; }

/// Whether it trained what jobs of the profile train, in the same way.
bool is_of(const PastRun& run, const sim::Profile& profile);

/// What is wrong with a run, the column's name in `pointer`; file and line are left to the reader.
std::vector<sim::Mistake> mistakes_in(const PastRun& run);

}  // namespace rehearse::workloads
