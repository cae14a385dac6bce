#include "traces/jobs/native_rows.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sim/io/csv.hpp"

namespace rehearse::traces {

namespace {

/// One field of a job as text.
struct AppendValue {
  std::string& text;
  const TraceJob& job;

  void operator()(double TraceJob::*number) const {
    if (is_given(job.*number)) fmt::format_to(std::back_inserter(text), "{}", job.*number);
  }
  void operator()(std::string TraceJob::*name) const { sim::append_csv_text(text, job.*name); }
  void operator()(std::vector<std::string> TraceJob::*names) const {
    sim::append_csv_text(text, fmt::format("{}", fmt::join(job.*names, ";")));
  }
};

}  // namespace

void append_native_header(std::string& text, const TraceColumns& columns) {
  std::string_view separator;
  for (const JobField* column : columns) {
    text += separator;
    text += column->name;
    separator = ",";
  }
  text += '\n';
}

void append_native_row(std::string& text, const TraceJob& job, const TraceColumns& columns) {
  std::string_view separator;
  for (const JobField* column : columns) {
    text += separator;
    separator = ",";
    std::visit(AppendValue{text, job}, column->member);
  }
  text += '\n';
}

}  // namespace rehearse::traces
