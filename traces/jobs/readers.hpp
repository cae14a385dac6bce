// All readers of job traces, one small file each, in one table. docs/guide/traces.md has a section for each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/csv.hpp"
#include "sim/io/json_items.hpp"
#include "sim/io/object_reader.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

/// Each opens a file, plain or compressed with gzip or xz; throws InputError when it cannot be read or is none of that format.
std::unique_ptr<TraceReader> open_native_trace(const std::string& path);
std::unique_ptr<TraceReader> open_elasticflow_rigid(const std::string& path);
std::unique_ptr<TraceReader> open_elasticflow_elastic(const std::string& path);
std::unique_ptr<TraceReader> open_elasticflow_measured(const std::string& path);
std::unique_ptr<TraceReader> open_philly(const std::string& path);
std::unique_ptr<TraceReader> open_philly_json(const std::string& path);
std::unique_ptr<TraceReader> open_tiresias(const std::string& path);
std::unique_ptr<TraceReader> open_gavel(const std::string& path);
std::unique_ptr<TraceReader> open_gavel_measured(const std::string& path);
std::unique_ptr<TraceReader> open_shockwave(const std::string& path);
std::unique_ptr<TraceReader> open_helios(const std::string& path);
std::unique_ptr<TraceReader> open_alibaba_pai_2020(const std::string& path);
std::unique_ptr<TraceReader> open_alibaba_gpu_2023(const std::string& path);
std::unique_ptr<TraceReader> open_alibaba_gpu_2025(const std::string& path);
std::unique_ptr<TraceReader> open_alibaba_spot_2026(const std::string& path);
std::unique_ptr<TraceReader> open_kubernetes(const std::string& path);
std::unique_ptr<TraceReader> open_sacct(const std::string& path);
std::unique_ptr<TraceReader> open_pbs(const std::string& path);
std::unique_ptr<TraceReader> open_swf(const std::string& path);
std::unique_ptr<TraceReader> open_batsim(const std::string& path);

struct TraceReaderEntry {
  std::string_view name;
  std::string_view description;
  std::string_view source;   ///< how public data of this format is had; empty: there is none
  std::string_view columns;  ///< of the native CSV that it may give, with commas; empty: those of the file
  std::unique_ptr<TraceReader> (*open)(const std::string& path);
  std::string_view
      gpu_time;  ///< where mistakes leave a row's GPU-seconds unknown: columns as its mistakes name them, with commas
  bool has_native_form = true;  ///< false: a scenario reads it, but the native CSV cannot say all that its jobs are
};

/// The first is our own, and the default.
std::span<const TraceReaderEntry> trace_readers();
/// Throws InputError for a name that is not in the table.
const TraceReaderEntry& trace_reader(std::string_view name);

// What the readers of traces in CSV share: they only say what a row's fields mean.

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

// What the readers of traces in JSON share: they only say what an item means.

/// One item as a document; nothing, and mistakes in `row`, when it is no JSON after all.
std::optional<sim::JsonDocument> parse_item(const sim::JsonItem& item, const std::string& path, TraceRow& row);

class JsonTrace : public TraceReader {
 public:
  /// As sim::JsonItems.
  explicit JsonTrace(const std::string& path, std::string_view key = {})
      : JsonTrace(path,
                  [items = std::make_shared<sim::JsonItems>(path, key)](sim::JsonItem& item) { return items->next(item); }) {}
  /// Of items that `next_item` gives; false at their end.
  JsonTrace(const std::string& path, std::function<bool(sim::JsonItem&)> next_item)
      : path_(path), next_item_(std::move(next_item)) {}
  bool next(TraceRow& row) final;

 protected:
  /// Turns an item into row.job; what cannot be read is refused in `row` or in `mistakes`.
  virtual void read(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) = 0;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::function<bool(sim::JsonItem&)> next_item_;
};

}  // namespace rehearse::traces
