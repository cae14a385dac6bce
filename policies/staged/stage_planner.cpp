#include "policies/staged/stage_planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>

#include "policies/staged/stage_bounds.hpp"

namespace rehearse::policies {

namespace {

using sim::Configuration;
using sim::StageTraining;

/// Epochs to be trained for bounds, and labels in all beyond which finer bounds are worth their while.
struct Effort {
  double trained_epochs;
  std::size_t most_labels;
};
constexpr std::array<Effort, 3> kEfforts{{{4000, 400}, {16000, 6000}, {48000, std::numeric_limits<std::size_t>::max()}}};
constexpr int kPrices = 8;          // of time, that are tried at most
constexpr double kAlike = 0.02;     // prices this close bound alike
constexpr std::size_t kBounds = 3;  // kept: the best at the beginning is not the best everywhere

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

class Planner {
 public:
  Planner(const StageProblem& problem, sim::StageRunner& runner) : problem_(problem), runner_(runner), sheet_(problem, runner) {}

  StagePlan plan() {
    if (sheet_.classes().empty()) return {};
    Node root{.training = {.end = problem_.from.progress}, .next = std::vector<int>(sheet_.classes().size(), -1)};
    nodes_.push_back(std::move(root));
    labels_.push_back({.time_s = problem_.from.time_s, .cost_usd = problem_.from.cost_usd, .paid = problem_.from.paid});
    try_keeping_one();
    for (const Effort& effort : kEfforts) {
      if (sheet_.stages() > 1) {
        flows_ = std::make_unique<StageFlows>(sheet_, effort.trained_epochs);
        bound_the_rest();
      }
      if (extend_all(effort.most_labels)) break;
    }
    return best();
  }

 private:
  Node& node_of(const Label& label) { return nodes_[static_cast<std::size_t>(label.node)]; }
  const Node& node_of(const Label& label) const { return nodes_[static_cast<std::size_t>(label.node)]; }
  const Label& label(int index) const { return labels_[static_cast<std::size_t>(index)]; }
  int keep(Label made) {
    labels_.push_back(std::move(made));
    return static_cast<int>(labels_.size()) - 1;
  }

  int child(int node, int training_class, int stage) {
    const auto k = static_cast<std::size_t>(training_class);
    if (nodes_[static_cast<std::size_t>(node)].next[k] >= 0) return nodes_[static_cast<std::size_t>(node)].next[k];
    const Node& from = nodes_[static_cast<std::size_t>(node)];
    double batch_before = 0;
    if (from.training_class >= 0)
      batch_before = sheet_.classes()[static_cast<std::size_t>(from.training_class)].batch();
    else if (problem_.from.held != nullptr)
      batch_before = problem_.from.held->batch_size();
    Node next{.training = sheet_.train(from.training.end, batch_before, training_class, stage),
              .training_class = training_class,
              .next = std::vector<int>(sheet_.classes().size(), -1)};
    nodes_.push_back(std::move(next));
    return nodes_[static_cast<std::size_t>(node)].next[k] = static_cast<int>(nodes_.size()) - 1;
  }

  /// The label that this choice leads to.
  Label step(int from, int candidate, int stage) {
    const StageSheet::Candidate& of = sheet_.candidate(candidate);
    const int node = child(label(from).node, of.training_class, stage);
    const Label& before = label(from);
    const StageTraining& training = nodes_[static_cast<std::size_t>(node)].training;
    const Configuration& next = sheet_.configuration(candidate);
    sim::StageCost cost = sheet_.switching(before.held, candidate);
    cost += sheet_.running(candidate, training, stage);
    Label out{.node = node, .held = candidate, .time_s = before.time_s + cost.time_s, .parent = from};
    if (runner_.has_minimum()) {
      out.paid = before.paid;
      cost.cost_usd += runner_.minimum_usd(sheet_.held_by(before.held), next, before.time_s, cost, out.paid);
      out.ahead_usd = runner_.paid_ahead_usd(out.paid, out.time_s);
    }
    out.cost_usd = before.cost_usd + cost.cost_usd;
    return out;
  }

  // ---- plans known, against which the others must stand

  /// One configuration for the whole job.
  void try_keeping_one() {
    for (const StageSheet::TrainingClass& k : sheet_.classes()) {
      for (const int candidate : k.members) {
        int at = 0;
        for (int stage = 0; stage < sheet_.stages(); ++stage) {
          at = keep(step(at, candidate, stage));
          if (finish(at)) break;
        }
      }
    }
  }

  struct Way {
    double rest = std::numeric_limits<double>::infinity();  ///< what its first stage's end is expected to leave, at the price
    double usd = 0, s = 0;                                  ///< of it all, as it is
    bool ends = false;
  };

  /// The way that these bounds take for the cheapest, at their price of time.
  Way follow(const StageBounds& bounds) {
    Way way;
    int at = 0;
    for (int stage = 0; stage < sheet_.stages(); ++stage) {
      double least = std::numeric_limits<double>::infinity();
      Label next;
      for (const StageSheet::TrainingClass& k : sheet_.classes()) {
        for (const int candidate : k.members) {
          Label made = step(at, candidate, stage);
          const Node& node = node_of(made);
          if (node.training.ended && !sheet_.reaches_target(node.training)) continue;
          const double rest = node.training.ended ? 0 : bounds.of(stage + 1, point_of(node, stage + 1), candidate);
          const double worth = bounds.price().usd * (made.cost_usd - made.ahead_usd) + bounds.price().per_s * made.time_s + rest;
          if (worth < least) least = worth, next = std::move(made);
        }
      }
      if (!std::isfinite(least)) return way;
      if (stage == 0) way.rest = least;
      at = keep(std::move(next));
      if (finish(at)) {
        way.usd = label(at).cost_usd;
        way.s = label(at).time_s;
        way.ends = true;
        return way;
      }
    }
    return way;
  }

  /// Bounds without a price of time, of time alone, and at the prices between that say most (Handler and Zang 1980).
  void bound_the_rest() {
    bounds_.clear();
    const auto try_price = [&](TimePrice price) {
      bounds_.push_back(std::make_unique<StageBounds>(sheet_, *flows_, price));
      return follow(*bounds_.back());
    };
    Way cheap = try_price({});
    Way fast = try_price({.usd = 0, .per_s = 1});
    if (!cheap.ends || !fast.ends || cheap.s <= problem_.deadline_s || fast.s > problem_.deadline_s) return;
    std::vector<std::pair<double, std::unique_ptr<StageBounds>>> priced;  // by what they say at the beginning
    double before = 0;
    for (int i = 0; i < kPrices; ++i) {
      const double price = (fast.usd - cheap.usd) / (cheap.s - fast.s);
      if (!(price > 0) || std::abs(price / before - 1) < kAlike) break;
      before = price;
      auto bounds = std::make_unique<StageBounds>(sheet_, *flows_, TimePrice{.per_s = price});
      const Way way = follow(*bounds);
      priced.emplace_back(way.rest - price * problem_.deadline_s, std::move(bounds));
      if (!way.ends || way.usd < cheap.usd || way.s < fast.s) break;
      (way.s <= problem_.deadline_s ? fast : cheap) = way;
    }
    std::sort(priced.begin(), priced.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < std::min(kBounds, priced.size()); ++i) bounds_.push_back(std::move(priced[i].second));
  }

  /// True when the job ends with this label.
  bool finish(int index) {
    const Label& last = label(index);
    const StageTraining& t = node_of(last).training;
    if (!t.ended) return false;
    // Feasible and cheap; else accurate enough and soon; else accurate.
    const bool reaches = sheet_.reaches_target(t);
    const bool feasible = reaches && last.time_s <= problem_.deadline_s;
    const double accuracy = std::isnan(t.end.accuracy) ? 0 : t.end.accuracy;
    const Rank rank = feasible  ? Rank{0, last.cost_usd, last.time_s}
                      : reaches ? Rank{1, last.time_s, last.cost_usd}
                                : Rank{2, -accuracy, last.cost_usd};
    if (best_ < 0 || rank < best_rank_) {
      best_ = index;
      best_rank_ = rank;
      if (feasible) most_usd_ = last.cost_usd;
    }
    return true;
  }

  /// May a way that has cost this much, and whose rest costs at least `rest` by each of the bounds, not be the best?
  template <class Rest>
  bool hopeless(const Label& so_far, Rest rest) const {
    const bool feasible = std::get<0>(best_rank_) == 0, reached = std::get<0>(best_rank_) == 1;
    for (const auto& bounds : bounds_) {
      const TimePrice price = bounds->price();
      const double left = rest(*bounds);
      if (!std::isfinite(left)) return true;  // never reaches the target
      // What is paid ahead pays for what is left, as far as it goes.
      const double least =
          price.usd * so_far.cost_usd + price.per_s * so_far.time_s + std::max(0.0, left - price.usd * so_far.ahead_usd);
      if (price.usd == 0) {
        if (feasible && least > problem_.deadline_s) return true;
        if (reached && least > std::max(problem_.deadline_s, std::get<1>(best_rank_))) return true;
      } else if (feasible) {
        const double time_usd = price.per_s > 0 ? price.per_s * problem_.deadline_s : 0;
        if (least - time_usd >= most_usd_ * (1 - problem_.tolerance)) return true;
      }
    }
    return false;
  }

  bool hopeless(const Label& so_far, int stage) const {
    if (bounds_.empty()) return false;
    const int point = point_of(node_of(so_far), stage);
    return hopeless(so_far, [&](const StageBounds& bounds) { return bounds.of(stage, point, so_far.held); });
  }

  /// No way on that takes this class next, before it is trained.
  bool is_hopeless_with(int from, int training_class, int stage) const {
    const Label& so_far = label(from);
    if (stage == 0 || so_far.held < 0) return false;
    const int point = point_of(node_of(so_far), stage);
    const bool same = sheet_.candidate(so_far.held).training_class == training_class;
    return hopeless(so_far, [&](const StageBounds& bounds) {
      return same ? bounds.of(stage, point, so_far.held) : bounds.of_change(stage, point, so_far.held, training_class);
    });
  }

  int point_of(const Node& node, int stage) const { return flows_->point(stage, node.training.end.training.progress); }

  /// False when there are more labels than `most` to extend: then nothing is known but the plans that were found.
  bool extend_all(std::size_t most) {
    std::vector<int> level{0};
    for (int stage = 0; !level.empty(); ++stage) {
      if (extended_ + level.size() > most) return false;
      level = extend(level, stage);
    }
    return true;
  }

  std::vector<int> extend(const std::vector<int>& level, int stage) {
    std::vector<std::vector<Held>> by_held(problem_.candidates.size());
    for (const int from : level) {
      ++extended_;
      for (int k = 0; k < static_cast<int>(sheet_.classes().size()); ++k) {
        if (is_hopeless_with(from, k, stage)) continue;
        for (const int candidate : sheet_.classes()[static_cast<std::size_t>(k)].members) {
          Label next = step(from, candidate, stage);
          if (node_of(next).training.ended)
            finish(keep(std::move(next)));
          else if (!hopeless(next, stage + 1))
            insert(by_held[static_cast<std::size_t>(candidate)], std::move(next));
        }
      }
    }
    std::vector<int> all;
    for (const std::vector<Held>& some : by_held)
      for (const Held& held : some)
        if (!hopeless(label(held.label), stage + 1)) all.push_back(held.label);
    return all;
  }

  /// Of labels with one candidate at one stage's end: what decides most comparisons, side by side in memory.
  struct Held {
    double cost_usd, time_s, progress;
    int label;
  };

  bool dominates(const Held& a, const Held& b, const sim::Progress& p, const sim::Progress& q) const {
    return a.time_s <= b.time_s && a.progress >= b.progress && p.training.log2_batch_examples <= q.training.log2_batch_examples &&
           p.training.staleness_examples <= q.training.staleness_examples &&
           p.training.warmup_examples <= q.training.warmup_examples && p.epochs_trained >= q.epochs_trained &&
           p.reached >= q.reached && p.epochs == q.epochs && p.divergences <= q.divergences;
  }
  const sim::Progress& end_of(const Held& held) const { return node_of(label(held.label)).training.end; }

  /// Does `a` cost no more, with what it would take to have paid as far ahead as `b` for every node?
  bool costs_no_more(const Label& a, const Label& b) const {
    if (a.cost_usd > b.cost_usd) return false;
    return a.cost_usd + runner_.paid_further_usd(b.paid, b.time_s, a.paid, a.time_s) <= b.cost_usd;
  }

  void insert(std::vector<Held>& some, Label made) {
    const sim::Progress end = node_of(made).training.end;
    Held held{made.cost_usd, made.time_s, end.training.progress, -1};
    for (const Held& other : some)
      if (other.cost_usd <= held.cost_usd && dominates(other, held, end_of(other), end) &&
          costs_no_more(label(other.label), made))
        return;
    std::erase_if(some, [&](const Held& other) {
      return held.cost_usd <= other.cost_usd && dominates(held, other, end, end_of(other)) &&
             costs_no_more(made, label(other.label));
    });
    held.label = keep(std::move(made));
    some.push_back(held);
  }

  StagePlan best() const {
    StagePlan plan{.labels = extended_};
    if (best_ < 0) return plan;
    const Label& last = label(best_);
    const sim::Progress& end = node_of(last).training.end;
    plan.time_s = last.time_s;
    plan.cost_usd = last.cost_usd;
    plan.accuracy = end.accuracy;
    plan.epochs = end.epochs;
    plan.feasible = std::get<0>(best_rank_) == 0;
    for (int at = best_; label(at).parent >= 0; at = label(at).parent) plan.stages.push_back(sheet_.held_by(label(at).held));
    std::reverse(plan.stages.begin(), plan.stages.end());
    return plan;
  }

  using Rank = std::tuple<int, double, double>;
  const StageProblem& problem_;
  sim::StageRunner& runner_;
  StageSheet sheet_;
  std::unique_ptr<StageFlows> flows_;
  std::vector<std::unique_ptr<StageBounds>> bounds_;
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
