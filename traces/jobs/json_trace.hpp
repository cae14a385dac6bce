// What the readers of traces in JSON share.
#pragma once

#include <optional>
#include <string>

#include "sim/read/json_items.hpp"
#include "sim/read/object_reader.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

/// One item as a document; nothing, and mistakes in `row`, when it is no JSON after all.
inline std::optional<sim::JsonDocument> parse_item(const sim::JsonItem& item, const std::string& path, TraceRow& row) {
  try {
    return sim::parse_json(item.text, path);
  } catch (const sim::InputError& error) {
    for (sim::Mistake mistake : error.mistakes()) {
      mistake.line += item.line - 1;
      row.mistakes.push_back(std::move(mistake));
    }
    return std::nullopt;
  }
}

/// Hands the mistakes over to the row: "/duration" becomes the column "duration", lines count from the file's first.
inline void add_mistakes(const sim::Mistakes& mistakes, const sim::JsonItem& item, TraceRow& row) {
  for (sim::Mistake mistake : mistakes.listed()) {
    mistake.line += item.line - 1;
    if (mistake.pointer.starts_with('/')) mistake.pointer.erase(0, 1);
    row.mistakes.push_back(std::move(mistake));
  }
}

}  // namespace rehearse::traces
