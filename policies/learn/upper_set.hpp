// The heaviest upper set of a partially ordered set, as a minimum cut: J.-C. Picard, "Maximal closure of a graph and
// applications to combinatorial problems", Management Science 22 (1976).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/learn/partial_order.hpp"

namespace rehearse::policies {

/// An upper set holds, with each element, everything above it.
struct UpperSet {
  std::vector<bool> contains;  ///< one flag an element
  std::int64_t weight = 0;     ///< the sum over the set; never negative, since the empty set weighs nothing
};

/// An upper set of largest weight. `covers` index into `weights`. The weights' magnitudes must sum to at most 2^61.
UpperSet heaviest_upper_set(std::span<const std::int64_t> weights, std::span<const Cover> covers);

}  // namespace rehearse::policies
