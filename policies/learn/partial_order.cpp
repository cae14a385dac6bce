#include "policies/learn/partial_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace rehearse::policies {

namespace {

/// n rows of n bits: row i holds the points at or below point i.
class BitRows {
 public:
  explicit BitRows(std::size_t n) : words_((n + 63) / 64), bits_(n * words_, ~std::uint64_t{0}) {}
  std::size_t words() const { return words_; }
  std::span<std::uint64_t> row(std::size_t i) { return std::span(bits_).subspan(i * words_, words_); }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

void keep_those_at_or_below(std::size_t coordinate, std::size_t dimension, std::span<const double> points, BitRows& below) {
  const std::size_t n = points.size() / dimension;
  const auto value = [&](std::size_t i) { return points[i * dimension + coordinate]; };
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return value(i) < value(j); });

  std::vector<std::uint64_t> seen(below.words(), 0);
  for (std::size_t first = 0; first < n;) {
    std::size_t last = first;
    for (; last < n && value(order[last]) == value(order[first]); ++last)
      seen[order[last] / 64] |= std::uint64_t{1} << order[last] % 64;
    for (; first < last; ++first) {
      const auto row = below.row(order[first]);
      for (std::size_t w = 0; w < row.size(); ++w) row[w] &= seen[w];
    }
  }
}

}  // namespace

std::vector<Cover> cover_relations(std::size_t dimension, std::span<const double> points) {
  const std::size_t n = points.size() / dimension;
  BitRows below(n);
  for (std::size_t d = 0; d < dimension; ++d) keep_those_at_or_below(d, dimension, points, below);

  // In lexicographic order a point stands after all those below it. So the last of the candidates below i is maximal
  // among them, hence covered by i; whatever is below it is not.
  std::vector<Cover> covers;
  std::vector<std::uint64_t> candidates(below.words());
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = below.row(i);
    std::copy(row.begin(), row.end(), candidates.begin());
    candidates[i / 64] &= ~(std::uint64_t{1} << i % 64);
    for (std::size_t w = i / 64 + 1; w-- > 0;) {
      while (candidates[w] != 0) {
        const std::size_t j = w * 64 + 63 - static_cast<std::size_t>(std::countl_zero(candidates[w]));
        covers.push_back({.lower = static_cast<std::int32_t>(j), .upper = static_cast<std::int32_t>(i)});
        const auto implied = below.row(j);
        for (std::size_t v = 0; v <= w; ++v) candidates[v] &= ~implied[v];
      }
    }
  }
  return covers;
}

}  // namespace rehearse::policies
