// Tables of measured throughputs: our own format, and those that schedulers' authors publish.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/measurements/measurement_list.hpp"
#include "workloads/steps/throughput_table.hpp"

namespace rehearse::traces {

struct ThroughputRow : workloads::Throughput {
  std::int64_t line = 0;  ///< in the file, from 1
};

struct ThroughputList {
  std::vector<ThroughputRow> rows;
  std::vector<std::string> notes;  ///< what was left out, and how often
};

/// Reads a CSV file, plain or compressed, with the columns job_type, workers, batch (global, which the workers share evenly) and
/// steps_per_s (global steps), and any of pool (empty: every pool) and partner (empty: alone; else with one worker). It is the
/// user's own file: throws InputError with every mistake in it, when a setting stands there twice, and when it cannot be read or
/// has no row.
std::vector<ThroughputRow> read_native_throughputs(const std::string& path);

/// The header line, and a row, each with its line end; numbers in the shortest form that reads back the same.
std::string throughput_header();
std::string throughput_row(const workloads::Throughput& row);

struct ThroughputFormat {
  std::string_view name, description;
  std::string_view source;  ///< how to get such files; empty for one's own
  /// Throws sim::InputError when a file cannot be read or holds nothing that can be used.
  ThroughputList (*read)(const std::vector<std::string>& paths);
};

/// Our own comes first.
std::span<const ThroughputFormat> throughput_formats();

}  // namespace rehearse::traces
