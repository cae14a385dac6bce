// What the readers of traces in JSON share: they only say what an item means.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json_items.hpp"
#include "sim/io/object_reader.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

/// One item as a document; nothing, and mistakes in `row`, when it is no JSON after all.
std::optional<sim::JsonDocument> parse_item(const sim::JsonItem& item, const std::string& path, TraceRow& row);

class JsonTrace : public TraceReader {
 public:
  /// As sim::JsonItems.
  explicit JsonTrace(const std::string& path, std::string_view key = {}) : path_(path), items_(path, key) {}
  bool next(TraceRow& row) final;

 protected:
  /// Turns an item into row.job; what cannot be read is refused in `row` or in `mistakes`.
  virtual void read(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) = 0;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  sim::JsonItems items_;
};

}  // namespace rehearse::traces
