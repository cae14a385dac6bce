// describe: what a trace asks of a cluster. synthesize: jobs drawn from such a description.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/jobs.hpp"
#include "cli/output_option.hpp"
#include "cli/say.hpp"
#include "cli/text_file.hpp"
#include "report/distribution_plot.hpp"
#include "traces/jobs/native_rows.hpp"
#include "traces/jobs/synthetic.hpp"
#include "traces/jobs/workload.hpp"

namespace rehearse::cli {

namespace {

traces::Workload workload_of(traces::TraceStream& stream) {
  traces::Workload workload;
  while (const traces::TraceJob* job = stream.next()) workload.add(*job);
  if (workload.jobs() == 0) refuse_all(stream.report());
  return workload;
}

report::Distribution cumulative(std::string name, const traces::LogHistogram& histogram) {
  report::Distribution result{.name = std::move(name)};
  double below = 0;
  for (const auto& [index, bin] : histogram.bins()) {
    below += static_cast<double>(bin.count);
    result.points.emplace_back(bin.most, below / static_cast<double>(histogram.count()));
  }
  return result;
}

/// The four sizes with the most jobs each have a line of their own.
std::vector<report::Distribution> duration_lines(const traces::Workload& workload) {
  std::vector<report::Distribution> lines = {cumulative("all jobs", workload.durations())};
  std::vector<std::pair<std::int64_t, int>> sizes;
  for (const auto& [gpus, durations] : workload.by_gpus()) sizes.emplace_back(-durations.count(), gpus);
  std::sort(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(4, sizes.size()); ++i)
    lines.push_back(cumulative(fmt::format("{} {}", sizes[i].second, sizes[i].second == 1 ? "GPU" : "GPUs"),
                               workload.by_gpus().at(sizes[i].second)));
  return lines;
}

void write_plots(const traces::Workload& workload, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto path = [&folder](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  write_text(path("durations.svg"),
             report::distribution_svg("Jobs that run at most so long", "duration, s", duration_lines(workload)));
  std::vector<std::pair<std::string, double>> jobs, time;
  for (const auto& [gpus, durations] : workload.by_gpus()) {
    jobs.emplace_back(fmt::format("{}", gpus), static_cast<double>(durations.count()));
    time.emplace_back(fmt::format("{}", gpus), gpus * durations.sum() / 3600);
  }
  write_text(path("sizes.svg"), report::bars_svg("Jobs by size", "GPUs", "jobs", jobs));
  write_text(path("gpu_time.svg"), report::bars_svg("GPU time by size", "GPUs", "GPU-hours", time));
  std::array<double, 24> by_hour{};
  std::map<std::int64_t, double> by_day;
  for (const auto& [hour, count] : workload.hours()) {
    by_hour[static_cast<std::size_t>(hour % 24)] += static_cast<double>(count);
    by_day[hour / 24] += static_cast<double>(count);
  }
  std::vector<std::pair<std::string, double>> day, days;
  for (std::size_t hour = 0; hour < by_hour.size(); ++hour) day.emplace_back(fmt::format("{}", hour), by_hour[hour]);
  for (std::int64_t d = by_day.begin()->first; d <= by_day.rbegin()->first; ++d)
    days.emplace_back(fmt::format("{}", d - by_day.begin()->first), by_day.count(d) > 0 ? by_day[d] : 0);
  write_text(path("hours.svg"), report::bars_svg("Submissions by hour of the day", "hour (UTC, or from 0 s on)", "jobs", day));
  write_text(path("days.svg"), report::bars_svg("Submissions by day", "days since the first", "jobs", days));
}

}  // namespace

void add_describe_commands(CLI::App& app, DescribeArguments& arguments) {
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("file", arguments.trace.path, "the trace")->required();
    command->add_option("--format", arguments.trace.format, "of the trace (default native)")
        ->check(CLI::IsMember(trace_format_names()));
    add_trace_options(*command, arguments.trace);
    return command;
  };
  add("describe", "statistics of a job trace, with plots")
      ->add_option("--plots", arguments.plots, "a folder for pictures (SVG): durations, sizes, gpu_time, hours, days");
  CLI::App* synthesize = add("synthesize", "jobs drawn from a trace's arrivals, sizes and durations, as native CSV");
  synthesize->add_option("--count", arguments.count, "jobs (default: as many as the trace has)")
      ->check(CLI::Range(1, 1000000000));
  add_output_option(*synthesize, "-o,--out", arguments.out, "the CSV file to write")->required();
}

int describe_command(const DescribeArguments& arguments) {
  traces::TraceStream stream = open_trace(arguments.trace);
  const traces::Workload workload = workload_of(stream);
  say("{}\n{}", to_string(stream.report()), to_string(workload));
  if (!arguments.plots.empty()) write_plots(workload, arguments.plots);
  return kOk;
}

int synthesize_command(const DescribeArguments& arguments) {
  traces::TraceStream stream = open_trace(arguments.trace);
  const traces::Workload workload = workload_of(stream);
  const std::int64_t count = arguments.count > 0 ? arguments.count : workload.jobs();
  traces::SyntheticTrace synthetic(workload, count, arguments.trace.seed);
  TextFile out(arguments.out, arguments.trace.path);
  traces::TraceColumns columns;
  for (const char* name : {"job_id", "submit_s", "gpus", "duration_s"}) columns.push_back(traces::find_job_field(name));
  append_native_header(out.text, columns);
  traces::Workload drawn;
  while (const auto job = synthetic.next()) {
    append_native_row(out.text, *job, columns);
    out.pass_on();
    drawn.add(*job);
  }
  out.close();
  say("{}{}: {} jobs, mean load {:.4g} GPUs (the trace's: {:.4g})\n", to_string(stream.report()), arguments.out, count,
      drawn.mean_load_gpus(), workload.mean_load_gpus());
  return kOk;
}

}  // namespace rehearse::cli
