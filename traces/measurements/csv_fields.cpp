#include "traces/measurements/csv_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text.hpp"

namespace rehearse::traces {

std::size_t choice(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names, std::string_view what) {
  const std::string found(row.text(column));
  const auto name = std::find(names.begin(), names.end(), found);
  if (name != names.end()) return static_cast<std::size_t>(name - names.begin());
  const std::string nearest = sim::nearest_name(found, names);
  row.refuse(column, fmt::format("{}{}", what, nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest)));
  return 0;
}

std::size_t choice_or_first(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names) {
  return row.has(column) ? choice(row, column, names, fmt::format("{}", fmt::join(names, ", "))) : 0;
}

std::string number_or_empty(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

}  // namespace rehearse::traces
