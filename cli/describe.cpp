// describe: what a trace asks of a cluster. synthesize: jobs drawn from such a description.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/jobs.hpp"
#include "cli/options.hpp"
#include "cli/say.hpp"
#include "cli/text_file.hpp"
#include "report/plots/run_gnuplot.hpp"
#include "sim/base/text.hpp"
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

constexpr double kHeight_in = 3;
constexpr std::size_t kMostLabels = 24;  // under bars

report::Series cumulative(std::string name, const traces::LogHistogram& histogram) {
  report::Series series{.name = std::move(name), .style = report::Style::steps, .rows = {}};
  double below = 0;
  for (const auto& [index, bin] : histogram.bins()) {
    if (series.rows.empty()) series.rows.push_back({bin.most, 0});
    below += static_cast<double>(bin.count);
    series.rows.push_back({bin.most, below / static_cast<double>(histogram.count())});
  }
  return series;
}

/// The four sizes with the most jobs each have a line of their own.
report::NamedFigure durations(const traces::Workload& workload) {
  report::Figure figure{.title = "Jobs that run at most so long",
                        .x = {.label = "duration, s", .logarithmic = true},
                        .y = {.label = "part of the jobs", .low = 0.0, .high = 1.0},
                        .series = {cumulative("all jobs", workload.durations())},
                        .height_in = kHeight_in};
  std::vector<std::pair<std::int64_t, double>> sizes;
  for (const auto& [gpus, of_size] : workload.by_gpus()) sizes.emplace_back(-of_size.count(), gpus);
  std::sort(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(4, sizes.size()); ++i) {
    const double gpus = sizes[i].second;
    figure.series.push_back(cumulative(fmt::format("{} {}", gpus, gpus == 1 ? "GPU" : "GPUs"), workload.by_gpus().at(gpus)));
  }
  return {.name = "durations", .figure = std::move(figure)};
}

/// A bar for each (label, value).
report::Figure bars(report::Figure figure, const std::vector<std::pair<std::string, double>>& values) {
  const std::size_t every = (values.size() + kMostLabels - 1) / kMostLabels;
  report::Series& series = figure.series.emplace_back(report::Series{.name = {}, .style = report::Style::bars, .rows = {}});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(i);
    series.rows.push_back({at, values[i].second});
    if (i % every == 0) figure.x.tics.emplace_back(at, values[i].first);
  }
  figure.x.low = -0.6;
  figure.x.high = static_cast<double>(values.size()) - 0.4;
  figure.y.low = 0.0;
  figure.height_in = kHeight_in;
  return figure;
}

std::vector<report::NamedFigure> pictures(const traces::Workload& workload) {
  std::vector<std::pair<std::string, double>> jobs, time;
  for (const auto& [gpus, of_size] : workload.by_gpus()) {
    jobs.emplace_back(fmt::format("{}", gpus), static_cast<double>(of_size.count()));
    time.emplace_back(fmt::format("{}", gpus), workload.gpu_seconds_by_gpus().at(gpus) / 3600);
  }
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
  const auto of = [](const char* title, const char* x, const char* y) {
    return report::Figure{.title = title, .x = {.label = x}, .y = {.label = y}, .series = {}};
  };
  return {durations(workload),
          {"sizes", bars(of("Jobs by size", "GPUs", "jobs"), jobs)},
          {"gpu_time", bars(of("GPU time by size", "GPUs", "GPU-hours"), time)},
          {"hours", bars(of("Submissions by hour of the day", "hour (UTC, or from 0 s on)", "jobs"), day)},
          {"days", bars(of("Submissions by day", "days since the first", "jobs"), days)}};
}

}  // namespace

void add_describe_commands(Command app, DescribeArguments& arguments) {
  const auto add = [&](const char* name, const char* help) {
    Command command = app.subcommand(name, help);
    command.option("file", arguments.trace.path, "the trace").required();
    command.option("--format", arguments.trace.format, "of the trace (default native)").choices(trace_format_names());
    add_trace_options(command, arguments.trace);
    return command;
  };
  add("describe", "statistics of a job trace, with plots")
      .option("--plots", arguments.plots, "a folder for pictures (SVG, by gnuplot): durations, sizes, gpu_time, hours, days");
  Command synthesize = add("synthesize", "jobs drawn from a trace's arrivals, sizes and durations, as native CSV");
  synthesize.option("--count", arguments.count, "jobs (default: as many as the trace has)").range(1, 1000000000);
  synthesize.output("-o,--out", arguments.out, "the CSV file to write").required();
}

int describe_command(const DescribeArguments& arguments) {
  traces::TraceStream stream = open_trace(arguments.trace);
  const traces::Workload workload = workload_of(stream);
  say("{}\n{}", to_string(stream.report()), to_string(workload));
  if (arguments.plots.empty()) return kOk;
  std::error_code error;
  std::filesystem::create_directories(arguments.plots, error);  // what is wrong with it shows when a file is written
  if (const std::string left_out = draw_figures(pictures(workload), arguments.plots); !left_out.empty()) say("{}\n", left_out);
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
  const auto is_part = [](const auto& of_size) { return of_size.first != std::floor(of_size.first); };
  if (std::any_of(workload.by_gpus().begin(), workload.by_gpus().end(), is_part))
    columns.push_back(traces::find_job_field("gpu_fraction"));
  append_native_header(out.text, columns);
  traces::Workload drawn;
  while (const auto job = synthetic.next()) {
    append_native_row(out.text, *job, columns);
    out.pass_on();
    drawn.add(*job);
  }
  out.close();
  const double load = workload.mean_load_gpus();
  say("{}{}: {}{}\n", to_string(stream.report()), arguments.out, sim::counted(static_cast<double>(count), "job"),
      load > 0 ? fmt::format(", mean load {:.4g} GPUs (the trace's: {:.4g})", drawn.mean_load_gpus(), load) : "");
  return kOk;
}

}  // namespace rehearse::cli
