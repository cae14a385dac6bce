// How the user's own text is quoted back in messages.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "sim/base/text.hpp"

namespace rehearse::sim {

bool is_utf8(std::string_view text);

/// printable(), in double quotes.
std::string shown(std::string_view text, std::size_t limit = 40);

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// Which numbers a key or a column may hold.

/// An interval; finite numbers only, whatever its ends.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;

  bool contains(double x) const;
  /// "a number from 0 to 1", "a whole number above 0", ...: `what` and the limits.
  std::string describe(std::string_view what = "a number") const;
  /// A number of the range, to go on with after a mistake: 0 or 1 where they are allowed.
  double some() const;
};

inline NumberRange at_least(double low) { return {.low = low}; }
inline NumberRange above(double low) { return {.low = low, .low_excluded = true}; }
inline NumberRange between(double low, double high) { return {.low = low, .high = high}; }

/// Integers are exact in a double below this, in both directions (RFC 7493, section 2.2); 2^53 itself may be a rounded 2^53 + 1.
inline constexpr double kIntegerLimit = 0x1p53;

/// What is wrong with `x` as an integer of the range: the expectation it misses; empty when nothing is.
std::string integer_expectation(double x, const NumberRange& range);

}  // namespace rehearse::sim
