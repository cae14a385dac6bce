#include "policies/configure/from_history.hpp"

#include <algorithm>

#include "policies/configure/menu.hpp"

namespace rehearse::policies {

bool FromHistory::allowed(const ConfigureView& view, const sim::Configuration& c) const {
  if (c == view.manual) return true;
  const sim::Group &group = c.groups.front(), &manual = view.manual.groups.front();
  switch (frozen_) {
    case Frozen::nothing:
      return true;
    case Frozen::batch:
      return c.batch_size() == view.manual.batch_size();
    case Frozen::resources:
      return group.pool == manual.pool && group.workers == manual.workers;
  }
  return false;
}

sim::Menu FromHistory::configure(const ConfigureView& view, const workloads::Belief& belief) {
  if (predictors_ == nullptr) predictors_ = std::make_unique<HistoryPredictors>(*view.history, view.cluster, belief, *learner_);
  std::vector<sim::Choice> choices;
  choices.reserve(view.candidates.size());
  for (const sim::Configuration& c : view.candidates) {
    if (!allowed(view, c)) continue;
    choices.push_back({.configuration = c, .predicted = predictors_->predict(view.job, c, view.costs)});
    if (c == view.manual &&
        !fits_memory(view.job, view.cluster, belief, c)) {  // the one of them that need not; no run can have told
      choices.back().predicted.feasible = false;
      choices.back().predicted.note = "does not fit memory";
    }
  }
  sim::Menu menu = rank(view.job, std::move(choices));
  if (!menu.feasible) {
    // Predictors that see no way say nothing about which failure is cheap: do what an experienced user would.
    const auto manual = std::find_if(menu.ranked.begin(), menu.ranked.end(),
                                     [&](const sim::Choice& c) { return c.configuration == view.manual; });
    if (manual != menu.ranked.end()) std::rotate(menu.ranked.begin(), manual, manual + 1);
  }
  return menu;
}

}  // namespace rehearse::policies
