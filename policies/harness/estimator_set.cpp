#include "policies/harness/estimator_set.hpp"

#include <algorithm>

#include "sim/money/costs.hpp"

namespace rehearse::policies {

EstimatorSet::EstimatorSet(const sim::Cluster& cluster, const workloads::SweepSettings& settings) {
  std::vector<sim::Device> devices;
  for (int pool = 0; pool < static_cast<int>(cluster.pools.size()); ++pool) {
    const sim::Device& device = sim::worker_device(cluster, pool);
    const auto known = std::ranges::find(devices, device.name, &sim::Device::name);
    device_of_pool_.push_back(static_cast<std::size_t>(known - devices.begin()));
    if (known == devices.end()) devices.push_back(device);
  }
  const std::vector<workloads::SweepNetwork> networks = sweep_networks(settings);
  const std::vector<workloads::SweepRow> rows = sweep_rows(networks, devices, kLimitShares, settings);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::vector<Limited>& limited = by_device_.emplace_back();
    for (const double share : kLimitShares) {
      const double limit_w = workloads::power_limit_w(devices[d], share);
      std::vector<ProfiledStep> steps;
      for (const workloads::SweepRow& row : rows)
        if (row.device == static_cast<int>(d) && row.power_limit_w == limit_w)
          steps.push_back({.features = networks[static_cast<std::size_t>(row.network)].features,
                           .network = row.network,
                           .batch = row.batch,
                           .step_s = row.step_s,
                           .energy_j = row.energy_j,
                           .memory_bytes = row.memory_bytes});
      if (limited.empty())
        limited.push_back({limit_w, Estimator::fit(steps, devices[d].peak_fp32_flops)});
      else if (limit_w > 0)
        limited.push_back({limit_w, Estimator::fit_like(limited.front().estimator, steps)});
    }
  }
}

workloads::SweepSettings sweep_for(const workloads::StructureFeatures& features) {
  return {.kind = features.recurrent_layers > 0 ? workloads::SweepKind::rnn : workloads::SweepKind::cnn};
}

}  // namespace rehearse::policies
