// Estimators of all devices of a cluster, each under several power limits: fitted to one sweep of generated networks.
#pragma once

#include <string>
#include <vector>

#include "policies/harness/estimator.hpp"
#include "workloads/generate/sweep.hpp"

namespace rehearse::policies {

/// The shares of a GPU's busy_w that are tried as limits; 1 is none.
inline constexpr double kLimitShares[] = {1, 0.85, 0.7, 0.55};

class EstimatorSet {
 public:
  /// Of the devices that workers of the cluster's pools are.
  EstimatorSet(const sim::Cluster& cluster, const workloads::SweepSettings& settings);

  struct Limited {
    double power_limit_w = 0;  ///< 0: none
    Estimator estimator;
  };
  /// None first.
  const std::vector<Limited>& of_pool(int pool) const { return by_device_[device_of_pool_[static_cast<std::size_t>(pool)]]; }

 private:
  std::vector<std::size_t> device_of_pool_;
  std::vector<std::vector<Limited>> by_device_;
};

/// The sweep for a network of this structure: of RNNs where it has a recurrent layer.
workloads::SweepSettings sweep_for(const workloads::StructureFeatures& features);

}  // namespace rehearse::policies
