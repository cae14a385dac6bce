// The world without what nobody can know beforehand: the speed of single stages and nodes, and what an evaluation happens to
// read. What is left lasts: speeds of models and networks, noise scales, ceilings, the examples that a job needs. A job ends with
// the first evaluation that reads its target, one of several near it, so that each is taken to read one deviation more than there
// is. For yardsticks alone.
#pragma once

#include "workloads/world/world.hpp"

namespace rehearse::workloads {

class PlainWorld final : public sim::StepTimes, public sim::Convergence {
 public:
  /// The world must outlive it.
  explicit PlainWorld(const World& world) : world_(world.models()), evaluation_noise_(world.evaluation_noise()) {}
  sim::Models models() const { return {this, this}; }

  const sim::OpGraph& graph(const sim::Profile& profile) const override { return world_.step_times->graph(profile); }
  sim::StepTiming timing(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout,
                         std::span<const sim::Plans> plans) const override {
    return world_.step_times->timing(job, configuration, layout, plans);
  }
  double noise(const sim::Job&, const sim::Configuration&, const sim::Layout&, int) const override { return 1; }
  double checkpoint_bytes(const sim::Profile& profile) const override { return world_.step_times->checkpoint_bytes(profile); }

  std::uint64_t individuality(const sim::Job& job) const override { return world_.convergence->individuality(job); }
  double samples_per_epoch(const sim::Profile& profile) const override { return world_.convergence->samples_per_epoch(profile); }
  double evaluation_samples(const sim::Profile& profile) const override {
    return world_.convergence->evaluation_samples(profile);
  }
  double default_epoch_cap(const sim::Profile& profile) const override { return world_.convergence->default_epoch_cap(profile); }
  sim::EpochOutcome train(const sim::Job& job, const sim::Configuration& configuration, double examples,
                          sim::TrainingState& state) const override {
    return world_.convergence->train(job, configuration, examples, state);
  }
  double accuracy(const sim::Job& job, const sim::TrainingState& state) const override {
    return world_.convergence->accuracy(job, state);
  }
  double measured_accuracy(const sim::Job& job, int, double accuracy) const override {
    return accuracy + evaluation_noise_ * evaluation_deviation(*job.profile, accuracy);
  }
  double evaluation_deviation(const sim::Profile& profile, double accuracy) const override {
    return world_.convergence->evaluation_deviation(profile, accuracy);
  }

 private:
  const sim::Models world_;
  const double evaluation_noise_;
};

}  // namespace rehearse::workloads
