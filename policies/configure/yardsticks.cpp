#include "policies/configure/yardsticks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/configure/menu.hpp"

namespace rehearse::policies {

namespace {

/// All candidates ranked by the belief, and how many of them are feasible.
std::pair<sim::Menu, std::size_t> ranked_by_belief(const ConfigureView& view) {
  std::vector<sim::Choice> choices;
  for (const sim::Configuration& c : view.candidates) choices.push_back({.configuration = c, .predicted = view.estimate(c)});
  sim::Menu menu = rank(view.job, std::move(choices));
  const auto feasible =
      std::count_if(menu.ranked.begin(), menu.ranked.end(), [](const sim::Choice& c) { return c.predicted.feasible; });
  return {std::move(menu), static_cast<std::size_t>(feasible)};
}

}  // namespace

sim::Menu RandomFeasible::configure(const ConfigureView& view, const workloads::Belief&) {
  auto [menu, feasible] = ranked_by_belief(view);
  sim::Random random(view.random_key);
  random.shuffle(std::span(menu.ranked.own()).first(feasible));
  return menu;
}

sim::Menu MedianFeasible::configure(const ConfigureView& view, const workloads::Belief&) {
  auto [menu, feasible] = ranked_by_belief(view);
  if (feasible > 0) {
    const auto middle = menu.ranked.begin() + static_cast<std::ptrdiff_t>((feasible - 1) / 2);
    std::rotate(menu.ranked.begin(), middle, middle + 1);
  }
  return menu;
}

std::optional<sim::Choice> tried(const sim::Job& job, const sim::Configuration& configuration, double epochs,
                                 const workloads::World& world, sim::AloneRunner& truth) {
  sim::Choice choice{.configuration = configuration};
  sim::Prediction& p = choice.predicted;
  p.epochs = epochs;
  const sim::AloneOutcome outcome = truth.run(job, choice);
  if (!outcome.fits) return {};
  if (job.stop != sim::Stop::budget) p.epochs = outcome.epochs;
  p.time_s = outcome.time_s;
  p.cost_usd = outcome.cost_usd;
  p.accuracy = outcome.accuracy;
  p.feasible = outcome.failure == sim::FailureReason::none;
  if (job.has_target() && outcome.accuracy == outcome.accuracy) {
    // A floor counts as kept within two standard deviations of an evaluation.
    const double deviation = world.models().convergence->evaluation_deviation(*job.profile, outcome.accuracy);
    if (outcome.accuracy >= job.target_accuracy - 2 * deviation) p.accuracy = std::max(p.accuracy, job.target_accuracy);
  }
  return choice;
}

namespace {

/// The jobs are like this one in all but their noise, and the same for all candidates: what differs is the candidates'.
class LikeIt {
 public:
  LikeIt(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth)
      : view_(view), world_(world), truth_(truth) {
    sim::Choice manual{.configuration = view.manual};
    manual.predicted.epochs = view.estimate(view.manual).epochs;  // a budget's
    for (int i = 0; i < kLikeIt; ++i) {
      jobs_.push_back(view.job);
      jobs_.back().name = fmt::format("like it/{}", i);
      const sim::AloneOutcome again = truth.run_until_it_fits(jobs_.back(), manual);
      again_usd_.push_back(again.fits ? again.cost_usd : 0);
    }
  }

  /// Means. Feasible where most of them keep their limits; nothing where one does not fit.
  std::optional<sim::Choice> tried(const sim::Configuration& configuration) const {
    sim::Choice choice{.configuration = configuration};
    sim::Prediction& mean = choice.predicted;
    mean.time_s = mean.accuracy = mean.epochs = mean.cost_usd = mean.ranked_cost_usd = 0;
    const double part = 1.0 / kLikeIt, epochs = view_.estimate(configuration).epochs;
    int kept = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const auto run = policies::tried(jobs_[i], configuration, epochs, world_, truth_);
      if (!run) return {};
      const sim::Prediction& p = run->predicted;
      const bool keeps = p.feasible && keeps_limits(jobs_[i], p);
      kept += keeps;
      mean.time_s += part * p.time_s;
      mean.accuracy += part * p.accuracy;
      mean.epochs += part * p.epochs;
      mean.cost_usd += part * p.cost_usd;
      mean.ranked_cost_usd += part * (p.cost_usd + (keeps ? 0 : again_usd_[i]));
    }
    mean.feasible = 2 * kept > kLikeIt;
    return choice;
  }

 private:
  const ConfigureView& view_;
  const workloads::World& world_;
  sim::AloneRunner& truth_;
  std::vector<sim::Job> jobs_;
  std::vector<double> again_usd_;  ///< what a broken limit is charged with
};

}  // namespace

sim::Menu Oracle::configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) {
  // Of rigid work nothing is this job's alone: its duration is written down.
  if (knows_ != Foresight::everything && view.job.work != sim::Work::rigid) {
    const LikeIt like_it(view, world, truth);
    std::vector<sim::Choice> choices;
    for (const sim::Configuration& c : view.candidates)
      if (auto choice = like_it.tried(c)) choices.push_back(std::move(*choice));
    if (view.job.objective != sim::Objective::min_cost) return rank(view.job, std::move(choices));
    // A broken limit is paid for, so that no other order comes first.
    std::ranges::stable_sort(choices, {}, [](const sim::Choice& c) { return c.predicted.ranked_cost_usd; });
    sim::Menu menu;
    menu.feasible = !choices.empty() && choices.front().predicted.feasible;
    for (sim::Choice& c : choices) menu.ranked.push_back(std::move(c));
    return menu;
  }
  std::vector<sim::Choice> choices;
  for (const sim::Configuration& c : view.candidates)
    if (auto choice = tried(view.job, c, view.estimate(c).epochs, world, truth)) choices.push_back(std::move(*choice));
  return rank(view.job, std::move(choices));
}

}  // namespace rehearse::policies
