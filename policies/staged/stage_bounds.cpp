#include "policies/staged/stage_bounds.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::policies {

using sim::Configuration;
using sim::StageTraining;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kFewestPoints = 12, kMostPoints = 400;
constexpr double kAnotherBatch = 1e-300;  ///< than any choice's: the rate warms up

}  // namespace

StageSheet::StageSheet(const StageProblem& problem, sim::StageRunner& runner)
    : problem_(problem), runner_(runner), candidates_(problem.candidates.size()) {
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    if (runner.rates(*problem.job, problem.candidates[c]).fits) add(static_cast<int>(c));
  for (int stage = 0; stage < stages(); ++stage) {
    std::vector<double>& of_stage = slower_.emplace_back(candidates_.size(), 1.0);
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (candidates_[c].training_class >= 0)
        of_stage[c] = runner_.noise(*problem.job, problem.candidates[c], problem.from.stages + stage);
  }
  switching_.assign((candidates_.size() + 1) * candidates_.size(), {.time_s = -1});
}

void StageSheet::add(int index) {
  const Configuration& c = configuration(index);
  const auto alike = [&](const TrainingClass& k) {
    const Configuration& other = k.choice.configuration;
    return other.batch_size() == c.batch_size() && other.learning_rate == c.learning_rate && other.sync.kind == c.sync.kind &&
           (c.sync.kind != sim::SyncKind::servers_async || other.workers() == c.workers());
  };
  auto known = std::find_if(classes_.begin(), classes_.end(), alike);
  if (known == classes_.end()) {
    sim::Choice choice{.configuration = c};
    choice.predicted.epochs = problem_.budget_epochs;
    known = classes_.insert(classes_.end(), TrainingClass{std::move(choice), {}});
  }
  known->members.push_back(index);
  const sim::Job& job = *problem_.job;
  const sim::StageRates& r = runner_.rates(job, c);
  candidates_[static_cast<std::size_t>(index)] = {.training_class = static_cast<int>(known - classes_.begin()),
                                                  .rates = &r,
                                                  .taking_up = runner_.taking_up(job, c),
                                                  .letting_go = runner_.letting_go(job, c)};
}

StageTraining StageSheet::train(const sim::Progress& from, double batch_before, int training_class, int stage) const {
  sim::Choice choice = classes_[static_cast<std::size_t>(training_class)].choice;
  choice.until_epochs = end_of(stage);
  return runner_.train(*problem_.job, choice, from, batch_before);
}

const sim::StageCost& StageSheet::switching(int held, int next) {
  sim::StageCost& cost = switching_[static_cast<std::size_t>(held + 1) * candidates_.size() + static_cast<std::size_t>(next)];
  if (cost.time_s < 0) cost = runner_.switching(*problem_.job, held_by(held), configuration(next));
  return cost;
}

bool StageSheet::reaches_target(const StageTraining& t) const {
  if (t.failure != sim::FailureReason::none) return false;
  if (!problem_.job->has_target()) return true;
  const double deviation = convergence().evaluation_deviation(*problem_.job->profile, t.end.accuracy);
  return t.end.accuracy >= problem_.job->target_accuracy - 2 * deviation;
}

namespace {

/// A job of few epochs is the more sensitive to where it stands, and takes less to train.
int points_for(const StageSheet& sheet, double trained_epochs) {
  const StageProblem& problem = sheet.problem();
  if (problem.ends.empty()) return 0;
  const double stage = (problem.ends.back() - problem.from.progress.epochs_trained) / static_cast<double>(problem.ends.size());
  const double epochs = stage * (sheet.stages() - 1);  // the last stage as long as the others
  return static_cast<int>(std::clamp(trained_epochs / (2 * static_cast<double>(sheet.classes().size()) * std::max(1.0, epochs)),
                                     kFewestPoints, kMostPoints));
}

}  // namespace

StageFlows::StageFlows(const StageSheet& sheet, double trained_epochs)
    : sheet_(sheet), classes_(sheet.classes().size()), points_(points_for(sheet, trained_epochs)) {
  // Ended by readings above an accuracy that is below: who is a little behind may be spared such luck, and go on.
  const auto by_luck = [&](const StageTraining& t) {
    return sheet.problem().job->has_target() && t.end.reached >= sheet.problem().job->readings;
  };
  std::vector<sim::Progress> best;
  span_grids(best);
  flows_.resize(best.size() * static_cast<std::size_t>(points_) * 2 * classes_);
  for (int stage = 1; stage < sheet.stages(); ++stage) {
    sim::Progress from = best[static_cast<std::size_t>(stage - 1)];
    const Range& range = ranges_[static_cast<std::size_t>(stage - 1)];
    for (int p = 0; p < points_; ++p) {
      from.training.progress = range.low + (range.high - range.low) * p / (points_ - 1);
      for (int warm = 0; warm < 2; ++warm) {
        for (std::size_t k = 0; k < classes_; ++k) {
          const StageTraining t = sheet.train(from, warm > 0 ? kAnotherBatch : 0, static_cast<int>(k), stage);
          flows_[static_cast<std::size_t>(((stage - 1) * points_ + p) * 2 + warm) * classes_ + k] = {
              .to = t.ended ? -1 : point(stage + 1, t.end.training.progress),
              .evaluations = t.evaluations,
              .epochs = t.epochs,
              .dead = t.failure != sim::FailureReason::none || (t.ended && !sheet.reaches_target(t) && !by_luck(t))};
        }
      }
    }
  }
}

/// The least and the most progress that any choice reaches by each stage's beginning. `best`: all but its progress, what no
/// training there surpasses.
void StageFlows::span_grids(std::vector<sim::Progress>& best) {
  const StageProblem& problem = sheet_.problem();
  double least_batch = kNever;
  for (const StageSheet::TrainingClass& k : sheet_.classes()) least_batch = std::min(least_batch, k.batch());
  sim::Progress low = problem.from.progress, high = low;
  for (int stage = 0; stage + 1 < sheet_.stages(); ++stage) {
    Range range{.low = kNever};
    for (int k = 0; k < static_cast<int>(classes_); ++k) {
      range.low = std::min(range.low, sheet_.train(low, kAnotherBatch, k, stage).end.training.progress);
      range.high = std::max(range.high, sheet_.train(high, 0, k, stage).end.training.progress);
    }
    const double epochs = sheet_.end_of(stage) - problem.from.progress.epochs_trained;
    const double examples = epochs * sheet_.convergence().samples_per_epoch(*problem.job->profile);
    sim::Progress at = problem.from.progress;
    at.epochs += static_cast<int>(epochs);
    at.epochs_trained = sheet_.end_of(stage);
    at.training.examples += examples;
    at.training.log2_batch_examples += examples * std::log2(least_batch);
    at.training.warmup_examples = 0;
    if (problem.job->has_target()) at.reached = std::max(at.reached, static_cast<int>(problem.job->readings) - 1);
    low = high = at;
    low.training.progress = range.low;
    high.training.progress = range.high;
    ranges_.push_back(range);
    best.push_back(std::move(at));
  }
}

int StageFlows::point(int stage, double progress) const {
  const Range& range = ranges_[static_cast<std::size_t>(stage - 1)];
  if (!(range.high > range.low)) return 0;
  const double at = std::ceil((progress - range.low) / (range.high - range.low) * (points_ - 1) - 1e-9);
  return static_cast<int>(std::clamp(at, 0.0, points_ - 1.0));
}

StageBounds::StageBounds(const StageSheet& sheet, const StageFlows& flows, TimePrice price)
    : price_(price), n_(sheet.candidates().size()), k_(sheet.classes().size()), points_(flows.points()) {
  const auto cells = static_cast<std::size_t>((sheet.stages() - 1) * points_);
  kept_.assign(cells * n_, kNever);
  changed_.assign(cells * k_, kNever);
  const auto priced = [&](const sim::StageCost& cost) { return price.usd * cost.cost_usd + price.per_s * cost.time_s; };
  for (const StageSheet::Candidate& c : sheet.candidates()) {
    letting_go_.push_back(priced(c.letting_go));
    taking_up_.push_back(priced(c.taking_up));
    const sim::StageRates rates = c.rates != nullptr ? *c.rates : sim::StageRates{};
    epoch_.push_back(rates.epoch.training_s * (price.usd * rates.usd_per_s + price.per_s));
    evaluation_.push_back(rates.epoch.evaluation_s * (price.usd * rates.usd_per_s + price.per_s));
  }
  for (int stage = sheet.stages() - 1; stage > 0; --stage)
    for (int point = 0; point < points_; ++point) fill(sheet, flows, stage, point);
}

/// One cell: each candidate kept, or let go for the cheapest other: of its own batch without, of another with a warm-up.
void StageBounds::fill(const StageSheet& sheet, const StageFlows& flows, int stage, int point) {
  double* kept = &kept_[at(stage, point) * n_];
  double* changed = &changed_[at(stage, point) * k_];
  std::vector<double> same(k_, kNever);
  const auto way = [&](const StageFlows::Flow& flow, int c) {
    const auto i = static_cast<std::size_t>(c);
    return sheet.slower(stage, c) * (flow.epochs * epoch_[i] + flow.evaluations * evaluation_[i]) +
           (flow.to < 0 ? 0 : of(stage + 1, flow.to, c));
  };
  std::size_t first = k_, second = k_;
  for (std::size_t k = 0; k < k_; ++k) {
    const StageFlows::Flow& on = flows.of(stage, point, static_cast<int>(k), false);
    const StageFlows::Flow& warm = flows.of(stage, point, static_cast<int>(k), true);
    for (const int c : sheet.classes()[k].members) {
      const auto i = static_cast<std::size_t>(c);
      if (!on.dead) same[k] = std::min(same[k], taking_up_[i] + (kept[i] = way(on, c)));
      if (!warm.dead) changed[k] = std::min(changed[k], taking_up_[i] + way(warm, c));
    }
    if (first == k_ || changed[k] < changed[first])
      second = first, first = k;
    else if (second == k_ || changed[k] < changed[second])
      second = k;
  }
  for (std::size_t k = 0; k < k_; ++k) {
    const std::size_t other = k == first ? second : first;
    const double let_go = std::min(same[k], other < k_ ? changed[other] : kNever);
    for (const int c : sheet.classes()[k].members) {
      const auto i = static_cast<std::size_t>(c);
      kept[i] = std::min(kept[i], letting_go_[i] + let_go);
    }
  }
}

}  // namespace rehearse::policies
