// One feature: pooled in one pass. More: starts from all points as one group. A group whose heaviest upper set, each point
// weighing w (y - mean), gains nothing is constant at its mean; otherwise the fit lies at or above that mean on the set and at or
// below it on the rest, so that the two parts are solved apart.
#include "policies/learn/isotonic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "policies/learn/upper_set.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr double kLargestRowsTimesWeightRatio = 1e9;

/// Distinct points in lexicographic order.
struct Points {
  std::vector<double> x, y, weight;
  std::vector<std::size_t> of_row;  ///< the point that each row became
};

/// Points not yet told apart. `covers` index into `members`.
struct Group {
  std::vector<std::int32_t> members;
  std::vector<Cover> covers;
  double floor = -std::numeric_limits<double>::infinity();  ///< the fit of every member lies between these two
  double ceiling = std::numeric_limits<double>::infinity();
};

void check_samples(const IsotonicSamples& s) {
  const std::size_t rows = s.rows();
  sim::check(rows > 0 && s.dimension > 0, "isotonic regression without samples or features");
  sim::check(rows <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
             "isotonic regression of too many samples");
  sim::check(s.x.size() == rows * s.dimension && (s.weights.empty() || s.weights.size() == rows) &&
                 (s.censored.empty() || s.censored.size() == rows),
             "isotonic regression: the numbers of features, targets, weights and flags do not match");
  const auto finite = [](double v) { return std::isfinite(v); };
  sim::check(std::all_of(s.x.begin(), s.x.end(), finite) && std::all_of(s.y.begin(), s.y.end(), finite) &&
                 std::all_of(s.weights.begin(), s.weights.end(), finite),
             "isotonic regression of a number that is not finite");
  if (s.weights.empty()) return;
  const auto [least, most] = std::minmax_element(s.weights.begin(), s.weights.end());
  sim::check(*least > 0, "isotonic regression: a weight is not positive");
  sim::check(static_cast<double>(rows) * (*most / *least) < kLargestRowsTimesWeightRatio,
             "isotonic regression: the weights differ too much to be exact");
}

/// The weighted mean as a first guess plus the mean deviation from it: exact for equal numbers, small error for others.
template <class Value, class Weight>
double weighted_mean(std::size_t n, Value&& value, Weight&& weight) {
  double total = 0, sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    total += weight(i);
    sum += weight(i) * (value(i) - value(0));
  }
  const double guess = value(0) + sum / total;
  double rest = 0;
  for (std::size_t i = 0; i < n; ++i) rest += weight(i) * (value(i) - guess);
  return guess + rest / total;
}

Points merge_duplicates(const IsotonicSamples& s) {
  std::vector<std::size_t> order(s.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const auto a = s.features(i), b = s.features(j);
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  });

  Points points;
  points.of_row.resize(s.rows());
  const auto weight = [&](std::size_t row) { return s.weights.empty() ? 1.0 : s.weights[row]; };
  for (std::size_t first = 0; first < order.size();) {
    const auto x = s.features(order[first]);
    std::size_t last = first;
    double total = 0;
    for (; last < order.size() && std::ranges::equal(s.features(order[last]), x); ++last) {
      points.of_row[order[last]] = points.y.size();
      total += weight(order[last]);
    }
    points.x.insert(points.x.end(), x.begin(), x.end());
    points.weight.push_back(total);
    points.y.push_back(weighted_mean(
        last - first, [&](std::size_t i) { return s.y[order[first + i]]; },
        [&](std::size_t i) { return weight(order[first + i]); }));
    first = last;
  }
  return points;
}

/// w (y - mean) of each member as integers that sum to 0, scaled by a power of two as far as the cut allows. That their
/// sum is exactly 0 makes "no gain" exact: the whole group is then never heavier than the empty set.
std::vector<std::int64_t> integer_gains(const Points& points, const Group& group, double mean) {
  const std::size_t n = group.members.size();
  const auto point = [&](std::size_t i) { return static_cast<std::size_t>(group.members[i]); };
  // What the mean lost by rounding: small, but not beside deviations that are small themselves.
  const double lost = weighted_mean(
      n, [&](std::size_t i) { return points.y[point(i)] - mean; }, [&](std::size_t i) { return points.weight[point(i)]; });
  std::vector<double> gains(n);
  double largest = 0;
  std::size_t heaviest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    gains[i] = points.weight[point(i)] * (points.y[point(i)] - mean - lost);
    sim::check(std::isfinite(gains[i]), "isotonic regression: the targets are too large");
    largest = std::max(largest, std::abs(gains[i]));
    if (points.weight[point(i)] > points.weight[point(heaviest)]) heaviest = i;
  }

  std::vector<std::int64_t> whole(n, 0);
  if (largest == 0) return whole;
  const int shift = 58 - std::ilogb(largest) - std::ilogb(static_cast<double>(n));  // magnitudes sum to less than 2^61
  std::int64_t total = 0;
  for (std::size_t i = 0; i < n; ++i) total += whole[i] = std::llrint(std::ldexp(gains[i], shift));
  whole[heaviest] -= total;
  return whole;
}

/// One side of a split, with the covers inside it.
Group part_of(const Group& group, const std::vector<bool>& in_upper, bool upper) {
  Group part{.floor = group.floor, .ceiling = group.ceiling};
  std::vector<std::int32_t> index(group.members.size(), -1);
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    if (in_upper[i] != upper) continue;
    index[i] = static_cast<std::int32_t>(part.members.size());
    part.members.push_back(group.members[i]);
  }
  for (const Cover& c : group.covers) {
    const Cover moved{index[static_cast<std::size_t>(c.lower)], index[static_cast<std::size_t>(c.upper)]};
    if (moved.lower >= 0 && moved.upper >= 0) part.covers.push_back(moved);
  }
  return part;
}

/// One feature: the points stand in one row, and pooling adjacent violators finds the groups in a single pass.
std::vector<double> solve_row(const Points& points) {
  struct Block {
    std::size_t first;
    double weight, mean;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < points.y.size(); ++i) {
    Block block{i, points.weight[i], points.y[i]};
    for (; !blocks.empty() && blocks.back().mean >= block.mean; blocks.pop_back()) {
      const Block& before = blocks.back();
      const double weight = before.weight + block.weight;
      block = {before.first, weight, before.mean + (block.mean - before.mean) * (block.weight / weight)};
    }
    blocks.push_back(block);
  }
  std::vector<double> fit(points.y.size());
  double least = -std::numeric_limits<double>::infinity();  // rounding must not turn the order round
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::size_t first = blocks[b].first, end = b + 1 < blocks.size() ? blocks[b + 1].first : points.y.size();
    least = std::max(least, weighted_mean(
                                end - first, [&](std::size_t i) { return points.y[first + i]; },
                                [&](std::size_t i) { return points.weight[first + i]; }));
    sim::check(std::isfinite(least), "isotonic regression: the targets are too large");
    std::fill(fit.begin() + static_cast<std::ptrdiff_t>(first), fit.begin() + static_cast<std::ptrdiff_t>(end), least);
  }
  return fit;
}

std::vector<double> solve(std::size_t dimension, const Points& points) {
  if (dimension == 1) return solve_row(points);
  std::vector<double> fit(points.y.size());
  if (fit.empty()) return fit;
  std::vector<Group> open(1);
  open[0].members.resize(points.y.size());
  std::iota(open[0].members.begin(), open[0].members.end(), 0);
  open[0].covers = cover_relations(dimension, points.x);

  while (!open.empty()) {
    const Group group = std::move(open.back());
    open.pop_back();
    // The clamps keep the last bits in order, where rounding could turn them round.
    if (group.covers.empty()) {
      for (const std::int32_t i : group.members) {
        const auto p = static_cast<std::size_t>(i);
        fit[p] = std::clamp(points.y[p], group.floor, group.ceiling);
      }
      continue;
    }
    const auto member = [&](std::size_t i) { return static_cast<std::size_t>(group.members[i]); };
    const double mean = std::clamp(weighted_mean(
                                       group.members.size(), [&](std::size_t i) { return points.y[member(i)]; },
                                       [&](std::size_t i) { return points.weight[member(i)]; }),
                                   group.floor, group.ceiling);
    const UpperSet set = heaviest_upper_set(integer_gains(points, group, mean), group.covers);
    if (set.weight == 0) {
      for (std::size_t i = 0; i < group.members.size(); ++i) fit[member(i)] = mean;
      continue;
    }
    Group below = part_of(group, set.contains, false), above = part_of(group, set.contains, true);
    sim::check(!below.members.empty() && !above.members.empty(), "isotonic regression split nothing off");
    below.ceiling = above.floor = mean;
    open.push_back(std::move(below));
    open.push_back(std::move(above));
  }
  return fit;
}

IsotonicSamples rows_of(const IsotonicSamples& s, const std::vector<bool>& wanted) {
  IsotonicSamples part{.dimension = s.dimension};
  for (std::size_t row = 0; row < s.rows(); ++row) {
    if (!wanted[row]) continue;
    const auto x = s.features(row);
    part.x.insert(part.x.end(), x.begin(), x.end());
    part.y.push_back(s.y[row]);
    if (!s.weights.empty()) part.weights.push_back(s.weights[row]);
  }
  return part;
}

double least_above(const IsotonicSamples& tied, std::span<const double> fit, std::span<const double> x) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t row = 0; row < tied.rows(); ++row)
    if (is_below(x, tied.features(row))) least = std::min(least, fit[row]);
  return least;
}

std::vector<double> fit_rows(const IsotonicSamples& samples) {
  const Points points = merge_duplicates(samples);
  const std::vector<double> values = solve(samples.dimension, points);
  std::vector<double> fitted;
  for (const std::size_t point : points.of_row) fitted.push_back(values[point]);
  return fitted;
}

/// Which rows tie the fit to their targets: all that are not censored, and those censored ones that it would else stay below.
/// Starts without the latter. A round adds those that must lie below their bound whatever their value, and drops those that came
/// to lie above it. Either lowers the loss's gradient everywhere, so that the fit only rises: a row comes in once and goes once,
/// and where nothing moves the gradient is that of the censored loss itself, which is convex.
std::vector<bool> tied_rows(const IsotonicSamples& s) {
  std::vector<bool> tied(s.rows());
  for (std::size_t row = 0; row < s.rows(); ++row) tied[row] = !s.censored[row];
  std::vector<bool> was_tied = tied;  // ever: rounding must not bring a row in twice
  for (bool moved = true; moved;) {
    moved = false;
    const IsotonicSamples rows = rows_of(s, tied);
    const std::vector<double> fit = fit_rows(rows);
    std::vector<bool> next = tied;
    for (std::size_t row = 0, at = 0; row < s.rows(); ++row) {
      const std::size_t place = tied[row] ? at++ : 0;
      if (!s.censored[row]) continue;
      if (tied[row])
        next[row] = fit[place] <= s.y[row];
      else
        next[row] = !was_tied[row] && least_above(rows, fit, s.features(row)) < s.y[row];
      moved = moved || next[row] != tied[row];
      was_tied[row] = was_tied[row] || next[row];
    }
    tied = next;
  }
  return tied;
}

}  // namespace

IsotonicFit IsotonicFit::fit(const IsotonicSamples& samples) {
  check_samples(samples);
  std::vector<bool> tied(samples.rows(), true);
  if (std::ranges::count(samples.censored, true) > 0) tied = tied_rows(samples);
  const IsotonicSamples rows = rows_of(samples, tied);
  const Points points = merge_duplicates(rows);
  const std::vector<double> values = solve(samples.dimension, points);

  struct Point {
    std::span<const double> x;
    double value;
    bool open;
  };
  std::vector<Point> found;
  for (std::size_t i = 0; i < values.size(); ++i)
    found.push_back({std::span(points.x).subspan(i * samples.dimension, samples.dimension), values[i], false});
  std::vector<double> of_tied_row;
  for (const std::size_t point : points.of_row) of_tied_row.push_back(values[point]);
  for (std::size_t row = 0; row < samples.rows(); ++row) {
    const auto x = samples.features(row);
    if (!tied[row]) found.push_back({x, std::min(samples.y[row], least_above(rows, of_tied_row, x)), true});
  }
  std::ranges::stable_sort(found, {}, &Point::value);

  IsotonicFit result;
  result.dimension_ = samples.dimension;
  for (const Point& point : found) {
    result.points_.insert(result.points_.end(), point.x.begin(), point.x.end());
    result.values_.push_back(point.value);
    result.open_.push_back(point.open);
  }
  for (std::size_t row = 0, at = 0; row < samples.rows(); ++row)
    result.fitted_.push_back(tied[row] ? of_tied_row[at++] : result.lower(samples.features(row)));
  return result;
}

void IsotonicFit::check_point(std::span<const double> x) const {
  sim::check(x.size() == dimension_, "isotonic regression asked for a point of another dimension");
  sim::check(std::none_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }), "isotonic regression asked for NaN");
}

std::size_t IsotonicFit::highest_below(std::span<const double> x) const {
  check_point(x);
  std::size_t i = values_.size();
  while (i > 0 && !is_below(point(i - 1), x)) --i;
  return i == 0 ? values_.size() : i - 1;
}

std::size_t IsotonicFit::lowest_above(std::span<const double> x) const {
  check_point(x);
  std::size_t i = 0;
  while (i < values_.size() && (!is_below(x, point(i)) || open_[i])) ++i;
  return i;
}

double IsotonicFit::lower(std::span<const double> x) const {
  const std::size_t i = highest_below(x);
  return i < values_.size() ? values_[i] : values_.front();
}

double IsotonicFit::upper(std::span<const double> x) const {
  const std::size_t i = lowest_above(x);
  return i < values_.size() ? values_[i] : values_.back();
}

IsotonicFit::Envelopes IsotonicFit::envelopes(std::span<const double> x) const {
  const std::size_t below = highest_below(x), above = lowest_above(x), none = values_.size();
  return {.lower = below < none ? values_[below] : values_.front(),
          .upper = above < none ? values_[above] : values_.back(),
          .extrapolated = below == none || above == none};
}

double IsotonicFit::predict(std::span<const double> x) const { return envelopes(x).middle(); }

bool IsotonicFit::extrapolated(std::span<const double> x) const { return envelopes(x).extrapolated; }

}  // namespace rehearse::policies
