#include "policies/staged/spot/spot_bound.hpp"

#include <algorithm>
#include <limits>

namespace rehearse::policies {

namespace {

/// What is known at a step: the zone's state, and what may follow it.
struct Step {
  bool is_up = false, next_is_up = false;
  double stays_up = 0;         ///< probability that the zone is up in the next step
  int if_up = 0, if_down = 0;  ///< the table's states then
};

std::vector<Step> steps_of(const SpotTerms& terms, SpotAvailability series, std::size_t begin, const RunHazards& hazards,
                           const SpotTable& table) {
  std::vector<Step> steps;
  ZoneHistory history;
  for (std::size_t t = 0; t < begin + static_cast<std::size_t>(terms.deadline); ++t) {
    history.see(series[t] != 0, t == 0);
    if (t < begin) continue;
    Step step{.is_up = history.is_up};
    const bool is_last = t + 1 == series.size();
    step.next_is_up = is_last ? history.is_up : series[t + 1] != 0;
    const double leaves = hazards.leaves(history.is_up, history.age);
    step.stays_up = history.is_up ? 1 - leaves : leaves;
    const auto state_if = [&](bool up) {
      ZoneHistory next = history;
      next.see(up, false);
      const std::vector<ZoneHistory> zones{next};
      return table.law().state(zones, 0);
    };
    step.if_up = state_if(true);
    step.if_down = state_if(false);
    steps.push_back(step);
  }
  return steps;
}

}  // namespace

double RunHazards::leaves(bool is_up, int age) const {
  const std::vector<double>& all = is_up ? up : down;
  return all[std::min(static_cast<std::size_t>(age), all.size() - 1)];
}

double dual_usd(const SpotTerms& terms, SpotAvailability series, std::size_t begin, const RunHazards& hazards,
                const SpotTable& table) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::vector<Step> steps = steps_of(terms, series, begin, hazards, table);
  // By slack: waiting, then on demand and spot, each with 0 .. restart steps of restart left.
  const auto slacks = static_cast<std::size_t>(terms.slack()) + 1, restarts = static_cast<std::size_t>(terms.restart) + 1;
  const auto index = [&](int mode, int restart_left) {
    return (mode == kWaits ? 0 : 1 + (mode == kOnDemand ? 0 : restarts) + static_cast<std::size_t>(restart_left)) * slacks;
  };
  std::vector<double> later((1 + 2 * restarts) * slacks, kNever), now = later;
  for (std::size_t s = 0; s < 1 + 2 * restarts; ++s) later[s * slacks] = 0;  // no time, no work
  for (int time = terms.deadline - 1; time >= 0; --time) {
    const Step& step = steps[static_cast<std::size_t>(time)];
    for (int slack = 0; slack <= terms.slack(); ++slack) {
      const auto here = static_cast<std::size_t>(slack);
      const int work_left = terms.deadline - time - slack;
      if (work_left <= 0 || work_left > terms.work) {
        for (std::size_t s = 0; s < 1 + 2 * restarts; ++s) now[s * slacks + here] = work_left <= 0 ? 0 : kNever;
        continue;
      }
      const auto take = [&](int mode, int restart_left) {
        const bool makes_progress = mode != kWaits && restart_left == 0;
        const int work = work_left - (makes_progress ? 1 : 0), left = slack - (makes_progress ? 0 : 1);
        const int restart = std::max(0, restart_left - 1);
        if (work > 0 && (left < 0 || (mode != kOnDemand && left < terms.restart))) return kNever;  // the mask
        const double price = mode == kWaits ? 0 : mode == kOnDemand ? terms.on_demand_usd : terms.spot_usd;
        if (work == 0) return price;
        const auto worth = [&](bool up) {
          const int state = up ? step.if_up : step.if_down, as = mode >= 0 && !up ? kWaits : mode;
          const int starts = as == kWaits ? 0 : restart;
          return starts * price + table.value(work, left - starts, as, state);
        };
        const double surprise = (step.stays_up - (step.next_is_up ? 1 : 0)) * (worth(true) - worth(false));
        const int then = mode >= 0 && !step.next_is_up ? kWaits : mode;
        return price + surprise + later[index(then, then == kWaits ? 0 : restart) + static_cast<std::size_t>(left)];
      };
      double best = std::min(take(kWaits, 0), take(kOnDemand, terms.restart));
      if (step.is_up) best = std::min(best, take(0, terms.restart));
      now[here] = best;
      for (int left = 0; left <= terms.restart; ++left) {
        now[index(kOnDemand, left) + here] = std::min(best, take(kOnDemand, left));
        now[index(0, left) + here] = step.is_up ? std::min(best, take(0, left)) : best;
      }
    }
    std::swap(now, later);
  }
  return later[slacks - 1];
}

}  // namespace rehearse::policies
