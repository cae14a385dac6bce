// What the readers of traces in CSV share: they only say what a row's fields mean.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/io/csv.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

class CsvTrace : public TraceReader {
 public:
  CsvTrace(const std::string& path, const sim::CsvColumns& columns) : reader_(path, columns) {}
  bool next(TraceRow& row) final {
    fields_ = reader_.next();
    if (fields_ == nullptr) return false;
    row.line = fields_->line();
    read(*fields_, row);
    row.mistakes.insert(row.mistakes.end(), fields_->mistakes().begin(), fields_->mistakes().end());
    return true;
  }
  Written written(std::string_view field, double value) override {
    const std::string_view column = column_of(field);
    if (column.empty()) return TraceReader::written(field, value);
    return {column, std::string(fields_->text(column))};
  }

 protected:
  /// Turns a row's fields into row.job; what cannot be read is refused in `fields` or in `row`.
  virtual void read(sim::CsvRow& fields, TraceRow& row) = 0;
  /// The column that has our field as it stands; empty for one that the file has in other words.
  virtual std::string_view column_of(std::string_view /*field*/) const { return {}; }
  bool has_column(std::string_view column) const { return reader_.has_column(column); }

 private:
  sim::CsvReader reader_;
  sim::CsvRow* fields_ = nullptr;
};

/// The date in a column as seconds since 1970, in UTC where the text names no zone; a mistake of the row when it is none.
/// `zoneless` is counted up for each without a zone.
double read_date(sim::CsvRow& fields, std::string_view column, std::int64_t& zoneless);

/// "N dates name no time zone ...", or nothing for none.
std::vector<std::string> note_of_zones(std::int64_t zoneless);

}  // namespace rehearse::traces
