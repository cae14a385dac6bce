// Hypervolumes and fronts are pagmo's (Biscani and Izzo, JOSS 2020). The first front alone is sought by Zhang, Tian, Cheng, Jin,
// "An efficient approach to nondominated sorting for evolutionary multiobjective optimization", IEEE TEVC 2015 (ENS-SS): of
// 20,000 points, as many as a whole space may have, in a thousandth of the time and without pagmo's lists of who dominates whom.
#include "policies/search/pareto.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <pagmo/utils/hypervolume.hpp>
#include <pagmo/utils/multi_objective.hpp>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// By objectives, then index: nobody is dominated by one who comes later.
std::vector<std::size_t> lexicographic_order(std::span<const Objectives> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  return order;
}

/// Those that nobody dominates, in lexicographic order, each once: the same volume to the last digit whatever else is there.
std::vector<Objectives> non_dominated(const std::vector<Objectives>& points) {
  std::vector<Objectives> best;
  for (const std::size_t i : pareto_front(points)) best.push_back(points[i]);
  std::sort(best.begin(), best.end());
  best.erase(std::unique(best.begin(), best.end()), best.end());
  return best;
}

}  // namespace

bool dominates(const Objectives& a, const Objectives& b) { return pagmo::pareto_dominance(a, b); }

std::vector<std::vector<std::size_t>> non_dominated_fronts(std::span<const Objectives> points) {
  if (points.size() < 2) return std::vector(points.size(), std::vector<std::size_t>{0});  // for which pagmo has no answer
  const auto sorted = pagmo::fast_non_dominated_sorting({points.begin(), points.end()});
  std::vector<std::vector<std::size_t>> fronts;
  for (const auto& front : std::get<0>(sorted)) {
    fronts.emplace_back(front.begin(), front.end());
    std::sort(fronts.back().begin(), fronts.back().end());
  }
  return fronts;
}

std::vector<std::size_t> pareto_front(std::span<const Objectives> points) {
  std::vector<std::size_t> front;
  for (const std::size_t point : lexicographic_order(points))
    if (std::none_of(front.rbegin(), front.rend(), [&](std::size_t other) { return dominates(points[other], points[point]); }))
      front.push_back(point);
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<double> crowding_distances(std::span<const Objectives> points, std::span<const std::size_t> front) {
  std::vector<double> distances(front.size(), 0);
  if (front.empty()) return distances;
  for (std::size_t k = 0; k < points[front[0]].size(); ++k) {
    std::vector<std::size_t> order(front.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto at = [&](std::size_t i) { return points[front[i]][k]; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return at(a) < at(b); });
    const double range = at(order.back()) - at(order.front());
    distances[order.front()] = distances[order.back()] = std::numeric_limits<double>::infinity();
    if (!(range > 0)) continue;
    for (std::size_t i = 1; i + 1 < order.size(); ++i) distances[order[i]] += (at(order[i + 1]) - at(order[i - 1])) / range;
  }
  return distances;
}

double hypervolume(std::span<const Objectives> points, std::span<const double> reference) {
  std::vector<Objectives> below;
  for (const Objectives& point : points) {
    sim::check(point.size() == reference.size(), "a hypervolume's points and reference have as many objectives");
    bool is_below = true;
    for (std::size_t k = 0; k < reference.size(); ++k) is_below &= point[k] < reference[k];
    if (is_below) below.push_back(point);
  }
  below = non_dominated(below);
  if (below.empty()) return 0;
  if (reference.size() == 1) return reference[0] - below.front()[0];
  return pagmo::hypervolume(below, false).compute({reference.begin(), reference.end()});
}

std::size_t knee_point(std::span<const Objectives> front) {
  sim::check(!front.empty(), "an empty front has no knee");
  const std::size_t objectives = front[0].size();
  Objectives low = front[0], high = front[0];
  for (const Objectives& point : front)
    for (std::size_t k = 0; k < objectives; ++k) {
      low[k] = std::min(low[k], point[k]);
      high[k] = std::max(high[k], point[k]);
    }
  const auto sum = [&](const Objectives& point) {
    double total = 0;
    for (std::size_t k = 0; k < objectives; ++k)
      if (high[k] > low[k]) total += (point[k] - low[k]) / (high[k] - low[k]);
    return total;
  };
  const auto best = std::min_element(front.begin(), front.end(), [&](const auto& a, const auto& b) { return sum(a) < sum(b); });
  return static_cast<std::size_t>(best - front.begin());
}

}  // namespace rehearse::policies
