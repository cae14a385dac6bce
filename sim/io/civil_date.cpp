#include "sim/io/civil_date.hpp"

#include <charconv>
#include <chrono>

namespace rehearse::sim {

namespace {

/// Exactly `digits` digits off the front of `text`.
std::optional<int> take(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == one_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

/// ".25"; 0 when there is none.
std::optional<double> take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) return 0.0;
  std::size_t end = 1;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  double value = 0;
  if (end == 1 || std::from_chars(text.data(), text.data() + end, value).ec != std::errc{}) return std::nullopt;
  text.remove_prefix(end);
  return value;
}

/// Z or an offset, as seconds east of UTC.
std::optional<double> take_zone(std::string_view& text) {
  if (take(text, "Z")) return 0.0;
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const double sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = take(text, 2);
  take(text, ":");
  const auto minutes = take(text, 2);
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600.0 + *minutes * 60.0);
}

}  // namespace

std::optional<CivilDate> parse_civil_date(std::string_view text) {
  namespace c = std::chrono;
  const auto year = take(text, 4);
  const bool dash1 = take(text, "-");
  const auto month = take(text, 2);
  const bool dash2 = take(text, "-");
  const auto day = take(text, 2);
  if (!year || !dash1 || !month || !dash2 || !day || *year < 1970 || *year > 2200) return std::nullopt;
  const c::year_month_day date{c::year(*year), c::month(static_cast<unsigned>(*month)), c::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  CivilDate result{.unix_s = static_cast<double>(c::sys_days(date).time_since_epoch().count()) * 86400.0};
  if (text.empty()) return result;
  if (!take(text, "T ")) return std::nullopt;
  const auto hour = take(text, 2);
  const bool colon1 = take(text, ":");
  const auto minute = take(text, 2);
  const bool colon2 = take(text, ":");
  const auto second = take(text, 2);
  if (!hour || !colon1 || !minute || !colon2 || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  result.unix_s += *hour * 3600.0 + *minute * 60.0 + *second + *fraction;
  if (const auto east_s = take_zone(text)) {
    result.unix_s -= *east_s;
    result.has_zone = true;
  }
  return text.empty() ? std::optional(result) : std::nullopt;
}

}  // namespace rehearse::sim
