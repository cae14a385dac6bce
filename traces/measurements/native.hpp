// Our own format of measurements: CSV, one row a setting.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/csv.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {

/// The names that a row may use.
struct MeasurementNames {
  std::vector<std::string> devices, instances;
};

/// Reads a CSV file, plain or gzip-compressed, with the columns device and step_s, and any of model, dataset, nodes,
/// workers_per_node, batch_per_worker, sync (ring, servers-sync, servers-async; ring), op (a kernel, JSON) or structure (a
/// network outside the zoo, JSON; traces/measurements/subject_json.hpp), precision (fp32, fp16), instance, workers (all of them,
/// when nodes differ), servers, forward_s, backward_s, sync_s, threads, power_w, power_limit_w, spread, source. Rows that cannot
/// be used are left out and listed. Throws sim::InputError when the file cannot be read, lacks a column or has an unknown one, or
/// nothing can be used.
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
