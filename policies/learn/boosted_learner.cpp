#include "policies/learn/boosted_learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "policies/learn/isotonic_learner.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

TimeGuess BoostedLearner::guess_times(std::span<const PastRun> runs) const {
  IsotonicSamples samples = time_samples(runs, RunFeatures::global_batch);
  for (double& y : samples.y) y = std::log(y);
  return [trees = MonotoneTrees::fit(samples, options_)](const PlannedRun& run) {
    return std::exp(trees.predict(time_features(RunFeatures::global_batch, run))) / run.workers;
  };
}

AccuracyGuess BoostedLearner::guess_accuracies(std::span<const PastRun> runs) const {
  return [trees = MonotoneTrees::fit(accuracy_samples(runs, RunFeatures::global_batch), options_)](const PlannedRun& run,
                                                                                                   double epochs) {
    return trees.predict(accuracy_features(RunFeatures::global_batch, run, epochs));
  };
}

/// One tree on the residuals.
class MonotoneTrees::Grower {
 public:
  Grower(const IsotonicSamples& samples, const std::vector<double>& residuals, const TreesOptions& options)
      : samples_(samples), residuals_(residuals), options_(options) {}

  std::vector<Node> grow() {
    std::vector<std::size_t> rows(samples_.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    grow(std::move(rows), {}, options_.depth);
    return std::move(nodes_);
  }

 private:
  struct Bounds {
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    double clamp(double value) const { return std::clamp(value, low, high); }
  };
  struct Split {
    double gain = 0, threshold = 0, left = 0, right = 0;
    std::int32_t feature = -1;
  };

  /// By how much the squared error falls when `count` rows that sum to `sum` get `value` instead of 0.
  static double gain(double sum, double count, double value) { return value * (2 * sum - count * value); }

  Split best_split(std::vector<std::size_t>& rows, const Bounds& bounds, double value) const {
    const double total = sum_of(rows), n = static_cast<double>(rows.size());
    Split best{.gain = gain(total, n, value) * (1 + 1e-12) + 1e-300};
    for (std::size_t f = 0; f < samples_.dimension; ++f) {
      const auto feature = [&](std::size_t row) { return samples_.features(row)[f]; };
      std::ranges::stable_sort(rows, {}, feature);
      double left_sum = 0;
      for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
        left_sum += residuals_[rows[i]];
        const auto on_left = static_cast<int>(i + 1), on_right = static_cast<int>(rows.size()) - on_left;
        if (feature(rows[i]) == feature(rows[i + 1]) || std::min(on_left, on_right) < options_.least_rows) continue;
        const double left = bounds.clamp(left_sum / on_left), right = bounds.clamp((total - left_sum) / on_right);
        const double both = gain(left_sum, on_left, left) + gain(total - left_sum, on_right, right);
        if (left > right || both <= best.gain) continue;
        best = {both, feature(rows[i]) / 2 + feature(rows[i + 1]) / 2, left, right, static_cast<std::int32_t>(f)};
      }
    }
    return best;
  }

  double sum_of(const std::vector<std::size_t>& rows) const {
    return std::accumulate(rows.begin(), rows.end(), 0.0, [&](double sum, std::size_t row) { return sum + residuals_[row]; });
  }

  std::int32_t grow(std::vector<std::size_t> rows, const Bounds& bounds, int depth) {
    const auto place = nodes_.size();
    nodes_.emplace_back();
    const double value = bounds.clamp(sum_of(rows) / static_cast<double>(rows.size()));
    nodes_[place].value = value;
    if (depth == 0) return static_cast<std::int32_t>(place);
    const Split split = best_split(rows, bounds, value);
    if (split.feature < 0) return static_cast<std::int32_t>(place);
    const double middle = split.left / 2 + split.right / 2;
    std::ranges::sort(rows);
    std::vector<std::size_t> left, right;
    for (const std::size_t row : rows)
      (samples_.features(row)[static_cast<std::size_t>(split.feature)] <= split.threshold ? left : right).push_back(row);
    nodes_[place].feature = split.feature;
    nodes_[place].threshold = split.threshold;
    const std::int32_t below = grow(std::move(left), {bounds.low, middle}, depth - 1);
    const std::int32_t above = grow(std::move(right), {middle, bounds.high}, depth - 1);
    nodes_[place].left = below;
    nodes_[place].right = above;
    return static_cast<std::int32_t>(place);
  }

  const IsotonicSamples& samples_;
  const std::vector<double>& residuals_;
  const TreesOptions& options_;
  std::vector<Node> nodes_;
};

MonotoneTrees MonotoneTrees::fit(const IsotonicSamples& samples, const TreesOptions& options) {
  const std::size_t n = samples.rows();
  sim::check(n > 0 && samples.x.size() == n * samples.dimension, "boosting without matching samples");
  MonotoneTrees result;
  result.rate_ = options.rate;
  result.start_ = std::accumulate(samples.y.begin(), samples.y.end(), 0.0) / static_cast<double>(n);
  std::vector<double> residuals;
  for (const double y : samples.y) residuals.push_back(y - result.start_);
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<Node> tree = Grower(samples, residuals, options).grow();
    if (tree.size() == 1) break;  // nothing to tell apart: later rounds would find the same
    for (std::size_t row = 0; row < n; ++row) residuals[row] -= options.rate * value_of(tree, samples.features(row));
    result.trees_.push_back(std::move(tree));
  }
  return result;
}

double MonotoneTrees::value_of(const std::vector<Node>& tree, std::span<const double> x) {
  std::size_t at = 0;
  while (tree[at].feature >= 0) {
    const Node& node = tree[at];
    at = static_cast<std::size_t>(x[static_cast<std::size_t>(node.feature)] <= node.threshold ? node.left : node.right);
  }
  return tree[at].value;
}

double MonotoneTrees::predict(std::span<const double> x) const {
  double sum = start_;
  for (const std::vector<Node>& tree : trees_) sum += rate_ * value_of(tree, x);
  return sum;
}

}  // namespace rehearse::policies
