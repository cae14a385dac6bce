// One format's readers, as import and as a scenario call them, on what libFuzzer makes up: every input is read or
// refused with an InputError, every row is accounted for, and what was kept is a native trace without a mistake.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "traces/jobs/native_rows.hpp"
#include "traces/jobs/to_job.hpp"
#include "traces/jobs/trace_stream.hpp"

using namespace rehearse;

extern const char fuzzed_format[];  ///< its name; CMakeLists.txt gives each program its own

namespace {

void check_counts(const traces::ImportReport& report) {
  sim::check(report.rows == report.jobs + report.rows_dropped + report.rows_left_out + report.rows_joined, "a row is not accounted for");
  sim::check(!to_string(report).empty(), "a report without a line");
}

/// As `import jobs` does: what is kept, as native CSV.
std::string import(std::string_view format, std::string_view text) {
  const MemoryFile file(text);
  traces::TraceStream stream(traces::trace_reader(format), file.path(), {}, {"resnet18", "resnet50", "vgg16", "vgg19"});
  std::string csv;
  const traces::TraceColumns columns = stream.columns();
  append_native_header(csv, columns);
  while (const traces::TraceJob* job = stream.next()) append_native_row(csv, *job, columns);
  check_counts(stream.report());
  return stream.report().jobs > 0 ? csv : std::string();
}

/// As a scenario does.
void collect(std::string_view format, std::string_view text) {
  const MemoryFile file(text);
  workloads::ProfileTable profiles;
  const traces::TraceOptions options{
      .models = {{"resnet18", "imagenet"}, {"vgg16", "imagenet"}}, .datasets = {"imagenet", "cifar10"}, .pools = {"v100"}};
  const traces::JobList list = traces::read_trace(format, file.path(), options, profiles);
  check_counts(list.report);
  sim::check(
      std::is_sorted(list.jobs.begin(), list.jobs.end(), [](const auto& a, const auto& b) { return a.submit_s < b.submit_s; }),
      "jobs out of order");
}

bool is_imported(std::string_view format) {
  const auto readers = traces::trace_readers();
  return std::any_of(readers.begin(), readers.end(),
                     [&](const auto& reader) { return reader.name == format && reader.has_native_form; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] { collect(fuzzed_format, text); });
  if (!is_imported(fuzzed_format)) return 0;
  std::string csv;
  read_or_refuse([&] { csv = import(fuzzed_format, text); });
  if (!csv.empty()) sim::check(import("native", csv) == csv, "what was imported is not a native trace as it stands");
  return 0;
}
