#include "traces/jobs/json_trace.hpp"

#include <algorithm>

namespace rehearse::traces {

namespace {

/// "/attempts/12/start_time" is the column "attempts/start_time": an element's place makes no reason of its own.
std::string column_of(std::string_view pointer) {
  std::string column;
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string_view part = pointer.substr(begin, end - begin);
    if (part.find_first_not_of("0123456789") != part.npos) column.append(column.empty() ? "" : "/").append(part);
    begin = end + 1;
  }
  return column;
}

}  // namespace

std::optional<sim::JsonDocument> parse_item(const sim::JsonItem& item, const std::string& path, TraceRow& row) {
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

bool JsonTrace::next(TraceRow& row) {
  sim::JsonItem item;
  if (!items_.next(item)) return false;
  row.line = item.line;
  const auto document = parse_item(item, path_, row);
  if (!document) return true;
  sim::Mistakes mistakes;
  read(document->root(), row, mistakes);
  for (sim::Mistake mistake : mistakes.listed()) {
    mistake.line += item.line - 1;
    mistake.pointer = column_of(mistake.pointer);
    row.mistakes.push_back(std::move(mistake));
  }
  return true;
}

}  // namespace rehearse::traces
