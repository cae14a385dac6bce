#include "cli/jobs.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/say.hpp"
#include "cli/text_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/civil_date.hpp"
#include "sim/io/shown.hpp"
#include "traces/jobs/native_rows.hpp"
#include "traces/jobs/workload.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

/// Seconds as the file counts, or a date.
double date_option(const std::string& name, const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc{} && end == text.data() + text.size() && sim::NumberRange{}.contains(seconds)) return seconds;
  if (const auto date = sim::parse_civil_date(text)) return date->unix_s;
  throw sim::InputError({.file = name,
                         .expected = "seconds as the file counts them, or a date like 2017-10-09T07:01:55",
                         .found = sim::shown(text)});
}

std::pair<std::string, std::string> model_option(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == text.npos || at == 0 || at + 1 == text.size())
    throw sim::InputError(
        {.file = "--map-model", .expected = "THEIRS=OURS, for instance vgg11=vgg16", .found = sim::shown(text)});
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

void add_trace_options(Command command, TraceArguments& arguments) {
  command.option("--sample", arguments.sample, "keep each job with this probability (default 1)").between(0, 1);
  command.option("--seed", arguments.seed, "of --sample (default 0)");
  command.option("--from", arguments.from, "leave out jobs submitted before: seconds as the file counts, or a date");
  command.option("--to", arguments.to, "leave out jobs submitted then or later");
  command.option("--scale-load", arguments.scale_load, "divide the times between submissions by this (default 1)")
      .between(1e-6, 1e6);
  command.option("--map-model", arguments.map_models, "THEIRS=OURS: what the trace calls one of our models; may be repeated")
      .repeated();
}

std::vector<std::string> trace_format_names() {
  std::vector<std::string> names;
  for (const traces::TraceReaderEntry& entry : traces::trace_readers())
    if (entry.has_native_form) names.emplace_back(entry.name);
  return names;
}

traces::TraceStream open_trace(const TraceArguments& arguments) {
  traces::TraceChoices choices{.sample = arguments.sample, .seed = arguments.seed, .scale_load = arguments.scale_load};
  if (!arguments.from.empty()) choices.from_s = date_option("--from", arguments.from);
  if (!arguments.to.empty()) choices.to_s = date_option("--to", arguments.to);
  for (const std::string& text : arguments.map_models) choices.models.push_back(model_option(text));
  std::vector<std::string> models;
  for (const workloads::ZooEntry& entry : workloads::zoo()) models.emplace_back(entry.name);
  return {traces::trace_reader(arguments.format), arguments.path, std::move(choices), std::move(models)};
}

int import_jobs_command(const ImportJobsArguments& arguments) {
  traces::TraceStream stream = open_trace(arguments.trace);
  TextFile out(arguments.out, arguments.trace.path);
  const traces::TraceColumns columns = stream.columns();
  append_native_header(out.text, columns);
  traces::Workload workload;
  while (const traces::TraceJob* job = stream.next()) {
    append_native_row(out.text, *job, columns);
    out.pass_on();
    workload.add(*job);
    if (workload.jobs() == arguments.count) break;
  }
  stream.finish();
  if (stream.report().jobs == 0) refuse_all(stream.report());
  out.close();
  const double load = workload.mean_load_gpus();
  say("{}{}: {}{}\n", to_string(stream.report()), arguments.out, sim::counted(static_cast<double>(workload.jobs()), "job"),
      load > 0 ? fmt::format(", mean load {:.4g} GPUs (busy, if no job waits)", load) : "");
  return kOk;
}

}  // namespace rehearse::cli
