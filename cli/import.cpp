#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/format_names.hpp"
#include "cli/say.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"
#include "traces/histories/history_list.hpp"
#include "traces/jobs/trace_job.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "traces/measurements/native.hpp"
#include "traces/measurements/throughputs.hpp"

namespace rehearse::cli {

namespace {

void import_measurements(const ImportArguments& arguments) {
  traces::MeasurementList list = named(traces::measurement_formats(), arguments.format).read(arguments.path);
  const auto precisions = traces::precision_names();
  const auto precision = std::find(precisions.begin(), precisions.end(), arguments.precision);
  for (workloads::Measurement& m : list.rows) {
    if (!arguments.device.empty()) m.device = arguments.device;
    if (!arguments.device.empty() || !arguments.instance.empty()) m.instance = arguments.instance;
    if (precision != precisions.end()) m.precision = static_cast<sim::Precision>(precision - precisions.begin());
  }
  std::string text = traces::native_header();
  for (const workloads::Measurement& m : list.rows) text += traces::native_row(m);
  sim::write_file(arguments.out, text);
  say("{}{}: {}\n", to_string(list), arguments.out, sim::counted(static_cast<double>(list.rows.size()), "row"));
}

void import_history(const ImportArguments& arguments) {
  const traces::HistoryList list = named(traces::history_formats(), arguments.format).read(arguments.path);
  std::string text = traces::native_history_header();
  for (const workloads::PastRun& run : list.runs) text += traces::native_history_row(run);
  sim::write_file(arguments.out, text);
  say("{}{}: {}\n", to_string(list.report, "run"), arguments.out, sim::counted(static_cast<double>(list.runs.size()), "row"));
}

}  // namespace

int import_command(const ImportArguments& arguments) {
  arguments.history ? import_history(arguments) : import_measurements(arguments);
  return kOk;
}

std::vector<std::string> import_throughput_formats() { return names_of(traces::throughput_formats()); }

int import_throughputs(const ImportArguments& arguments) {
  const traces::ThroughputList list = named(traces::throughput_formats(), arguments.format).read(arguments.paths);
  std::string text = traces::throughput_header();
  for (const traces::ThroughputRow& row : list.rows) text += traces::throughput_row(row);
  for (const std::string& note : list.notes) say("{}\n", note);
  sim::write_file(arguments.out, text);
  say("{}: {}\n", arguments.out, sim::counted(static_cast<double>(list.rows.size()), "row"));
  return kOk;
}

std::vector<std::string> import_formats() { return names_of(traces::measurement_formats()); }
std::vector<std::string> import_history_formats() { return names_of(traces::history_formats()); }

}  // namespace rehearse::cli
