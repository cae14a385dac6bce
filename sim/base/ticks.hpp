// Durations of the step level as counts of its grid.
#pragma once

#include <cmath>

#include "sim/base/units.hpp"
#include "sim/base/whole.hpp"

namespace rehearse::sim {

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
