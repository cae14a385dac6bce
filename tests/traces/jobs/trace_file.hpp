// A trace in a temporary file, and what its reader makes of it.
#pragma once

#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "traces/jobs/native_rows.hpp"
#include "traces/jobs/trace_stream.hpp"

namespace rehearse::tests {

class TraceFile {
 public:
  explicit TraceFile(const std::string& text, const std::string& ending = ".trace")
      : path_(std::filesystem::temp_directory_path() / ("rehearse_trace_" + std::to_string(::getpid()) + ending)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// What a trace gives: its jobs as native CSV, and the report without the file's name.
struct Imported {
  std::string csv, report;
  traces::ImportReport counts;
};

inline const std::vector<std::string> kModels = {"resnet18", "resnet50", "vgg16", "vgg19", "inception-v3"};

inline Imported import_file(std::string_view format, const std::string& path, traces::TraceChoices choices = {}) {
  traces::TraceStream stream(traces::trace_reader(format), path, std::move(choices), kModels);
  Imported result;
  const traces::TraceColumns columns = stream.columns();
  append_native_header(result.csv, columns);
  while (const traces::TraceJob* job = stream.next()) append_native_row(result.csv, *job, columns);
  result.counts = stream.report();
  REQUIRE(result.counts.rows ==
          result.counts.jobs + result.counts.rows_dropped + result.counts.rows_left_out + result.counts.rows_joined);
  REQUIRE(result.counts.gpu_time);
  result.report = to_string(stream.report());
  result.report.erase(0, result.report.find(path) == 0 ? path.size() : 0);
  return result;
}

inline Imported import_text(std::string_view format, const std::string& text, traces::TraceChoices choices = {}) {
  const TraceFile file(text);
  return import_file(format, file.path(), std::move(choices));
}

/// The message of the InputError that reading ends with; empty when it does not.
inline std::string refusal(std::string_view format, const std::string& text) {
  const TraceFile file(text);
  try {
    import_file(format, file.path());
  } catch (const sim::InputError& error) {
    std::string what = error.what();
    for (std::size_t at = what.find(file.path()); at != std::string::npos; at = what.find(file.path()))
      what.replace(at, file.path().size(), "FILE");
    return what;
  }
  return {};
}

/// Where the file under REHEARSE_DATA is; empty, with a line that says so, when there is none.
inline std::string data_file(const std::string& name) {
  const char* const folder = std::getenv("REHEARSE_DATA");
  const std::string path = folder != nullptr ? folder + ("/" + name) : std::string();
  if (folder != nullptr && std::filesystem::exists(path)) return path;
  WARN("skipped: REHEARSE_DATA holds no " << name);
  return {};
}

}  // namespace rehearse::tests
