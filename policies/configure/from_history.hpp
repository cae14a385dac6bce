// The static co-configuration of resources and batch size: two monotone predictors, of epoch time and of accuracy, learned from
// past runs by isotonic regression; the cheapest configuration that is predicted to keep both limits (docs/model.md).
#pragma once

#include <memory>

#include "policies/configure/configure.hpp"
#include "policies/configure/history_predictors.hpp"

namespace rehearse::policies {

/// Which knob stays where the manual configuration has it.
enum class Frozen { nothing, batch, resources };

class StaticIsotonic final : public Configure {
 public:
  StaticIsotonic(Frozen frozen, const HistoryPredictorOptions& options) : frozen_(frozen), options_(options) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;

 private:
  bool allowed(const ConfigureView& view, const sim::Configuration& configuration) const;
  const Frozen frozen_;
  const HistoryPredictorOptions options_;
  std::unique_ptr<HistoryPredictors> predictors_;
};

}  // namespace rehearse::policies
