// Our own format of measurements: CSV, one row a setting.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/csv.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {

/// A network outside the zoo that rows may name instead of writing its structure down.
struct OwnNetwork {
  std::string model, dataset;
  workloads::GivenNetwork network;
};

/// The names that a row may use.
struct MeasurementNames {
  std::vector<std::string> devices, instances;
  std::optional<OwnNetwork> own = {};
};

struct MeasurementColumn {
  std::string_view name, what;
  bool required = false;
};
/// In the order in which rows are written.
std::span<const MeasurementColumn> measurement_columns();

struct MeasurementExample {
  std::string_view of, csv;
};
/// One a kind of measurement; each can be read.
std::span<const MeasurementExample> measurement_examples();

/// Reads a CSV file, plain or gzip-compressed, with the columns above. Rows that cannot be used are left out and listed. Throws
/// sim::InputError when the file cannot be read, lacks a column or has an unknown one, or nothing can be used.
MeasurementList read_native_measurements(const std::string& path, const MeasurementNames& names);

/// The header line, and a row, each with its line end; numbers in the shortest form that reads back the same.
std::string native_header();
std::string native_row(const workloads::Measurement& measurement);

// What readers and writers of native CSV files of measurements share.

/// The position of the field among `names`. Another text is a mistake of the row, `what` is what was expected; it then stands for
/// the first.
std::size_t choice(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names, std::string_view what);
/// An empty field, or no such column, is the first name.
std::size_t choice_or_first(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names);

/// The shortest form that reads back; empty for what was not measured.
std::string number_or_empty(double x);

}  // namespace rehearse::traces
