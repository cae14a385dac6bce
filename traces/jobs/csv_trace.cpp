#include "traces/jobs/csv_trace.hpp"

#include <fmt/format.h>

#include "sim/io/civil_date.hpp"

namespace rehearse::traces {

double read_date(sim::CsvRow& fields, std::string_view column, std::int64_t& zoneless) {
  const auto date = sim::parse_civil_date(fields.text(column));
  if (!date) {
    fields.refuse(column, "a date like 2017-10-09 07:01:55");
    return 0;
  }
  if (!date->has_zone) ++zoneless;
  return date->unix_s;
}

std::vector<std::string> note_of_zones(std::int64_t zoneless) {
  if (zoneless == 0) return {};
  return {
      fmt::format("{} dates name no time zone: taken as UTC; where the clock was changed for summer, an hour is missing or "
                  "there twice",
                  zoneless)};
}

}  // namespace rehearse::traces
