#include "traces/jobs/job_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::traces {

namespace {

void append(std::string& text, const ImportReason& reason, std::string_view verb) {
  auto out = std::back_inserter(text);
  const std::int64_t rows = reason.rows + reason.also;
  fmt::format_to(out, "  {}: {}{}expected {}; ", counted_words(reason.rows, reason.also, verb), reason.column,
                 reason.column.empty() ? "" : ": ", reason.expected);
  text += rows == 1 ? "line " : "lines ";
  std::string_view separator;
  for (const ImportExample& example : reason.examples) {
    fmt::format_to(out, "{}{}", separator, example.line);
    if (!example.found.empty()) fmt::format_to(out, " (found {})", example.found);
    if (!example.nearest.empty()) fmt::format_to(out, " (did you mean \"{}\"?)", example.nearest);
    separator = ", ";
  }
  text += rows > static_cast<std::int64_t>(reason.examples.size()) ? ", ...\n" : "\n";
}

}  // namespace

std::string counted_words(std::int64_t rows, std::int64_t also, std::string_view verb) {
  if (also == 0) return fmt::format("{} {}", rows, verb);
  return rows == 0 ? fmt::format("{} of those {} also", also, verb)
                   : fmt::format("{} {}, and {} of the others", rows, verb, also);
}

ImportReason& counted(std::vector<ImportReason>& reasons, std::string_view column, std::string_view expected) {
  auto reason = std::find_if(reasons.begin(), reasons.end(),
                             [&](const ImportReason& r) { return r.column == column && r.expected == expected; });
  if (reason == reasons.end())
    reason = reasons.insert(reasons.end(), {.column = std::string(column), .expected = std::string(expected)});
  ++reason->rows;
  return *reason;
}

void refuse_any(const ImportReport& report) {
  std::vector<sim::Mistake> mistakes;
  std::int64_t left_out = 0;
  for (const auto* reasons : {&report.dropped, &report.repaired})
    for (const ImportReason& reason : *reasons) {
      left_out += std::max<std::int64_t>(0, reason.rows - static_cast<std::int64_t>(reason.examples.size()));
      for (const ImportExample& example : reason.examples)
        mistakes.push_back({.file = sim::printable(report.file, 4096),
                            .line = example.line,
                            .pointer = reason.column,
                            .expected = reason.expected,
                            .found = example.found,
                            .nearest = example.nearest});
    }
  if (!mistakes.empty()) throw sim::InputError(std::move(mistakes), left_out);
}

void refuse_all(const ImportReport& report) {
  const std::string file = sim::printable(report.file, 4096);
  if (report.rows == 0) throw sim::InputError(sim::Mistake{.file = file, .expected = "a row for each job", .found = "no rows"});
  if (!report.what_it_is.empty())
    throw sim::InputError(
        sim::Mistake{.file = file, .expected = "a file of the format that was asked for", .found = report.what_it_is});
  if (report.dropped.empty())
    throw sim::InputError(sim::Mistake{.file = file,
                                       .expected = "a job among what is asked for",
                                       .found = fmt::format("{} rows, all of them left out", report.rows)});
  refuse_any(report);
  sim::fail_check("rows that are neither kept nor dropped");
}

void finish(JobList& list, bool keep_origin) {
  std::vector<sim::Job>& jobs = list.jobs;
  list.report.jobs = static_cast<std::int64_t>(jobs.size());
  sort_by_date(jobs);
  if (keep_origin) return;
  list.origin_s = jobs.front().submit_s;
  if (list.origin_s == 0) return;
  for (sim::Job& job : jobs) job.submit_s -= list.origin_s;
  list.report.notes.push_back(fmt::format("dates count from the first submission, at {:.15g} s in the file", list.origin_s));
}

void sort_by_date(std::vector<sim::Job>& jobs) {
  const auto earlier = [](const sim::Job& a, const sim::Job& b) { return a.submit_s < b.submit_s; };
  if (!std::is_sorted(jobs.begin(), jobs.end(), earlier)) std::stable_sort(jobs.begin(), jobs.end(), earlier);
}

std::string gpu_hours(const ImportReport& report) {
  if (!report.gpu_time) return {};
  const auto [read_s, kept_s] = *report.gpu_time;
  return read_s > 0 ? fmt::format("GPU-hours: {:.12g} read, {:.12g} kept", read_s / 3600, kept_s / 3600)
                    : "GPU-hours: none, as no row has both GPUs and a duration";
}

std::string to_string(const ImportReport& report, std::string_view one) {
  const auto number = [](std::int64_t of, std::string_view what) { return sim::counted(static_cast<double>(of), what); };
  std::string text = fmt::format("{}: {}, {}, {} dropped", sim::printable(report.file, 4096), number(report.rows, "row"),
                                 number(report.jobs, one), number(report.rows_dropped, "row"));
  const auto add = [&text](std::int64_t rows, std::string_view what) {
    if (rows > 0) fmt::format_to(std::back_inserter(text), ", {} {}", sim::grouped(rows), what);
  };
  add(report.rows_repaired, kKept);
  add(report.rows_left_out, "left out");
  add(report.rows_joined, "joined with others");
  text += '\n';
  if (const std::string hours = gpu_hours(report); !hours.empty()) text += "  " + hours + "\n";
  for (const ImportReason& reason : report.dropped) append(text, reason, "dropped");
  for (const ImportReason& reason : report.repaired) append(text, reason, kKept);
  for (const std::string& note : report.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace rehearse::traces
