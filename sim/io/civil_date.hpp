// Dates as people write them.
#pragma once

#include <optional>
#include <string_view>

namespace rehearse::sim {

struct CivilDate {
  double unix_s = 0;      ///< seconds since 1970-01-01 00:00:00 UTC, without leap seconds; as if in UTC where no zone is named
  bool has_zone = false;  ///< it ends with Z or an offset
};

/// "2017-10-09 07:01:55", with T or a blank, a fraction of the second, Z or +hh:mm (ISO 8601, RFC 3339), or the day alone; years
/// 1970 to 2200. Nothing for any other text, nor for a day that is not in the calendar.
std::optional<CivilDate> parse_civil_date(std::string_view text);

}  // namespace rehearse::sim
