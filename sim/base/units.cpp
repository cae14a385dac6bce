#include "sim/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

char* write_date(double date_s, char* to) {
  constexpr double kEnd = 0x1p32;
  constexpr std::uint64_t kTicks = 1u << 20;
  const double all = date_s * 0x1p20;
  if (!(date_s >= 0 && date_s < kEnd) || all != std::floor(all)) return fmt::format_to(to, "{}", date_s == 0 ? 0.0 : date_s);
  const auto ticks = static_cast<std::uint64_t>(all);
  to = std::to_chars(to, to + kDateText, ticks / kTicks).ptr;
  const std::uint64_t part = ticks % kTicks;
  if (part == 0) return to;
  // With k digits, n / 10^k is the largest such decimal that is not after the date; rounding up to the grid gives the date where
  // it is after the tick before, by more than the double next to it can be away from it: half of a unit in the last place.
  const int half_unit = 33 - std::ilogb(std::max(date_s, 1.0));  // a tick's 2^-half_unit
  std::uint64_t power = 1;
  for (int digits = 1; digits <= 7; ++digits) {
    power *= 10;
    const std::uint64_t n = part * power / kTicks;
    const std::uint64_t before = (part - 1) * power;
    if (n * kTicks <= before || ((n * kTicks - before) << half_unit) <= power) continue;
    *to++ = '.';
    for (std::uint64_t place = power / 10; place > 0; place /= 10) *to++ = static_cast<char>('0' + n / place % 10);
    return to;
  }
  return fmt::format_to(to, "{}", date_s);
}

std::string date_text(double date_s) {
  char text[kDateText];
  return {text, write_date(date_s, text)};
}

void refuse_whole(double value, std::string_view what, double most) {
  throw InputError(
      {.pointer = std::string(what), .expected = fmt::format("less than {:.4g}", most), .found = fmt::format("{:.6g}", value)});
}

}  // namespace rehearse::sim
