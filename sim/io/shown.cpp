#include "sim/io/shown.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rehearse::sim {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string shown(std::string_view text, std::size_t limit) { return '"' + printable(text, limit) + '"'; }

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        else
          out += c;
    }
  }
  return out + "\"";
}

bool NumberRange::contains(double x) const {
  return std::isfinite(x) && (low_excluded ? x > low : x >= low) && (high_excluded ? x < high : x <= high);
}

std::string NumberRange::describe(std::string_view what) const {
  std::string text(what);
  const bool bounded_below = std::isfinite(low), bounded_above = std::isfinite(high);
  if (bounded_below && bounded_above && !low_excluded && !high_excluded)
    return text + fmt::format(" from {:.15g} to {:.15g}", low, high);
  if (bounded_below) text += fmt::format(" {} {:.15g}", low_excluded ? "above" : "of at least", low);
  if (bounded_below && bounded_above) text += " and";
  if (bounded_above) text += fmt::format(" {} {:.15g}", high_excluded ? "below" : "of at most", high);
  return text;
}

double NumberRange::some() const {
  if (contains(0)) return 0;
  if (contains(1)) return 1;
  if (contains(low)) return low;
  if (contains(high)) return high;
  if (!std::isfinite(high)) return low + 1;
  if (!std::isfinite(low)) return high - 1;
  return low + (high - low) / 2;
}

std::string integer_expectation(double x, const NumberRange& range) {
  if (std::isfinite(x) && std::abs(x) >= kIntegerLimit) return "a whole number between -2^53 and 2^53";
  if (x != std::trunc(x) || !range.contains(x)) return range.describe("a whole number");
  return {};
}

}  // namespace rehearse::sim
