// What the belief's tables say of a profile's runs: of every configuration on every instance, before any is measured.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "policies/learn/believed_runs.hpp"
#include "sim/replay/alone.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

class BeliefOfRuns final : public BelievedRuns {
 public:
  /// Everything must outlive it. `believed` runs jobs alone by the belief.
  BeliefOfRuns(sim::AloneRunner& believed, const sim::Cluster& cluster, const workloads::Belief& belief,
               const sim::Profile& profile)
      : believed_(believed), cluster_(cluster), belief_(belief), profile_(profile) {}
  double log_seconds(const std::string& instance, double workers, double batch) const override;
  double log_epochs(double batch, double accuracy) const override;

 private:
  const std::vector<double>& curve(double batch) const;

  sim::AloneRunner& believed_;
  const sim::Cluster& cluster_;
  const workloads::Belief& belief_;
  const sim::Profile& profile_;
  mutable std::map<std::tuple<std::string, int, int>, double> seconds_;
  mutable std::map<int, std::vector<double>> curves_;  ///< accuracies after each epoch, by batch; never falling
};

}  // namespace rehearse::policies
