// Predicts a whole job from past runs alone: the two monotone predictors of the static co-configuration, put together.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "policies/configure/configure.hpp"
#include "policies/learn/run_predictors.hpp"

namespace rehearse::policies {

struct HistoryPredictorOptions {
  RunFeatures features = RunFeatures::global_batch;
  double margin_quantile = 0.8;
};

class HistoryPredictors {
 public:
  /// Everything must outlive the predictors. Fits are made when first asked for.
  HistoryPredictors(const RunHistory& history, const sim::Cluster& cluster, const workloads::Belief& belief,
                    const HistoryPredictorOptions& options)
      : history_(history), cluster_(cluster), belief_(belief), options_(options) {}

  /// Time (pessimistic, start-up included), accuracy (pessimistic), money (expected) and epochs. What no run says anything about
  /// is NaN, and the prediction is then not feasible.
  sim::Prediction predict(const sim::Job& job, const sim::Configuration& configuration, const sim::CostRules& costs);

 private:
  const EpochTimePredictor* epoch_times(const sim::Job& job, const std::string& instance);
  const AccuracyPredictor* accuracies(const sim::Job& job, bool asynchronous);
  double roofline_ratio(const sim::Profile& profile, const std::string& from, const std::string& to) const;
  /// Fills in accuracy and epochs; returns the epochs to reckon money with.
  double predict_accuracy(const sim::Job& job, const sim::Configuration& configuration, sim::Prediction& out);

  const RunHistory& history_;
  const sim::Cluster& cluster_;
  const workloads::Belief& belief_;
  const HistoryPredictorOptions options_;
  std::map<std::pair<int, std::string>, std::optional<EpochTimePredictor>> epoch_times_;
  std::map<std::pair<int, bool>, std::optional<AccuracyPredictor>> accuracies_;
};

}  // namespace rehearse::policies
