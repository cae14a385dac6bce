// A belief about one job, corrected by what it or others like it have shown: the noise scale, the ceilings, the examples that it
// needs, the speed of pools.
#pragma once

#include <vector>

#include "workloads/world/world.hpp"

namespace rehearse::workloads {

struct Revision {
  double noise_scale_factor = 1;
  double ceiling_offset = 0;           ///< added to every phase's ceiling
  double examples_factor = 1;          ///< the same progress needs so many times the examples
  std::vector<double> slower_on_pool;  ///< step times over the believed ones; 1 for pools beyond its end
};

class RevisedBelief final : public sim::StepTimes, public sim::Convergence {
 public:
  /// The belief must outlive it.
  RevisedBelief(const Belief& belief, Revision revision);
  sim::Models models() const { return {this, this}; }

  const sim::OpGraph& graph(const sim::Profile& profile) const override;
  sim::StepTiming timing(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout,
                         std::span<const sim::Plans> plans) const override;
  double noise(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout, int stage) const override;
  double checkpoint_bytes(const sim::Profile& profile) const override;

  std::uint64_t individuality(const sim::Job&) const override { return 0; }
  double samples_per_epoch(const sim::Profile& profile) const override;
  double evaluation_samples(const sim::Profile& profile) const override;
  double default_epoch_cap(const sim::Profile& profile) const override;
  sim::EpochOutcome train(const sim::Job& job, const sim::Configuration& configuration, double examples,
                          sim::TrainingState& state) const override;
  double accuracy(const sim::Job& job, const sim::TrainingState& state) const override;
  double measured_accuracy(const sim::Job&, int, double accuracy) const override { return accuracy; }
  double evaluation_deviation(const sim::Profile& profile, double accuracy) const override;

 private:
  ConvergenceErrors errors() const;

  const TrainingModels& base_;
  const Revision revision_;
};

}  // namespace rehearse::workloads
