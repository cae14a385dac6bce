#include "traces/jobs/trace_job.hpp"

#include <fmt/format.h>

#include <utility>

namespace rehearse::traces {

void TraceRow::refuse(std::string_view column, std::string expected, std::string found) {
  mistakes.push_back({.line = line, .pointer = std::string(column), .expected = std::move(expected), .found = std::move(found)});
}

Written TraceReader::written(std::string_view column, double value) { return {column, fmt::format("{}", value)}; }

}  // namespace rehearse::traces
