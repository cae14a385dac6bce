// Rows of a results file, chosen by the values of columns.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/plots/figure.hpp"

namespace rehearse::report {

/// COLUMN=VALUE: as text, or as numbers within 1e-9.
using Condition = std::pair<std::string, std::string>;

class PlotRows {
 public:
  /// These columns of the rows that meet the conditions. Throws sim::InputError when the file cannot be read, a column is missing
  /// or no row is left.
  PlotRows(const std::string& path, const std::vector<std::string>& columns, const std::vector<Condition>& where);

  std::size_t size() const { return rows_.size(); }
  const std::string& text(std::size_t row, std::string_view column) const;
  /// NaN where there is no number.
  double number(std::size_t row, std::string_view column) const;
  double date(std::size_t row, std::string_view column) const;  ///< on the grid, as sim::write_date writes it
  /// Values of the column, each once, in the file's order.
  std::vector<std::string> values(std::string_view column) const;
  /// Unless one value is left in the column, keeps the rows with `wanted`, or with the first value there is. Adds what it chose
  /// to `note`.
  void keep_one(std::string_view column, std::string& note, const std::string& wanted = {});

 private:
  std::size_t at(std::string_view column) const;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The kinds of figures there are, each from the files of a run's or study's results (docs/guide/figures.md).

struct PlotRequest {
  std::vector<std::string> results;  ///< folders; a file of the kind that the figure is from may stand for its folder
  std::vector<Condition> where;
  std::string x, y, by;                 ///< columns, where the kind leaves a choice; empty: the kind's own
  std::vector<std::string> higher;      ///< of a Pareto front: columns of which more is better
  std::string value = {};               ///< of a heat map: the column that colours it
  std::string relative_to = {};         ///< a policy: its number over each one's own, paired, instead of the numbers
  std::vector<std::string> swept = {};  ///< of a sweep's rows: the columns of what was swept
};

/// The parts of a request that a kind heeds.
struct PlotOptions {
  bool where = true, x = false, y = false, by = false, higher = false;
  bool several = false;  ///< folders of results
  bool value = false, relative_to = false;
  bool rows = false;  ///< of a table of runs, which a sweep's are too
};

struct PlotKind {
  std::string name;
  std::string help;  ///< one line: what, and from which file
  /// Throws sim::InputError.
  Figure (*make)(const PlotRequest& request);
  PlotOptions takes = {};
};

/// The kind's figure, with yardsticks marked. Throws sim::InputError.
Figure figure_of(const PlotKind& kind, const PlotRequest& request);

/// Throws sim::InputError for each part of the request that the kind does not heed; it names the kinds that do.
void check_request(const PlotKind& kind, const PlotRequest& request);

const std::vector<PlotKind>& plot_kinds();

// Figures that kinds.cpp lists, and what they share with it.

/// The file in a results folder; a file stands for itself. Throws sim::InputError when the folder has none, and says what makes
/// it: the study, or a run where `study` is empty.
std::string file_of(const std::string& results, const std::string& name, const std::string& study = {});
/// With several results, names its folder too.
std::string series_name(const PlotRequest& request, std::size_t results, const std::string& name);

/// A column's name as an axis has it: "cost_usd" is "cost, $"; of a metric as the tables call it.
std::string axis_label(const std::string& column);

Figure gantt(const PlotRequest& request);
Figure line(const PlotRequest& request);
Figure heat(const PlotRequest& request);
Figure bars(const PlotRequest& request);
Figure tradeoff(const PlotRequest& request);
Figure choices(const PlotRequest& request);
Figure queue_length(const PlotRequest& request);
Figure utilization(const PlotRequest& request);
Figure pareto(const PlotRequest& request);
Figure speedup(const PlotRequest& request);
Figure errors(const PlotRequest& request);

}  // namespace rehearse::report
