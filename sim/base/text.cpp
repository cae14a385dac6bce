#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "sim/base/units.hpp"

namespace rehearse::sim {

namespace {

constexpr double kGroupedFrom = 1e4;    // of measured numbers: four digits read well without a comma
constexpr double kExponentFrom = 1e15;  // doubles have no more whole digits
constexpr double kExponentBelow = 1e-4;

/// Optimal string alignment distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replace, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

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

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestName = 64;  // longer ones are no slip of the finger
  if (name.empty() || name.size() > kLongestName) return {};
  const std::string wanted = lower(name);
  std::size_t best = 2 + wanted.size() / 3;
  std::string found;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&byte](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0, surrogate = lead == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90, beyond = lead == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == limit) return out + "...";
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(text);
    // C1 control characters (U+0080 to U+009F) steer terminals as well as C0 ones do.
    const bool control =
        byte < 0x20 || byte == 0x7F || (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0);
    if (length == 0 || control)
      out += fmt::format("\\x{:02X}", byte);
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 || control ? 1 : length);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    out += printable(text.substr(0, end), kWholeText) + '\n';
  return out + printable(text, kWholeText);
}

}  // namespace rehearse::sim
