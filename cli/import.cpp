#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/commands.hpp"
#include "sim/base/errors.hpp"
#include "traces/measurements/formats.hpp"
#include "traces/measurements/native.hpp"

namespace rehearse::cli {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw sim::InputError({.file = path, .expected = "a file that can be written", .found = "an error"});
}

int import_command(const ImportArguments& arguments) {
  const auto formats = traces::measurement_formats();
  const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.name == arguments.format; });
  sim::check(format != formats.end(), "a format that the command line should have refused");
  const traces::MeasurementList list = format->read(arguments.path);
  std::string text = traces::native_header();
  for (const workloads::Measurement& m : list.rows) text += traces::native_row(m);
  write_text(arguments.out, text);
  fmt::print("{}{}: {} rows\n", to_string(list), arguments.out, list.rows.size());
  return kOk;
}

std::vector<std::string> import_formats() {
  std::vector<std::string> names;
  for (const traces::MeasurementFormat& format : traces::measurement_formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace rehearse::cli
