#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "sim/base/errors.hpp"
#include "sim/read/file.hpp"
#include "traces/histories/formats.hpp"
#include "traces/histories/native.hpp"
#include "traces/measurements/formats.hpp"
#include "traces/measurements/native.hpp"

namespace rehearse::cli {

namespace {

template <class Format>
const Format& named(std::span<const Format> formats, const std::string& name) {
  const auto format = std::find_if(formats.begin(), formats.end(), [&](const Format& f) { return f.name == name; });
  sim::check(format != formats.end(), "a format that the command line should have refused");
  return *format;
}

void import_measurements(const ImportArguments& arguments) {
  const traces::MeasurementList list = named(traces::measurement_formats(), arguments.format).read(arguments.path);
  std::string text = traces::native_header();
  for (const workloads::Measurement& m : list.rows) text += traces::native_row(m);
  sim::write_file(arguments.out, text);
  fmt::print("{}{}: {} rows\n", to_string(list), arguments.out, list.rows.size());
}

void import_history(const ImportArguments& arguments) {
  const traces::HistoryList list = named(traces::history_formats(), arguments.format).read(arguments.path);
  std::string text = traces::native_history_header();
  for (const workloads::PastRun& run : list.runs) text += traces::native_history_row(run);
  sim::write_file(arguments.out, text);
  fmt::print("{}{}: {} rows\n", to_string(list.report, "runs"), arguments.out, list.runs.size());
}

template <class Format>
std::vector<std::string> names_of(std::span<const Format> formats) {
  std::vector<std::string> names;
  for (const Format& format : formats) names.emplace_back(format.name);
  return names;
}

}  // namespace

int import_command(const ImportArguments& arguments) {
  arguments.history ? import_history(arguments) : import_measurements(arguments);
  return kOk;
}

std::vector<std::string> import_formats() { return names_of(traces::measurement_formats()); }
std::vector<std::string> import_history_formats() { return names_of(traces::history_formats()); }

}  // namespace rehearse::cli
