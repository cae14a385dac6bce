// Our own CSV as a stream, for what needs no scenario: filters, statistics, writers of other formats. Names of models, pools and
// the like are passed on as they stand; read_native (traces/native.hpp) checks them.
#include "traces/job_rules.hpp"
#include "traces/jobs/csv_trace.hpp"
#include "traces/jobs/readers.hpp"

namespace rehearse::traces {
namespace {

sim::CsvColumns native_columns() {
  sim::CsvColumns wanted{.others_allowed = false};
  for (const TraceColumn& column : trace_columns())
    (wanted.required.size() < 2 ? wanted.required : wanted.optional).emplace_back(column.name);
  return wanted;
}

class NativeTrace final : public CsvTrace {
 public:
  explicit NativeTrace(const std::string& path) : CsvTrace(path, native_columns()) {
    for (const TraceColumn& column : trace_columns())
      if (has_column(column.name)) present_.push_back(&column);
  }
  std::vector<const TraceColumn*> columns() const override { return present_; }

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    for (const TraceColumn* column : present_) {
      if (const auto* text = std::get_if<std::string TraceJob::*>(&column->field)) {
        row.job.** text = fields.text(column->name);
        continue;
      }
      double& field = row.job.*std::get<double TraceJob::*>(column->field);
      if (!fields.has(column->name)) continue;
      field = column->whole ? static_cast<double>(fields.integer(column->name, column->range))
                            : fields.number(column->name, column->range);
    }
    if (row.job.job_id.empty()) fields.refuse("job_id", "a name");
    if (!fields.has("submit_s")) fields.refuse("submit_s", kDates.describe());
  }

  std::vector<const TraceColumn*> present_;
};

}  // namespace

std::unique_ptr<TraceReader> open_native_trace(const std::string& path) { return std::make_unique<NativeTrace>(path); }

}  // namespace rehearse::traces
