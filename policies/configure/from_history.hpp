// Predicts a whole job from past runs alone: whatever a learner says of epoch times and accuracies, put together.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/configure/belief_of_runs.hpp"
#include "policies/configure/configure.hpp"
#include "policies/learn/run_learner.hpp"

namespace rehearse::policies {

class HistoryPredictors {
 public:
  /// Everything must outlive the predictors. Fits are made when first asked for. `believed` runs jobs alone by the belief, which
  /// is weighed with the past runs; null: they alone count.
  HistoryPredictors(const RunHistory& history, const sim::Cluster& cluster, const workloads::Belief& belief,
                    const RunLearner& learner, bool keeps_curves, sim::AloneRunner* believed = nullptr)
      : history_(&history),
        cluster_(cluster),
        belief_(belief),
        learner_(learner),
        keeps_curves_(keeps_curves),
        believed_(believed) {}
  void read(const RunHistory& history) { history_ = &history; }

  /// The history has other runs of the profile now, or its curves.
  void forget(const sim::Profile& profile);
  /// Time (pessimistic, start-up included), accuracy (pessimistic), money (expected) and epochs. What no run says anything about
  /// is NaN, and the prediction is then not feasible.
  sim::Prediction predict(const sim::Job& job, const sim::Configuration& configuration, const sim::CostRules& costs);

 private:
  struct InstanceTimes {
    std::unique_ptr<EpochTimes> times;  ///< null: no run to learn from
    bool borrowed = false;
  };
  const InstanceTimes& epoch_times(const sim::Job& job, const std::string& instance);
  const Accuracies* accuracies(const sim::Job& job, bool asynchronous);
  const BelievedRuns* believed(const sim::Profile& profile);
  double roofline_ratio(const sim::Profile& profile, const std::string& from, const std::string& to) const;
  /// What a job's training will take, wherever it runs.
  struct Training {
    double epochs = 0;           ///< the fewest that are sure to reach the floor, else the cap
    double expected_epochs = 0;  ///< to reckon money with
    double accuracy = sim::kUnset;
    bool extrapolated = false;
  };
  Training predict_training(const sim::Job& job, const PlannedRun& run);
  const Training& training(const sim::Job& job, const PlannedRun& run);
  /// Profile, batch, workers where they matter, asynchronous, floor (-1: none), cap, readings.
  using TrainingKey = std::tuple<int, double, int, bool, double, double, double>;

  const RunHistory* history_;
  const sim::Cluster& cluster_;
  const workloads::Belief& belief_;
  const RunLearner& learner_;
  const bool keeps_curves_;
  sim::AloneRunner* const believed_;
  std::map<int, BeliefOfRuns> beliefs_;  ///< by profile
  std::map<std::pair<int, std::string>, InstanceTimes> epoch_times_;
  std::map<std::pair<int, bool>, std::unique_ptr<Accuracies>> accuracies_;
  std::map<TrainingKey, Training> trainings_;
};

// Static configuration from past runs: epoch time and accuracy as a learner predicts them, and the best configuration that is
// predicted to keep the limits. With isotonic regression it is the static co-configuration of resources and batch size
// (docs/explain/strategies.md, "Static isotonic"); with other learners its peers.

/// Which knob stays where the manual configuration has it.
enum class Frozen { nothing, batch, resources };

struct HistoryUse {
  Frozen frozen = Frozen::nothing;
  bool curves = false;         ///< all points of a run's curve count, not its end alone
  bool weighs_belief = false;  ///< past runs are weighed with what is believed
  bool only_measured = false;  ///< only configurations of which there is a run are chosen, and manual's
  double exploration = 0;      ///< a job may cost so large a share more for what it teaches; 0: none does
};

class FromHistory final : public Configure {
 public:
  explicit FromHistory(std::unique_ptr<RunLearner> learner, const HistoryUse& use = {})
      : learner_(std::move(learner)), use_(use) {}
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  const RunLearner& learner() const { return *learner_; }
  const HistoryUse& use() const { return use_; }

 private:
  /// Of a profile: what the predictors have learnt from, and what was answered since to jobs that asked for different things.
  struct Known {
    struct Answer {
      sim::Job job;
      sim::Configuration manual;
      sim::Menu menu;
    };
    std::vector<PastRun> runs;
    std::vector<sim::Configuration> candidates;
    std::vector<Answer> answers;  ///< the last kMostAnswers, about these candidates
  };
  Known& known(const ConfigureView& view);
  sim::Menu choose(const ConfigureView& view, const workloads::Belief& belief, const std::vector<PastRun>& runs);
  void fall_back(const ConfigureView& view, sim::Menu& menu) const;
  void explore(const ConfigureView& view, const std::vector<PastRun>& runs, sim::Menu& menu) const;
  bool allowed(const ConfigureView& view, const sim::Configuration& configuration) const;
  const std::unique_ptr<RunLearner> learner_;
  const HistoryUse use_;
  std::unique_ptr<HistoryPredictors> predictors_;
  std::map<int, Known> known_;  ///< by profile
};

}  // namespace rehearse::policies
