#include "traces/jobs/collect.hpp"

#include <fmt/format.h>

#include "sim/io/file.hpp"
#include "traces/jobs/to_job.hpp"
#include "traces/jobs/trace_stream.hpp"

namespace rehearse::traces {

JobList read_trace(std::string_view format, const std::string& path, const TraceOptions& options,
                   workloads::ProfileTable& profiles) {
  const TraceReaderEntry& entry = trace_reader(format);
  require_regular(path);
  TraceStream stream(entry, path, {.scenario = &options}, known_names(NameOf::model, options));
  JobList list;
  std::int64_t batches_set_aside = 0;
  while (const TraceJob* job = stream.next()) {
    list.jobs.push_back(to_job(*job, stream.looked_up(), options, profiles));
    if (list.jobs.back().batch_size > 0 && list.jobs.back().work != sim::Work::steps) ++batches_set_aside;
  }
  list.report = stream.report();
  if (batches_set_aside > 0)
    list.report.notes.push_back(fmt::format(
        "batch_size of {} jobs is only what their manual configuration uses: it binds beside steps alone", batches_set_aside));
  list.report.sha256 = sim::sha256_of_file(path);
  if (list.jobs.empty()) refuse_all(list.report);
  finish(list, options.keep_origin);
  return list;
}

}  // namespace rehearse::traces
