// What reading trainings' curves gives: the rows that can be used, and an account of every one that cannot.
#pragma once

#include <map>
#include <set>
#include <string>
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

}  // namespace rehearse::traces
