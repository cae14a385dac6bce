#include "sim/base/number_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/units.hpp"

namespace rehearse::sim {

namespace {

constexpr double kGroupedFrom = 1e4;    // of measured numbers: four digits read well without a comma
constexpr double kExponentFrom = 1e15;  // doubles have no more whole digits
constexpr double kExponentBelow = 1e-4;

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(at -= 3), ',');
  return digits;
}

std::string figure(double number, int digits) {
  if (!std::isfinite(number)) return "-";
  if (number == 0) return "0";
  const double size = std::abs(number);
  if (size >= kExponentFrom || size < kExponentBelow) return fmt::format("{:.{}g}", number, digits);
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;  // digits before the point
  std::string text = fmt::format("{:.{}f}", number, std::max(0, digits - before));
  if (text.find('.') != text.npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }
  const double rounded = std::round(number);
  return std::abs(rounded) < kGroupedFrom ? text : grouped(static_cast<std::int64_t>(rounded));
}

std::string counted(double number, std::string_view one, std::string_view many) {
  const bool whole = number == std::floor(number) && std::abs(number) < kExponentFrom;
  const std::string shown = whole ? grouped(static_cast<std::int64_t>(number)) : figure(number);
  if (number == 1) return fmt::format("{} {}", shown, one);
  return many.empty() ? fmt::format("{} {}s", shown, one) : fmt::format("{} {}", shown, many);
}

std::string percent_words(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  const double percent = 100 * fraction, size = std::abs(percent);
  if (size >= 99.5 && size < 100) return fmt::format("{:.1f} %", std::copysign(std::min(size, 99.9), percent));
  return size >= 9.95 ? fmt::format("{:.0f} %", percent) : fmt::format("{} %", figure(percent, 2));
}

std::string time_words(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  const double size = std::abs(seconds);
  if (size < 10) return fmt::format("{} s", figure(seconds, size < 1 ? 1 : 2));
  if (size < 120) return fmt::format("{:.0f} s", seconds);
  if (size < 2 * kSecondsPerHour) return fmt::format("{:.1f} min", seconds / 60);
  if (size < 96 * kSecondsPerHour) return fmt::format("{:.1f} h", seconds / kSecondsPerHour);
  return fmt::format("{:.1f} d", seconds / (24 * kSecondsPerHour));
}

std::string money_words(double usd) {
  if (!std::isfinite(usd)) return "-";
  const double size = std::abs(usd);
  if (size >= 1000) return fmt::format("{} $", grouped(static_cast<std::int64_t>(std::round(usd))));
  return size < 1 && size > 0 ? fmt::format("{} $", figure(usd)) : fmt::format("{:.2f} $", usd);
}

}  // namespace rehearse::sim
