// Non-dominated sorting: Zhang, Tian, Cheng, Jin, "An efficient approach to nondominated sorting for evolutionary multiobjective
// optimization", IEEE TEVC 2015 (ENS-SS). Hypervolume: While, Bradstreet, Barone, "A fast way of calculating exact hypervolumes",
// IEEE TEVC 2012 (WFG).
#include "policies/search/pareto.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

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

bool is_dominated_by(std::span<const Objectives> points, const std::vector<std::size_t>& front, std::size_t point) {
  return std::any_of(front.rbegin(), front.rend(), [&](std::size_t other) { return dominates(points[other], points[point]); });
}

/// Points in order of the first objective; what each adds is a rectangle.
double area(const std::vector<Objectives>& points, std::span<const double> reference) {
  double sum = 0, lowest = reference[1];
  for (const Objectives& p : points) {
    if (p[1] >= lowest) continue;
    sum += (reference[0] - p[0]) * (lowest - p[1]);
    lowest = p[1];
  }
  return sum;
}

std::vector<Objectives> non_dominated(const std::vector<Objectives>& points) {
  std::vector<Objectives> best;
  for (const std::size_t i : pareto_front(points)) best.push_back(points[i]);
  std::sort(best.begin(), best.end());
  best.erase(std::unique(best.begin(), best.end()), best.end());
  return best;
}

double volume(const std::vector<Objectives>& points, std::span<const double> reference);

/// What a point dominates that none of `others` does.
double exclusive_volume(const Objectives& point, std::span<const Objectives> others, std::span<const double> reference) {
  double own = 1;
  for (std::size_t k = 0; k < point.size(); ++k) own *= reference[k] - point[k];
  std::vector<Objectives> shared(others.begin(), others.end());
  for (Objectives& other : shared)
    for (std::size_t k = 0; k < point.size(); ++k) other[k] = std::max(other[k], point[k]);
  return own - volume(non_dominated(shared), reference);
}

/// Of points that do not dominate each other, in lexicographic order, each once.
double volume(const std::vector<Objectives>& points, std::span<const double> reference) {
  if (points.empty()) return 0;
  if (reference.size() == 1) return reference[0] - points.front()[0];
  if (reference.size() == 2) return area(points, reference);
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) sum += exclusive_volume(points[i], std::span(points).subspan(i + 1), reference);
  return sum;
}

}  // namespace

bool dominates(std::span<const double> a, std::span<const double> b) {
  bool is_smaller = false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] > b[k]) return false;
    is_smaller |= a[k] < b[k];
  }
  return is_smaller;
}

std::vector<std::vector<std::size_t>> non_dominated_fronts(std::span<const Objectives> points) {
  std::vector<std::vector<std::size_t>> fronts;
  for (const std::size_t point : lexicographic_order(points)) {
    auto own = std::find_if(fronts.begin(), fronts.end(), [&](const auto& f) { return !is_dominated_by(points, f, point); });
    if (own == fronts.end()) own = fronts.insert(own, std::vector<std::size_t>());
    own->push_back(point);
  }
  for (std::vector<std::size_t>& front : fronts) std::sort(front.begin(), front.end());
  return fronts;
}

std::vector<std::size_t> pareto_front(std::span<const Objectives> points) {
  std::vector<std::size_t> front;
  for (const std::size_t point : lexicographic_order(points))
    if (!is_dominated_by(points, front, point)) front.push_back(point);
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
  return volume(non_dominated(below), reference);
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
