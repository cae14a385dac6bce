// The harness's recommendation as a strategy of replays: the least energy that is predicted to keep the limits, by an estimator
// that was fitted to a benchmark sweep of generated networks on the believed devices.
#pragma once

#include <map>
#include <memory>

#include "policies/configure/configure.hpp"
#include "policies/harness/recommend.hpp"

namespace rehearse::policies {

/// Over all candidates and the power limits of kLimitShares. Of models that the zoo does not know the structure is unknown: for
/// those the belief's own estimate counts, without power limits, and less money stands for less energy.
class LeastEnergy final : public Configure {
 public:
  explicit LeastEnergy(int networks) : networks_(networks) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;

 private:
  const EstimatorSet& estimators(const ConfigureView& view, const workloads::StructureFeatures& features);
  int networks_;                                                                    ///< of the sweep
  std::map<workloads::SweepKind, std::unique_ptr<const EstimatorSet>> estimators_;  ///< fitted when first asked for
};

}  // namespace rehearse::policies
