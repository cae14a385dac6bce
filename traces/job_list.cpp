#include "traces/job_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "sim/read/shown.hpp"

namespace rehearse::traces {

namespace {

void append(std::string& text, const ImportReason& reason, std::string_view verb) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "  {} {}: {}{}expected {}; ", reason.rows, verb, reason.column, reason.column.empty() ? "" : ": ",
                 reason.expected);
  text += reason.rows == 1 ? "line " : "lines ";
  std::string_view separator;
  for (const ImportExample& example : reason.examples) {
    fmt::format_to(out, "{}{}", separator, example.line);
    if (!example.found.empty()) fmt::format_to(out, " (found {})", example.found);
    if (!example.nearest.empty()) fmt::format_to(out, " (did you mean \"{}\"?)", example.nearest);
    separator = ", ";
  }
  text += reason.rows > static_cast<std::int64_t>(reason.examples.size()) ? ", ...\n" : "\n";
}

}  // namespace

void sort_by_date(std::vector<sim::Job>& jobs) {
  const auto earlier = [](const sim::Job& a, const sim::Job& b) { return a.submit_s < b.submit_s; };
  if (!std::is_sorted(jobs.begin(), jobs.end(), earlier)) std::stable_sort(jobs.begin(), jobs.end(), earlier);
}

std::string to_string(const ImportReport& report, std::string_view what) {
  std::string text = fmt::format("{}: {} rows, {} {}, {} rows dropped\n", sim::printable(report.file, 4096), report.rows,
                                 report.jobs, what, report.rows_dropped);
  for (const ImportReason& reason : report.dropped) append(text, reason, "dropped");
  for (const ImportReason& reason : report.repaired) append(text, reason, "repaired");
  for (const std::string& note : report.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace rehearse::traces
