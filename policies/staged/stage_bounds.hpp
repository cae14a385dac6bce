// What the planner of stages (stage_planner.hpp) knows of its candidates, looked up once, and lower bounds of what a job has
// still to pay and to wait: a dynamic programme over stage, progress and the candidate held, whose progress is rounded up to a
// grid and whose switches boot nothing, so that it never says too much. A deadline enters as a price of time (Handler and Zang,
// "A dual algorithm for the constrained shortest path problem", Networks 1980): money + price x seconds of any way on, less the
// price of the seconds that are left, is at most the money of the cheapest way that ends in time.
#pragma once

#include <limits>
#include <vector>

#include "policies/staged/stage_planner.hpp"

namespace rehearse::policies {

/// The candidates of a problem that fit.
class StageSheet {
 public:
  struct Candidate {
    int training_class = -1;  ///< -1: does not fit
    const sim::StageRates* rates = nullptr;
    sim::StageCost taking_up, letting_go;
  };
  /// Configurations that train alike: one global batch, rate and staleness.
  struct TrainingClass {
    sim::Choice choice;        ///< of any of them
    std::vector<int> members;  ///< candidates
    double batch() const { return choice.configuration.batch_size(); }
  };

  /// Both must outlive the sheet.
  StageSheet(const StageProblem& problem, sim::StageRunner& runner);

  int stages() const { return static_cast<int>(problem_.ends.size()) + 1; }
  double end_of(int stage) const {
    return stage + 1 < stages() ? problem_.ends[static_cast<std::size_t>(stage)] : std::numeric_limits<double>::infinity();
  }
  const StageProblem& problem() const { return problem_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  const Candidate& candidate(int index) const { return candidates_[static_cast<std::size_t>(index)]; }
  const std::vector<TrainingClass>& classes() const { return classes_; }
  const sim::Configuration& configuration(int index) const { return problem_.candidates[static_cast<std::size_t>(index)]; }
  const sim::Configuration* held_by(int index) const { return index < 0 ? problem_.from.held : &configuration(index); }
  const sim::Convergence& convergence() const { return *runner_.models().convergence; }

  double slower(int stage, int index) const { return slower_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(index)]; }
  sim::StageTraining train(const sim::Progress& from, double batch_before, int training_class, int stage) const;
  /// Memoised; `held` -1: what the standing holds.
  const sim::StageCost& switching(int held, int next);
  /// What the stage's training costs the candidate.
  sim::StageCost running(int index, const sim::StageTraining& training, int stage) const {
    return sim::StageRunner::running(*candidate(index).rates, training, slower(stage, index));
  }
  bool reaches_target(const sim::StageTraining& training) const;

 private:
  void add(int index);

  const StageProblem& problem_;
  sim::StageRunner& runner_;
  std::vector<Candidate> candidates_;
  std::vector<TrainingClass> classes_;
  std::vector<std::vector<double>> slower_;  ///< by stage and candidate
  std::vector<sim::StageCost> switching_;    ///< by held + 1 and next
};

/// What a second costs beside its money.
struct TimePrice {
  double usd = 1;    ///< of a dollar: 1, or 0 where time alone counts
  double per_s = 0;  ///< of a second
};

/// Trainings over the grid, shared by the bounds of all prices.
class StageFlows {
 public:
  /// Of as many points as so many epochs of training allow.
  StageFlows(const StageSheet& sheet, double trained_epochs);

  struct Flow {
    int to = -1;  ///< point at the stage's end, rounded up; -1: the job ends
    int evaluations = 0;
    double epochs = 0;
    bool dead = false;  ///< never reaches the target
  };
  /// Of a grid: as many as the trainings to be tried allow.
  int points() const { return points_; }
  int point(int stage, double progress) const;  ///< at the beginning of `stage`, from 1 on; rounded up
  const Flow& of(int stage, int point, int training_class, bool warms_up) const {
    return flows_[static_cast<std::size_t>(((stage - 1) * points_ + point) * 2 + (warms_up ? 1 : 0)) * classes_ +
                  static_cast<std::size_t>(training_class)];
  }

 private:
  struct Range {
    double low = 0, high = 0;
  };
  void span_grids(std::vector<sim::Progress>& best);

  const StageSheet& sheet_;
  std::size_t classes_;
  int points_;
  std::vector<Range> ranges_;  ///< by stage, from 1 on
  std::vector<Flow> flows_;
};

/// Lower bounds at one price of time.
class StageBounds {
 public:
  StageBounds(const StageSheet& sheet, const StageFlows& flows, TimePrice price);

  TimePrice price() const { return price_; }
  /// From the beginning of `stage` (from 1 on) to the job's end, holding the candidate; infinite where the target is out of
  /// reach.
  double of(int stage, int point, int held) const { return kept_[at(stage, point) * n_ + static_cast<std::size_t>(held)]; }
  /// The same if this class of another batch is taken now.
  double of_change(int stage, int point, int held, int training_class) const {
    return letting_go_[static_cast<std::size_t>(held)] +
           changed_[at(stage, point) * k_ + static_cast<std::size_t>(training_class)];
  }

 private:
  std::size_t at(int stage, int point) const { return static_cast<std::size_t>((stage - 1) * points_ + point); }
  void fill(const StageSheet& sheet, const StageFlows& flows, int stage, int point);

  TimePrice price_;
  std::size_t n_, k_;
  int points_;
  std::vector<double> kept_, changed_;
  std::vector<double> letting_go_, taking_up_, epoch_, evaluation_;  ///< by candidate, at the price
};

}  // namespace rehearse::policies
