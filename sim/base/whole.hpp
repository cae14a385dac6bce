// Doubles made integers. A cast to an integer that cannot hold the value is undefined behaviour, and what the user gives can make
// any quantity too large for one: intervals of 1e-300 s, devices of 1e20 FLOP/s.
#pragma once

#include <limits>
#include <string_view>

namespace rehearse::sim {

[[noreturn]] void refuse_whole(double value, std::string_view what, double most);

/// `value` without its fraction. Throws InputError ("WHAT: expected ..., found ...") when an `Integer` cannot hold it, or it is
/// no number.
template <class Integer>
Integer whole(double value, std::string_view what) {
  using Limits = std::numeric_limits<Integer>;
  constexpr double kEnd = 2.0 * static_cast<double>(Limits::max() / 2 + 1);  // a power of two, so exact
  constexpr auto kLow = static_cast<double>(Limits::min());
  if (!(value >= kLow && value < kEnd)) [[unlikely]]
    refuse_whole(value, what, kEnd);
  return static_cast<Integer>(value);
}

}  // namespace rehearse::sim
