#include "workloads/calibration/knees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace rehearse::workloads {
namespace {

constexpr std::size_t kFewestScales = 3;

struct Point {
  const Measurement* measured = nullptr;
  double predicted_knee = 0;
};
using Curve = std::map<int, Point>;  // by workers

/// The place among the tested counts that is nearest, in ratio.
int nearest(const Curve& curve, double workers) {
  int place = 0, best = 0;
  double least = INFINITY;
  for (const auto& [count, point] : curve) {
    const double distance = std::abs(std::log(workers / count));
    if (distance < least) {
      least = distance;
      best = place;
    }
    ++place;
  }
  return best;
}

Knee knee_of(const Curve& curve) {
  const Measurement& first = *curve.begin()->second.measured;
  Knee knee{.device = first.device, .instance = first.instance, .subject = subject(first), .sync = first.sync.kind};
  double highest = 0;  // steps of all workers a second
  for (const auto& [count, point] : curve) highest = std::max(highest, count / point.measured->step_s);
  knee.measured_workers = highest * first.step_s;
  for (const auto& [count, point] : curve)
    knee.counts_off =
        std::max(knee.counts_off, std::abs(nearest(curve, point.predicted_knee) - nearest(curve, knee.measured_workers)));
  return knee;
}

}  // namespace

std::vector<Knee> knees(std::span<const Measurement> measurements, std::span<const Predicted> predicted) {
  std::map<std::string, Curve> curves;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    if (!std::isfinite(predicted[i].knee_workers)) continue;
    curves[fmt::format("{} {} {} {} {} {}", m.device, m.instance, subject(m), static_cast<int>(m.sync.kind), m.batch_per_worker,
                       m.source)][m.workers] = {&m, predicted[i].knee_workers};
  }
  std::vector<Knee> result;
  for (const auto& [key, curve] : curves)
    if (curve.size() >= kFewestScales) result.push_back(knee_of(curve));
  return result;
}

}  // namespace rehearse::workloads
