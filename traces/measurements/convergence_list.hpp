// What reading trainings' curves gives: the rows that can be used, and an account of every one that cannot.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "traces/measurements/measurement_list.hpp"
#include "workloads/calibration/convergence_runs.hpp"

namespace rehearse::traces {

/// found = rows + all left out, always.
struct ConvergenceList {
  std::string file;
  std::vector<workloads::ConvergencePoint> rows;
  std::int64_t found = 0;
  std::vector<LeftOut> left_out, remarked;
  std::vector<std::string> notes;
};

/// Sorts rows into those that can be used and those that cannot.
class ConvergenceCollector {
 public:
  explicit ConvergenceCollector(std::string file) { list_.file = std::move(file); }

  /// Keeps the row unless it is given twice, contradicts its run (another metric at the same epoch; epochs or progress that do
  /// not rise from row to row; another learning rate), or its dataset's size is not known: neither to the program nor by
  /// examples and epoch. A model outside the zoo is kept and remarked.
  void add(workloads::ConvergencePoint point);
  void leave_out(std::int64_t line, std::string reason);
  void note(std::string text) { list_.notes.push_back(std::move(text)); }

  /// Call it once, last.
  ConvergenceList finish() { return std::move(list_); }

 private:
  using RunKey = std::tuple<std::string, std::string, bool, double, std::string>;  // of evaluations: model to run's name
  std::string contradiction(const workloads::ConvergencePoint& point) const;

  ConvergenceList list_;
  std::set<std::string> rows_;
  std::map<RunKey, workloads::ConvergencePoint> last_;
};

/// One line of totals, one for each reason, each with a line end.
std::string to_string(const ConvergenceList& list);

// Our own format of measured trainings: CSV, one row an evaluation or a target.

/// Reads a CSV file, plain or gzip-compressed, with the columns model, dataset, batch_size (global, samples), epoch (passes over
/// the training samples, parts of one too), metric (higher is better, 0 to 1), and any of
///   learning_rate  of the run, before its schedule lowers it; left out: AdaScale's
///   examples       seen until then; left out: epoch x the dataset's training samples
///   reading        evaluation (the default); reached: the first epoch with at least this metric; never: the run did not get
///                  there (epoch may be empty)
///   noise_scale    of gradients in this epoch, samples
///   progress       steps at the smallest batch, as AdaScale counts them
///   phase          how often the schedule has lowered the learning rate until then
///   optimizer      sgd, momentum (the default), adam, adamw, adadelta, rmsprop
///   run, source    names
/// Any models and datasets. Rows that cannot be used are left out and listed. Throws sim::InputError when the file cannot be
/// read, lacks a column or has an unknown one, or nothing can be used.
ConvergenceList read_convergence(const std::string& path);

/// Whether the file's header is of this format rather than of step times: it has a column metric. Throws sim::InputError when
/// there is none that can be read.
bool is_convergence(const std::string& path);

/// The header line, and a row, each with its line end; numbers in the shortest form that reads back the same.
std::string convergence_header();
std::string convergence_row(const workloads::ConvergencePoint& point);

// Other people's trainings: a reader for each format, in one table.

struct ConvergenceFormat {
  std::string_view name, description;
  /// One list a file. Throws sim::InputError when a file cannot be read.
  std::vector<ConvergenceList> (*read)(const std::vector<std::string>& paths);
};

std::span<const ConvergenceFormat> convergence_formats();

/// Files validation-BATCH.csv in folders named by application; of a folder all such files, in it or in its folders.
std::vector<ConvergenceList> read_pollux_convergence(const std::vector<std::string>& paths);
/// summary_train.csv.
std::vector<ConvergenceList> read_zeus_convergence(const std::vector<std::string>& paths);

}  // namespace rehearse::traces
