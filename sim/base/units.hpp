// Units and the grid of dates; doubles made integers. Names carry units: _s, _usd, _j, _w, _bytes, _flops.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace rehearse::sim {

// Units and the grid of dates. Names carry units: _s, _usd, _j, _w, _bytes, _flops.

inline constexpr double kSecondsPerHour = 3600.0;
inline constexpr double kJoulesPerKwh = 3.6e6;

/// Dates of the job level are rounded up to multiples of 2^-20 s on entry, so that equal dates are exactly equal.
inline constexpr double kDateGrid = 0x1p-20;

inline double on_date_grid(double seconds) { return std::ceil(seconds * 0x1p20) * kDateGrid; }

/// The shortest decimal that `on_date_grid` makes this date of, with at most 7 digits after the point: what came in as 4.112 and
/// is 4.112000465393066 on the grid is written 4.112. Of what is no date (off the grid, negative, 2^32 s or more) the shortest
/// decimal that is the number itself. Written at `to`, at most kDateText characters; returns their end.
inline constexpr std::size_t kDateText = 32;
char* write_date(double date_s, char* to);
std::string date_text(double date_s);

/// Durations and latencies of the step level are rounded up to multiples of 2^-30 s.
inline constexpr double kStepGrid = 0x1p-30;

inline double on_step_grid(double seconds) { return std::ceil(seconds * 0x1p30) * kStepGrid; }

/// A date or duration of the step level as a count of kStepGrid.
using Tick = std::int64_t;

inline double seconds_of(Tick ticks) { return static_cast<double>(ticks) * kStepGrid; }

// Doubles made integers. A cast to an integer that cannot hold the value is undefined behaviour, and what the user gives can make
// any quantity too large for one: intervals of 1e-300 s, devices of 1e20 FLOP/s.

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

// Durations of the step level as counts of its grid.

/// Of one duration or transfer: half of what a Tick holds, so that a date and one more duration always fit.
inline constexpr double kMostTicks = 0x1p62;

/// A count of ticks, whole or not, without its fraction. Throws InputError where it is not below kMostTicks.
inline Tick whole_ticks(double ticks) {
  if (!(ticks < kMostTicks)) [[unlikely]]
    refuse_whole(ticks, "a duration in ticks of 2^-30 s", kMostTicks);
  return static_cast<Tick>(ticks);
}

/// Rounded up to the grid. Not negative, and below 2^32 s.
inline Tick ticks_up(double seconds) { return whole_ticks(std::ceil(seconds * 0x1p30)); }

}  // namespace rehearse::sim
