// What the readers of traces in CSV share: they only say what a row's fields mean.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/read/csv.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

class CsvTrace : public TraceReader {
 public:
  CsvTrace(const std::string& path, const sim::CsvColumns& columns) : reader_(path, columns) {}
  bool next(TraceRow& row) final {
    sim::CsvRow* const fields = reader_.next();
    if (fields == nullptr) return false;
    row.line = fields->line();
    read(*fields, row);
    row.mistakes.insert(row.mistakes.end(), fields->mistakes().begin(), fields->mistakes().end());
    return true;
  }

 protected:
  /// Turns a row's fields into row.job; what cannot be read is refused in `fields` or in `row`.
  virtual void read(sim::CsvRow& fields, TraceRow& row) = 0;
  bool has_column(std::string_view column) const { return reader_.has_column(column); }

 private:
  sim::CsvReader reader_;
};

/// The date in a column as seconds since 1970, in UTC where the text names no zone; a mistake of the row when it is none.
/// `zoneless` is counted up for each without a zone.
double read_date(sim::CsvRow& fields, std::string_view column, std::int64_t& zoneless);

/// "N dates name no time zone ...", or nothing for none.
std::vector<std::string> note_of_zones(std::int64_t zoneless);

}  // namespace rehearse::traces
