// The commands on job traces: import, export, describe and synthesize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "traces/jobs/trace_stream.hpp"

namespace rehearse::cli {

/// Which trace, and what of it.
struct TraceArguments {
  std::string format = "native";
  std::string path;
  double sample = 1, scale_load = 1;
  std::uint64_t seed = 0;
  std::string from, to;                 ///< seconds, or dates
  std::vector<std::string> map_models;  ///< theirs=ours
};

void add_trace_options(Command command, TraceArguments& arguments);
std::vector<std::string> trace_format_names();

/// Throws sim::InputError for options that make no sense, and as the format's reader does.
traces::TraceStream open_trace(const TraceArguments& arguments);

struct ImportJobsArguments {
  TraceArguments trace;
  std::string out;
  std::int64_t count = 0;  ///< the first so many of those that are kept; 0: all
};

struct ExportArguments {
  std::string jobs_as, results_as;  ///< one of them is empty
  TraceArguments trace;
  std::string folder, policy, out;
  std::int64_t repetition = 0;
};

void add_export_command(Command app, ExportArguments& arguments);
int export_command(const ExportArguments& arguments);

struct DescribeArguments {
  TraceArguments trace;
  std::string plots, out;
  std::int64_t count = 0;  ///< 0: as many as the trace has
};

void add_describe_commands(Command app, DescribeArguments& arguments);
int describe_command(const DescribeArguments& arguments);
int synthesize_command(const DescribeArguments& arguments);

int import_jobs_command(const ImportJobsArguments& arguments);

}  // namespace rehearse::cli
