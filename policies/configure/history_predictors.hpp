// Predicts a whole job from past runs alone: the two monotone predictors of the static co-configuration, put together.
#pragma once

#include <map>
#include <string>
#include <tuple>
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
  /// What a job's training will take, wherever it runs.
  struct Training {
    double epochs = 0;           ///< the fewest that are sure to reach the floor, else the cap
    double expected_epochs = 0;  ///< to reckon money with
    double accuracy = sim::kUnset;
    bool extrapolated = false;
  };
  Training predict_training(const sim::Job& job, const sim::Configuration& configuration);
  const Training& training(const sim::Job& job, const sim::Configuration& configuration);
  /// Profile, batch, workers when asynchronous, floor (-1: none), cap.
  using TrainingKey = std::tuple<int, double, int, double, double>;

  const RunHistory& history_;
  const sim::Cluster& cluster_;
  const workloads::Belief& belief_;
  const HistoryPredictorOptions options_;
  std::map<std::pair<int, std::string>, std::optional<EpochTimePredictor>> epoch_times_;
  std::map<std::pair<int, bool>, std::optional<AccuracyPredictor>> accuracies_;
  std::map<TrainingKey, Training> trainings_;
};

}  // namespace rehearse::policies
