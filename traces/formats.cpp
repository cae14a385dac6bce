#include "traces/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/names.hpp"
#include "sim/read/shown.hpp"
#include "traces/elasticflow.hpp"
#include "traces/jobs/collect.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/native.hpp"

namespace rehearse::traces {

namespace {

template <ElasticFlowMode mode>
JobList read_elasticflow_as(const std::string& path, const TraceOptions& options, workloads::ProfileTable& profiles) {
  return read_elasticflow(path, mode, options, profiles);
}

std::vector<TraceFormat> all_formats() {
  std::vector<TraceFormat> formats = {
      {"native", "our own CSV: job_id,submit_s and what is known of gpus, duration_s, model, deadline_s, ...", {}, read_native},
      {"elasticflow-rigid", "ElasticFlow's CSV: every job runs for its measured duration on its GPUs", kElasticFlowSource,
       read_elasticflow_as<ElasticFlowMode::rigid>},
      {"elasticflow-elastic", "ElasticFlow's CSV: every job does its iterations on any GPUs, scaled to its measured duration",
       kElasticFlowSource, read_elasticflow_as<ElasticFlowMode::elastic>},
  };
  for (const TraceReaderEntry& entry : trace_readers()) {
    if (std::any_of(formats.begin(), formats.end(), [&](const TraceFormat& format) { return format.name == entry.name; }))
      continue;
    formats.push_back({entry.name, entry.description, entry.source,
                       [&entry](const std::string& path, const TraceOptions& options, workloads::ProfileTable& profiles) {
                         return collect_jobs(entry, path, options, profiles);
                       }});
  }
  return formats;
}

}  // namespace

std::span<const TraceFormat> trace_formats() {
  static const std::vector<TraceFormat> formats = all_formats();
  return formats;
}

JobList read_trace(std::string_view format, const std::string& path, const TraceOptions& options,
                   workloads::ProfileTable& profiles) {
  std::vector<std::string> names;
  for (const TraceFormat& known : trace_formats()) {
    if (known.name == format) return known.read(path, options, profiles);
    names.emplace_back(known.name);
  }
  throw sim::InputError(sim::Mistake{.expected = fmt::format("a format of traces: {}", fmt::join(names, ", ")),
                                     .found = sim::shown(format),
                                     .nearest = sim::nearest_name(format, names)});
}

}  // namespace rehearse::traces
