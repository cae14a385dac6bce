#include "traces/jobs/native_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/io/csv.hpp"
#include "traces/jobs/job_fields.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

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

// Our own CSV: a row a job, the columns those of job_fields(). Names of models, datasets and pools are passed on as they stand:
// they are a scenario's.

namespace {

sim::CsvColumns native_columns() {
  sim::CsvColumns wanted{.others_allowed = false};
  for (const JobField& field : job_fields())
    if (field.is_in(kCsv)) (wanted.required.size() < kRequiredInCsv ? wanted.required : wanted.optional).emplace_back(field.name);
  return wanted;
}

/// One field of a row into its place in a job.
struct ReadField {
  sim::CsvRow& fields;
  const JobField& field;
  TraceJob& job;

  void operator()(double TraceJob::*number) const {
    if (field.whole) {
      if (const auto whole = fields.maybe_integer(field.name, field.range)) job.*number = static_cast<double>(*whole);
    } else if (const auto given = fields.maybe_number(field.name, field.range)) {
      job.*number = *given;
    }
  }
  void operator()(std::string TraceJob::*text) const {
    job.*text = fields.text(field.name);
    if (field.choices == nullptr || (job.*text).empty()) return;
    const std::span<const std::string> words = field.choices();
    if (std::find(words.begin(), words.end(), job.*text) == words.end())
      fields.refuse(field.name, fmt::format("{}", fmt::join(words, " or ")));
  }
  void operator()(std::vector<std::string> TraceJob::*names) const { job.*names = split_names(fields.text(field.name)); }
};

class NativeTrace final : public CsvTrace {
 public:
  explicit NativeTrace(const std::string& path) : CsvTrace(path, native_columns()) {
    for (const JobField& field : job_fields())
      if (field.is_in(kCsv) && has_column(field.name)) present_.push_back(&field);
  }
  std::vector<const JobField*> columns() const override { return present_; }

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    for (const JobField* field : present_) std::visit(ReadField{fields, *field, row.job}, field->member);
    if (!is_given(row.job.submit_s)) fields.refuse("submit_s", kDates.describe());
  }
  std::string_view column_of(std::string_view field) const override { return field; }

  std::vector<const JobField*> present_;
};

}  // namespace

std::unique_ptr<TraceReader> open_native_trace(const std::string& path) { return std::make_unique<NativeTrace>(path); }

}  // namespace rehearse::traces
