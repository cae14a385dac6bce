#include "traces/jobs/native_rows.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sim/read/csv_text.hpp"

namespace rehearse::traces {

void append_native_header(std::string& text, const TraceColumns& columns) {
  std::string_view separator;
  for (const TraceColumn* column : columns) {
    text += separator;
    text += column->name;
    separator = ",";
  }
  text += '\n';
}

void append_native_row(std::string& text, const TraceJob& job, const TraceColumns& columns) {
  std::string_view separator;
  for (const TraceColumn* column : columns) {
    text += separator;
    separator = ",";
    if (const auto* name = std::get_if<std::string TraceJob::*>(&column->field))
      sim::append_csv_text(text, job.**name);
    else if (const double value = job.*std::get<double TraceJob::*>(column->field); is_given(value))
      fmt::format_to(std::back_inserter(text), "{}", value);
  }
  text += '\n';
}

}  // namespace rehearse::traces
