// Units and the grid of dates. Names carry units: _s, _usd, _j, _w, _bytes, _flops.
#pragma once

#include <cmath>
#include <cstdint>

namespace rehearse::sim {

inline constexpr double kSecondsPerHour = 3600.0;
inline constexpr double kJoulesPerKwh = 3.6e6;

/// Dates of the job level are rounded up to multiples of 2^-20 s on entry, so that equal dates are exactly equal.
inline constexpr double kDateGrid = 0x1p-20;

inline double on_date_grid(double seconds) { return std::ceil(seconds * 0x1p20) * kDateGrid; }

/// Durations and latencies of the step level are rounded up to multiples of 2^-30 s.
inline constexpr double kStepGrid = 0x1p-30;

inline double on_step_grid(double seconds) { return std::ceil(seconds * 0x1p30) * kStepGrid; }

/// A date or duration of the step level as a count of kStepGrid.
using Tick = std::int64_t;

inline double seconds_of(Tick ticks) { return static_cast<double>(ticks) * kStepGrid; }

}  // namespace rehearse::sim
