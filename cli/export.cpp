#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/format_names.hpp"
#include "cli/jobs.hpp"
#include "cli/options.hpp"
#include "cli/say.hpp"
#include "cli/text_file.hpp"
#include "experiments/run/results_place.hpp"
#include "report/run_recorder.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"
#include "traces/jobs/results.hpp"
#include "traces/jobs/writers.hpp"

namespace rehearse::cli {

void add_export_command(Command app, ExportArguments& arguments) {
  Command command = app.subcommand("export", "write our files in other people's formats");
  command.require_subcommand();
  Command jobs = command.subcommand("jobs", "native CSV of jobs (or --format's) as swf or batsim");
  jobs.option("as", arguments.jobs_as, "the format to write").required().choices(names_of(traces::trace_writers()));
  jobs.option("file", arguments.trace.path, "the trace").required();
  jobs.option("--format", arguments.trace.format, "of the trace (default native)").choices(trace_format_names());
  add_trace_options(jobs, arguments.trace);
  jobs.output("-o,--out", arguments.out, "the file to write").required();
  Command results = command.subcommand("results", "the jobs of a run as batsim-jobs or paje");
  results.option("as", arguments.results_as, "the format to write").required().choices(names_of(traces::result_formats()));
  results.option("folder", arguments.folder, "the run's results").required();
  results.option("--policy", arguments.policy, "whose jobs (default: the first policy's)");
  results.option("--repetition", arguments.repetition, "which one (default 0)");
  results.output("-o,--out", arguments.out, "the file to write").required();
}

int export_command(const ExportArguments& arguments) {
  if (!arguments.results_as.empty()) {
    scenarios::check_results(arguments.folder);
    const std::string path = (std::filesystem::path(arguments.folder) / "jobs.csv").string();
    if (!std::filesystem::exists(path))
      throw sim::InputError({.file = arguments.folder,
                             .expected = "results of a run, with jobs.csv",
                             .found = fmt::format("a folder without it ({})", report::how_to_write("jobs.csv"))});
    const std::vector<traces::ResultRow> rows = traces::read_results(path, arguments.policy, arguments.repetition);
    sim::write_file(arguments.out, named(traces::result_formats(), arguments.results_as).write(rows));
    say("{}: {}\n", arguments.out, sim::counted(static_cast<double>(rows.size()), "job"));
    return kOk;
  }
  traces::TraceStream stream = open_trace(arguments.trace);
  traces::TraceExport written(named(traces::trace_writers(), arguments.jobs_as));
  TextFile out(arguments.out, arguments.trace.path);
  written.begin(out.text);
  while (const traces::TraceJob* job = stream.next()) {
    written.add(out.text, *job);
    out.pass_on();
  }
  if (stream.report().jobs == 0) refuse_all(stream.report());
  written.end(out.text);
  out.close();
  say("{}{}: {}\n{}", to_string(stream.report()), arguments.out, sim::counted(static_cast<double>(written.jobs()), "job"),
      written.report());
  return kOk;
}

}  // namespace rehearse::cli
