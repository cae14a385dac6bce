#include "workloads/calibration/energy.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::workloads {
namespace {

constexpr std::size_t kBest = 10, kFewest = 3;

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t k = first; k <= last; ++k) rank[order[k]] = static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return rank;
}

struct Settings {
  std::vector<double> predicted_j, measured_j;
};

SettingOrder order_of(Settings all) {
  std::vector<std::size_t> order(all.measured_j.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all.measured_j[a] < all.measured_j[b]; });
  Settings best;
  for (std::size_t k = 0; k < std::min(kBest, order.size()); ++k) {
    best.predicted_j.push_back(all.predicted_j[order[k]]);
    best.measured_j.push_back(all.measured_j[order[k]]);
  }
  const auto chosen = std::min_element(all.predicted_j.begin(), all.predicted_j.end()) - all.predicted_j.begin();
  const double least_j = best.measured_j.front();
  return {.settings = static_cast<int>(order.size()),
          .best = static_cast<int>(best.measured_j.size()),
          .correlation = rank_correlation(best.predicted_j, best.measured_j),
          .correlation_all = rank_correlation(all.predicted_j, all.measured_j),
          .spread = best.measured_j.back() / least_j - 1,
          .regret = all.measured_j[static_cast<std::size_t>(chosen)] / least_j - 1};
}

}  // namespace

SampleEnergy sample_energy(const Measurement& m, const Predicted& p) {
  const SampleEnergy energy{p.model_s * p.power_w / m.batch_per_worker, m.step_s * m.power_w / m.batch_per_worker};
  return std::isfinite(energy.predicted_j) && std::isfinite(energy.measured_j) ? energy : SampleEnergy{};
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  sim::check(a.size() == b.size(), "ranks of pairs");
  if (a.size() < 2) return kNotMeasured;
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kNotMeasured;
}

std::vector<SettingOrder> setting_orders(std::span<const Measurement> measurements, std::span<const Predicted> predicted) {
  std::map<std::pair<std::string, std::string>, Settings> all;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const SampleEnergy energy = sample_energy(measurements[i], predicted[i]);
    if (!std::isfinite(energy.measured_j) || measurements[i].workers > 1) continue;
    Settings& settings = all[{measurements[i].device, subject(measurements[i])}];
    settings.predicted_j.push_back(energy.predicted_j);
    settings.measured_j.push_back(energy.measured_j);
  }
  std::vector<SettingOrder> result;
  for (auto& [key, settings] : all) {
    if (settings.measured_j.size() < kFewest) continue;
    SettingOrder order = order_of(std::move(settings));
    order.device = key.first;
    order.subject = key.second;
    result.push_back(std::move(order));
  }
  return result;
}

}  // namespace rehearse::workloads
