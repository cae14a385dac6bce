// The quantities of a run, each once: its name in files, what it is, and who shows it how. summary.json, repetitions.csv, the
// terminal, the HTML report, plots and regression read them here (docs/reference/metrics.md is held against it by a test).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/outcome.hpp"

namespace rehearse::report {

/// What a comparison is about: what its policies differ in, and what happens to its nodes. It decides which columns are shown.
struct StudyKinds {
  bool queue = false;          ///< who runs when
  bool configuration = false;  ///< what jobs run with: pool, workers, batch, placement, threads
  bool nodes = false;          ///< what failures and checkpoints take
  bool operator==(const StudyKinds&) const = default;
};

/// The table that a column stands in.
enum class MetricTable : std::uint8_t {
  completion,  ///< of queue studies: when jobs are done
  cluster,     ///< of queue studies: what the cluster does
  time,        ///< of configuration studies
  nodes,       ///< of node-failure studies
};
bool shows(const StudyKinds& kinds, MetricTable table);

/// How a number is written for people.
enum class Shown : std::uint8_t { number, energy, money, percent, duration, factor };
/// For the page's scripts.
std::string_view name_of(Shown shown);
std::string text_of(Shown shown, double value);

enum class Better : std::uint8_t { neither, lower, higher };

/// Who can work it out.
enum class MetricSource : std::uint8_t {
  run,       ///< the run by itself: a member of RunMetrics
  schedule,  ///< each run beside another of the same jobs: in repetitions.csv too
  policies,  ///< all repetitions of two policies: in summary.json alone
};

/// In which runs there is such a quantity.
enum class Present : std::uint8_t { always, with_measure, with_carbon };

struct MetricField {
  std::string_view name;
  std::string_view unit;
  std::string_view doc;  ///< what it is, in a line
  double RunMetrics::*value = nullptr;  ///< MetricSource::run
  MetricSource source = MetricSource::run;
  Present present = Present::always;
  std::string_view heading = {};  ///< where it is shown
  Shown shown = Shown::number;
  std::uint8_t tables = 0;     ///< bits by MetricTable; none: in files only
  std::string_view over = {};  ///< the number of jobs that it is over; empty: all of them
  Better better = Better::neither;
  bool absolute = false;  ///< regression judges differences as they are, not relative to what was recorded
  bool stands_in(MetricTable table) const { return (tables >> static_cast<unsigned>(table) & 1u) != 0; }
};

/// All, in the files' order.
const std::vector<MetricField>& all_metric_fields();
/// Those that a run has by itself.
const std::vector<MetricField>& metric_fields();
/// Null when there is none of this name.
const MetricField* find_metric_field(std::string_view name);

/// A table's columns for these kinds of study: a column that an earlier table has is not repeated.
struct MetricColumns {
  MetricTable table;
  std::vector<const MetricField*> fields;
};
std::vector<MetricColumns> metric_columns(const StudyKinds& kinds);

/// The kinds' names, as summary.json has them.
std::vector<std::string_view> names_of(const StudyKinds& kinds);
/// Of such a list; unknown names are passed over. Without any it is what results were before they said: a configuration study.
StudyKinds study_kinds_of(const std::vector<std::string>& names);

}  // namespace rehearse::report
