#include "policies/staged/stage_planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace rehearse::policies {

namespace {

using sim::Configuration;
using sim::StageTraining;

constexpr int kGridPoints = 48;
constexpr double kAnotherBatch = 1e-300;  ///< than any choice's: the rate warms up

/// Configurations that train alike: one global batch, rate and staleness.
struct TrainingClass {
  sim::Choice choice;        ///< of any of them
  std::vector<int> members;  ///< candidates
  double least_usd_per_epoch = 0, least_s_per_epoch = 0;
  double least_usd_per_evaluation = 0, least_s_per_evaluation = 0;
};

/// Where a training stands at the end of a stage, and what follows from it with each class.
struct Node {
  StageTraining training;
  int training_class = -1;  ///< of the stage that led here; -1: none or another
  std::vector<int> next;    ///< node by class; -1: not yet known
};

struct Label {
  int node = 0;
  int held = -1;  ///< candidate; -1: what the standing holds
  double time_s = 0, cost_usd = 0;
  int parent = -1;
  std::vector<sim::PaidNode> paid;  ///< as in Standing
  double ahead_usd = 0;             ///< of its money, for time to come
};

struct Bound {
  double cost_usd = 0, time_s = 0;
};

class Planner {
 public:
  Planner(const StageProblem& problem, sim::StageRunner& runner)
      : problem_(problem), job_(*problem.job), runner_(runner), convergence_(*runner.models().convergence) {
    for (std::size_t c = 0; c < problem.candidates.size(); ++c)
      if (runner.rates(job_, problem.candidates[c]).fits) add_candidate(static_cast<int>(c));
  }

  StagePlan plan() {
    if (classes_.empty()) return {};
    read_noise();
    bound_the_rest();
    nodes_.push_back({.training = {.end = problem_.from.progress}, .next = std::vector<int>(classes_.size(), -1)});
    labels_.push_back({.time_s = problem_.from.time_s, .cost_usd = problem_.from.cost_usd, .paid = problem_.from.paid});
    try_keeping_one();
    std::vector<int> level{0};
    for (int stage = 0; !level.empty(); ++stage) level = extend(level, stage);
    return best();
  }

 private:
  int stages() const { return static_cast<int>(problem_.ends.size()) + 1; }
  double end_of(int stage) const {
    return stage + 1 < stages() ? problem_.ends[static_cast<std::size_t>(stage)] : std::numeric_limits<double>::infinity();
  }

  void add_candidate(int index) {
    const Configuration& c = problem_.candidates[static_cast<std::size_t>(index)];
    const auto alike = [&](const TrainingClass& k) {
      const Configuration& other = k.choice.configuration;
      return other.batch_size() == c.batch_size() && other.learning_rate == c.learning_rate && other.sync.kind == c.sync.kind &&
             (c.sync.kind != sim::SyncKind::servers_async || other.workers() == c.workers());
    };
    auto known = std::find_if(classes_.begin(), classes_.end(), alike);
    if (known == classes_.end()) {
      sim::Choice choice{.configuration = c};
      choice.predicted.epochs = problem_.budget_epochs;
      constexpr double kMost = std::numeric_limits<double>::infinity();
      known = classes_.insert(classes_.end(), TrainingClass{std::move(choice), {}, kMost, kMost, kMost, kMost});
    }
    known->members.push_back(index);
    const sim::StageRates& r = runner_.rates(job_, c);
    known->least_s_per_epoch = std::min(known->least_s_per_epoch, r.epoch.training_s);
    known->least_s_per_evaluation = std::min(known->least_s_per_evaluation, r.epoch.evaluation_s);
    known->least_usd_per_epoch = std::min(known->least_usd_per_epoch, r.usd_per_s * r.epoch.training_s);
    known->least_usd_per_evaluation = std::min(known->least_usd_per_evaluation, r.usd_per_s * r.epoch.evaluation_s);
  }

  void read_noise() {
    for (int stage = 0; stage < stages(); ++stage) {
      std::vector<double>& of_stage = slower_.emplace_back(problem_.candidates.size(), 1.0);
      double least = std::numeric_limits<double>::infinity();
      for (const TrainingClass& k : classes_)
        for (const int c : k.members) {
          double& slower = of_stage[static_cast<std::size_t>(c)];
          slower = runner_.noise(job_, problem_.candidates[static_cast<std::size_t>(c)], problem_.from.stages + stage);
          least = std::min(least, slower);
        }
      least_slower_.push_back(least);
    }
  }

  StageTraining train(const sim::Progress& from, double batch_before, int training_class, int stage) {
    sim::Choice& choice = classes_[static_cast<std::size_t>(training_class)].choice;
    choice.until_epochs = end_of(stage);
    return runner_.train(job_, choice, from, batch_before);
  }

  // ---- lower bounds of what is left

  /// At the end of stage k (from 0), by progress: a grid between the least and the most that any choice reaches.
  struct Grid {
    sim::Progress best;  ///< all but its progress: what no training at this point surpasses
    double low = 0, high = 0;
    std::vector<Bound> bounds;
    double at(int point) const { return low + (high - low) * point / (kGridPoints - 1); }
    /// Rounded up: more progress than there is leaves less to do than there is.
    const Bound& of(double progress) const {
      const double point = high > low ? std::ceil((progress - low) / (high - low) * (kGridPoints - 1) - 1e-9) : 0;
      return bounds[static_cast<std::size_t>(std::clamp(point, 0.0, kGridPoints - 1.0))];
    }
  };

  void bound_the_rest() {
    double least_batch = std::numeric_limits<double>::infinity();
    for (const TrainingClass& k : classes_) least_batch = std::min(least_batch, k.choice.configuration.batch_size());
    grids_.resize(static_cast<std::size_t>(stages() - 1));
    sim::Progress low = problem_.from.progress, high = low;
    for (int stage = 0; stage + 1 < stages(); ++stage) {
      double least = std::numeric_limits<double>::infinity(), most = 0;
      for (int k = 0; k < static_cast<int>(classes_.size()); ++k) {
        least = std::min(least, train(low, kAnotherBatch, k, stage).end.training.progress);
        most = std::max(most, train(high, 0, k, stage).end.training.progress);
      }
      Grid& grid = grids_[static_cast<std::size_t>(stage)];
      const double examples =
          (end_of(stage) - problem_.from.progress.epochs_trained) * convergence_.samples_per_epoch(*job_.profile);
      grid.low = least;
      grid.high = most;
      grid.best = problem_.from.progress;
      grid.best.epochs += static_cast<int>(end_of(stage) - problem_.from.progress.epochs_trained);
      grid.best.epochs_trained = end_of(stage);
      grid.best.training.examples += examples;
      grid.best.training.log2_batch_examples += examples * std::log2(least_batch);
      grid.best.training.warmup_examples = 0;
      low = high = grid.best;
      low.training.progress = least;
      high.training.progress = most;
    }
    for (int stage = stages() - 2; stage >= 0; --stage) {
      Grid& grid = grids_[static_cast<std::size_t>(stage)];
      for (int point = 0; point < kGridPoints; ++point) {
        sim::Progress at = grid.best;
        at.training.progress = grid.at(point);
        grid.bounds.push_back(bound_after(at, stage + 1));
      }
    }
  }

  /// The least money and the least seconds from this progress on, each for itself, the stage from here included.
  Bound bound_after(const sim::Progress& from, int stage) {
    Bound least{.cost_usd = std::numeric_limits<double>::infinity(), .time_s = std::numeric_limits<double>::infinity()};
    for (int k = 0; k < static_cast<int>(classes_.size()); ++k) {
      const StageTraining t = train(from, 0, k, stage);
      if (t.failure != sim::FailureReason::none || (t.ended && !reaches_target(t))) continue;
      const Bound rest = t.ended ? Bound{} : grids_[static_cast<std::size_t>(stage)].of(t.end.training.progress);
      const TrainingClass& c = classes_[static_cast<std::size_t>(k)];
      const double fastest = least_slower_[static_cast<std::size_t>(stage)];
      least.cost_usd =
          std::min(least.cost_usd,
                   fastest * (t.epochs * c.least_usd_per_epoch + t.evaluations * c.least_usd_per_evaluation) + rest.cost_usd);
      least.time_s = std::min(
          least.time_s, fastest * (t.epochs * c.least_s_per_epoch + t.evaluations * c.least_s_per_evaluation) + rest.time_s);
    }
    return least;
  }

  bool reaches_target(const StageTraining& t) const {
    if (!job_.has_target()) return true;
    const double deviation = convergence_.evaluation_deviation(*job_.profile, t.end.accuracy);
    return t.end.accuracy >= job_.target_accuracy - 2 * deviation;
  }

  // ---- labels

  int child(int node, int training_class, int stage) {
    const auto k = static_cast<std::size_t>(training_class);
    if (nodes_[static_cast<std::size_t>(node)].next[k] >= 0) return nodes_[static_cast<std::size_t>(node)].next[k];
    const Node& from = nodes_[static_cast<std::size_t>(node)];
    double batch_before = 0;
    if (from.training_class >= 0)
      batch_before = classes_[static_cast<std::size_t>(from.training_class)].choice.configuration.batch_size();
    else if (problem_.from.held != nullptr)
      batch_before = problem_.from.held->batch_size();
    Node next{.training = train(from.training.end, batch_before, training_class, stage),
              .training_class = training_class,
              .next = std::vector<int>(classes_.size(), -1)};
    nodes_.push_back(std::move(next));
    return nodes_[static_cast<std::size_t>(node)].next[k] = static_cast<int>(nodes_.size()) - 1;
  }

  const Configuration* held_by(const Label& label) const {
    return label.held >= 0 ? &problem_.candidates[static_cast<std::size_t>(label.held)] : problem_.from.held;
  }

  /// The label that this choice leads to.
  Label step(int from, int candidate, int training_class, int stage) {
    const int node = child(labels_[static_cast<std::size_t>(from)].node, training_class, stage);
    const Label& label = labels_[static_cast<std::size_t>(from)];
    const Configuration& next = problem_.candidates[static_cast<std::size_t>(candidate)];
    sim::StageCost cost = runner_.switching(job_, held_by(label), next);
    cost += sim::StageRunner::running(runner_.rates(job_, next), nodes_[static_cast<std::size_t>(node)].training,
                                      slower_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(candidate)]);
    Label out{.node = node, .held = candidate, .time_s = label.time_s + cost.time_s, .parent = from, .paid = label.paid};
    cost.cost_usd += runner_.minimum_usd(held_by(label), next, label.time_s, cost, out.paid);
    out.cost_usd = label.cost_usd + cost.cost_usd;
    out.ahead_usd = runner_.paid_ahead_usd(out.paid, out.time_s);
    return out;
  }

  /// A first upper bound: one configuration for the whole job.
  void try_keeping_one() {
    for (int k = 0; k < static_cast<int>(classes_.size()); ++k) {
      for (const int candidate : classes_[static_cast<std::size_t>(k)].members) {
        int at = 0;
        for (int stage = 0; stage < stages(); ++stage) {
          labels_.push_back(step(at, candidate, k, stage));
          at = static_cast<int>(labels_.size()) - 1;
          if (finish(at)) break;
        }
      }
    }
  }

  /// True when the job ends with this label.
  bool finish(int index) {
    const Label& label = labels_[static_cast<std::size_t>(index)];
    const StageTraining& t = nodes_[static_cast<std::size_t>(label.node)].training;
    if (!t.ended) return false;
    // Feasible and cheap; else accurate enough and soon; else accurate.
    const bool reaches = t.failure == sim::FailureReason::none && reaches_target(t);
    const bool feasible = reaches && label.time_s <= problem_.deadline_s;
    const double accuracy = std::isnan(t.end.accuracy) ? 0 : t.end.accuracy;
    const Rank rank = feasible  ? Rank{0, label.cost_usd, label.time_s}
                      : reaches ? Rank{1, label.time_s, label.cost_usd}
                                : Rank{2, -accuracy, label.cost_usd};
    if (best_ < 0 || rank < best_rank_) {
      best_ = index;
      best_rank_ = rank;
      if (feasible) most_usd_ = label.cost_usd;
    }
    return true;
  }

  bool hopeless(const Label& label, int stage) const {
    const Node& node = nodes_[static_cast<std::size_t>(label.node)];
    const Bound& rest = grids_[static_cast<std::size_t>(stage)].of(node.training.end.training.progress);
    if (!std::isfinite(rest.time_s)) return true;  // never reaches the target
    const double soonest_s = label.time_s + rest.time_s;
    if (std::get<0>(best_rank_) == 0)
      return label.cost_usd - label.ahead_usd + rest.cost_usd >= most_usd_ * (1 - problem_.tolerance) ||
             soonest_s > problem_.deadline_s;
    return std::get<0>(best_rank_) == 1 && soonest_s > std::max(problem_.deadline_s, std::get<1>(best_rank_));
  }

  std::vector<int> extend(const std::vector<int>& level, int stage) {
    std::vector<std::vector<int>> by_held(problem_.candidates.size());
    for (const int from : level) {
      ++extended_;
      for (int k = 0; k < static_cast<int>(classes_.size()); ++k) {
        for (const int candidate : classes_[static_cast<std::size_t>(k)].members) {
          const Label next = step(from, candidate, k, stage);
          if (nodes_[static_cast<std::size_t>(next.node)].training.ended) {
            labels_.push_back(next);
            finish(static_cast<int>(labels_.size()) - 1);
          } else if (!hopeless(next, stage)) {
            insert(by_held[static_cast<std::size_t>(candidate)], next);
          }
        }
      }
    }
    std::vector<int> all;
    for (const std::vector<int>& some : by_held)
      for (const int index : some)
        if (!hopeless(labels_[static_cast<std::size_t>(index)], stage)) all.push_back(index);
    return all;
  }

  bool dominates(const Label& a, const Label& b) const {
    const sim::Progress& p = nodes_[static_cast<std::size_t>(a.node)].training.end;
    const sim::Progress& q = nodes_[static_cast<std::size_t>(b.node)].training.end;
    return a.cost_usd <= b.cost_usd - b.ahead_usd && a.time_s <= b.time_s && p.training.progress >= q.training.progress &&
           p.training.log2_batch_examples <= q.training.log2_batch_examples &&
           p.training.staleness_examples <= q.training.staleness_examples &&
           p.training.warmup_examples <= q.training.warmup_examples && p.epochs_trained >= q.epochs_trained &&
           p.epochs == q.epochs && p.divergences <= q.divergences;
  }

  void insert(std::vector<int>& some, const Label& label) {
    for (const int other : some)
      if (dominates(labels_[static_cast<std::size_t>(other)], label)) return;
    std::erase_if(some, [&](int other) { return dominates(label, labels_[static_cast<std::size_t>(other)]); });
    labels_.push_back(label);
    some.push_back(static_cast<int>(labels_.size()) - 1);
  }

  StagePlan best() const {
    StagePlan plan{.labels = extended_};
    if (best_ < 0) return plan;
    const Label& last = labels_[static_cast<std::size_t>(best_)];
    const sim::Progress& end = nodes_[static_cast<std::size_t>(last.node)].training.end;
    plan.time_s = last.time_s;
    plan.cost_usd = last.cost_usd;
    plan.accuracy = end.accuracy;
    plan.epochs = end.epochs;
    plan.feasible = std::get<0>(best_rank_) == 0;
    for (int at = best_; labels_[static_cast<std::size_t>(at)].parent >= 0; at = labels_[static_cast<std::size_t>(at)].parent)
      plan.stages.push_back(held_by(labels_[static_cast<std::size_t>(at)]));
    std::reverse(plan.stages.begin(), plan.stages.end());
    return plan;
  }

  using Rank = std::tuple<int, double, double>;
  const StageProblem& problem_;
  const sim::Job& job_;
  sim::StageRunner& runner_;
  const sim::Convergence& convergence_;
  std::vector<TrainingClass> classes_;
  std::vector<std::vector<double>> slower_;  ///< by stage and candidate
  std::vector<double> least_slower_;         ///< by stage
  std::vector<Grid> grids_;
  std::vector<Node> nodes_;
  std::vector<Label> labels_;
  int best_ = -1;
  Rank best_rank_{3, 0, 0};
  double most_usd_ = std::numeric_limits<double>::infinity();
  std::size_t extended_ = 0;
};

}  // namespace

StagePlan plan_stages(const StageProblem& problem, sim::StageRunner& runner) { return Planner(problem, runner).plan(); }

}  // namespace rehearse::policies
