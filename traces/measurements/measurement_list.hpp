// What reading measurements gives: the rows that can be used, and an account, with line numbers, of every one that cannot.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "workloads/calibration/measurement.hpp"

namespace rehearse::traces {

struct LeftOut {
  std::string reason;
  std::vector<std::int64_t> lines;  ///< one for each measurement; a line of another format may hold several
};

/// Notes a line under its reason.
void count_reason(std::vector<LeftOut>& all, std::int64_t line, std::string reason);
/// What to throw when no row of a file is left.
sim::InputError nothing_left(const std::string& file, std::span<const LeftOut> left_out);

/// What became of a file's rows.
struct Account {
  const std::string& file;
  std::int64_t found = 0, used = 0;
  std::span<const LeftOut> left_out, remarked;
  std::span<const std::string> notes;
};
/// One line of totals, one for each reason, each with a line end.
std::string account(const Account& rows);

/// found = rows + all left out, always.
struct MeasurementList {
  std::string file;
  std::vector<workloads::Measurement> rows;
  std::int64_t found = 0;
  std::vector<LeftOut> left_out;   ///< in order of first occurrence
  std::vector<LeftOut> remarked;   ///< rows that were kept, but deserve a look
  std::vector<std::string> notes;  ///< how the format was understood
};

/// Sorts measurements into those that can be used and those that cannot.
class MeasurementCollector {
 public:
  explicit MeasurementCollector(std::string file) { list_.file = std::move(file); }

  /// Keeps it, unless its time is no positive number, or the same was given before: identical in every column.
  /// The same setting with another time is a repetition, kept and remarked.
  void add(workloads::Measurement measurement);
  void leave_out(std::int64_t line, std::string reason);
  void note(std::string text) { list_.notes.push_back(std::move(text)); }

  /// Call it once, last. Throws sim::InputError when nothing is left.
  MeasurementList finish();

 private:
  MeasurementList list_;
  std::set<std::string> rows_, settings_;
};

/// One line of totals, one for each reason, each with a line end.
std::string to_string(const MeasurementList& list);

// Other people's measurements: a reader for each format, in one table (measurement_list.cpp).

struct MeasurementFormat {
  std::string_view name, description;
  /// Throws sim::InputError when the file cannot be read or holds nothing that can be used.
  MeasurementList (*read)(const std::string& path);
};

std::span<const MeasurementFormat> measurement_formats();

MeasurementList read_gavel(const std::string& path);
MeasurementList read_pollux(const std::string& path);
MeasurementList read_tf_benchmarks(const std::string& path);
MeasurementList read_deepbench(const std::string& path);
MeasurementList read_trimtuner(const std::string& path);
/// Which network a file of TrimTuner's is of, by its name: cnn.csv, rnn.csv, mlp.csv or multilayer.csv.
std::string_view trimtuner_model(const std::string& path);
MeasurementList read_zeus(const std::string& path);
MeasurementList read_neusight(const std::string& path);

}  // namespace rehearse::traces
