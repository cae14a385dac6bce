// The componentwise order of points: x <= x' when no coordinate of x is larger. Reduced to its cover relations, the
// fewest pairs that imply all others, found on bitsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rehearse::policies {

/// Point `upper` lies directly above point `lower`: no third point lies between them.
struct Cover {
  std::int32_t lower = 0;
  std::int32_t upper = 0;
  bool operator==(const Cover&) const = default;
};

/// x <= y in every coordinate; both have the same length.
inline bool is_below(std::span<const double> x, std::span<const double> y) {
  for (std::size_t d = 0; d < x.size(); ++d)
    if (!(x[d] <= y[d])) return false;
  return true;
}

/// The cover relations (transitive reduction) of `points`, row-major, `dimension` numbers a point. The points must be
/// distinct and in lexicographic order. Takes n^2/8 bytes of memory for n points.
std::vector<Cover> cover_relations(std::size_t dimension, std::span<const double> points);

// The heaviest upper set of a partially ordered set, as a minimum cut: J.-C. Picard, "Maximal closure of a graph and
// applications to combinatorial problems", Management Science 22 (1976).

/// An upper set holds, with each element, everything above it.
struct UpperSet {
  std::vector<bool> contains;  ///< one flag an element
  std::int64_t weight = 0;     ///< the sum over the set; never negative, since the empty set weighs nothing
};

/// An upper set of largest weight. `covers` index into `weights`. The weights' magnitudes must sum to at most 2^61.
UpperSet heaviest_upper_set(std::span<const std::int64_t> weights, std::span<const Cover> covers);

}  // namespace rehearse::policies
