// Static configuration from past runs: epoch time and accuracy as a learner predicts them, and the best configuration that is
// predicted to keep the limits. With isotonic regression it is the static co-configuration of resources and batch size
// (docs/explain/model.md, "Static isotonic"); with other learners its peers.
#pragma once

#include <memory>

#include "policies/configure/configure.hpp"
#include "policies/configure/history_predictors.hpp"

namespace rehearse::policies {

/// Which knob stays where the manual configuration has it.
enum class Frozen { nothing, batch, resources };

class FromHistory final : public Configure {
 public:
  explicit FromHistory(std::unique_ptr<RunLearner> learner, Frozen frozen = Frozen::nothing)
      : learner_(std::move(learner)), frozen_(frozen) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  const RunLearner& learner() const { return *learner_; }
  Frozen frozen() const { return frozen_; }

 private:
  bool allowed(const ConfigureView& view, const sim::Configuration& configuration) const;
  const std::unique_ptr<RunLearner> learner_;
  const Frozen frozen_;
  std::unique_ptr<HistoryPredictors> predictors_;
};

}  // namespace rehearse::policies
