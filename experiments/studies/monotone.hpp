// How often a quantity goes one way along an axis of a grid: what isotonic regression takes for granted.
#pragma once

#include <span>

namespace rehearse::scenarios {

enum class Direction { falls, rises };

/// Over pairs of neighbours. The wrong way means strictly so: equal neighbours are monotone.
struct MonotonePairs {
  int pairs = 0;
  int exact = 0;             ///< not the wrong way at all
  int tolerated = 0;         ///< the wrong way by no more than the tolerance, or not at all
  double worst_percent = 0;  ///< the largest step the wrong way, of the value before it

  double exact_fraction() const;      ///< NaN without pairs
  double tolerated_fraction() const;  ///< NaN without pairs
};

/// Adds the pairs of one line of the grid. `values` are positive, along the axis; a pair with a NaN does not count.
void count_pairs(std::span<const double> values, Direction direction, double tolerance, MonotonePairs& counted);

}  // namespace rehearse::scenarios
