// An interval of a logarithm.
#pragma once

#include <limits>

namespace rehearse::policies {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Of a logarithm. `high` is infinite where it may never be.
struct LogBounds {
  double low = 0, high = 0;
  double middle() const { return 0.5 * (low + high); }
  double width() const { return high - low; }
};

}  // namespace rehearse::policies
