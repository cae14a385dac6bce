#include "policies/staged/spot/spot_job.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// The zone that was up the longest; kWaits when none is.
int oldest_zone(std::span<const ZoneHistory> zones) {
  int best = kWaits;
  for (int z = 0; z < static_cast<int>(zones.size()); ++z)
    if (zones[static_cast<std::size_t>(z)].is_up &&
        (best < 0 || zones[static_cast<std::size_t>(z)].age > zones[static_cast<std::size_t>(best)].age))
      best = z;
  return best;
}

class UniformProgress final : public SpotPolicy {
 public:
  std::string_view name() const override { return "uniform-progress"; }
  void begin(const SpotTerms&) override { is_late_ = false; }
  int decide(const SpotView& view) override {
    const SpotTerms& terms = view.terms;
    if (view.state.mode >= 0) return view.state.mode;
    is_late_ = is_late_ || view.slack() <= 2 * terms.restart;
    if (is_late_) return kOnDemand;
    const auto has_done = [&](int time) {
      return static_cast<std::int64_t>(terms.work - view.state.work_left) * terms.deadline >=
             static_cast<std::int64_t>(time) * terms.work;
    };
    if (view.state.mode == kOnDemand) return has_done(view.state.time + 2 * terms.restart) ? oldest_zone(view.zones) : kOnDemand;
    const int zone = oldest_zone(view.zones);
    return zone >= 0 || has_done(view.state.time) ? zone : kOnDemand;
  }

 private:
  bool is_late_ = false;
};

class SpotGreedy final : public SpotPolicy {
 public:
  std::string_view name() const override { return "spot-greedy"; }
  int decide(const SpotView& view) override {
    if (view.state.mode != kWaits) return view.state.mode;
    return view.slack() <= 2 * view.terms.restart ? kOnDemand : oldest_zone(view.zones);
  }
};

class OnDemand final : public SpotPolicy {
 public:
  std::string_view name() const override { return "on-demand"; }
  int decide(const SpotView&) override { return kOnDemand; }
};

class MeanPlanner final : public SpotPolicy {
 public:
  explicit MeanPlanner(const MeanRuns* forecast) {
    if (forecast != nullptr) mean_ = *forecast;
  }
  std::string_view name() const override { return mean_ ? "staged-mpc" : "staged-mpc-without-forecasts"; }
  int decide(const SpotView& view) override {
    const int zone = view.state.mode >= 0 ? view.state.mode : oldest_zone(view.zones);
    const double waiting = plan_usd(view, zone >= 0, false), filling = plan_usd(view, zone >= 0, true);
    const double on_demand = (view.state.work_left + restart(view, kOnDemand)) * view.terms.on_demand_usd;
    if (on_demand < std::min(waiting, filling)) return kOnDemand;
    return zone >= 0 ? zone : waiting <= filling ? kWaits : kOnDemand;
  }

 private:
  static int restart(const SpotView& view, int mode) {
    return mode == view.state.mode ? view.state.restart_left : view.terms.restart;
  }

  /// Spot whenever it is there, in runs of the mean length; in the gaps on-demand nodes or none, and on-demand nodes at last.
  double plan_usd(const SpotView& view, bool up, bool fills) const {
    const SpotTerms& terms = view.terms;
    double work = view.state.work_left, slack = view.slack(), usd = 0;
    double restart_up = up ? restart(view, std::max(view.state.mode, 0)) : terms.restart;
    double restart_down = restart(view, kOnDemand);
    while (work > 0) {
      const double length = mean_ ? (up ? mean_->up : mean_->down) : std::numeric_limits<double>::infinity();
      const bool runs = up || fills;
      double& start = up ? restart_up : restart_down;
      if (slack - (runs ? start : length) < terms.restart)  // on-demand nodes to the end
        return usd + (work + restart_down) * terms.on_demand_usd;
      if (!runs) {
        slack -= length;
      } else {
        const double done = std::min(work, std::max(0.0, length - start)), idle = std::min(start, length);
        usd += (done + idle) * (up ? terms.spot_usd : terms.on_demand_usd);
        work -= done;
        slack -= idle;
        start = terms.restart;
      }
      up = !up;
    }
    return usd;
  }

  std::optional<MeanRuns> mean_;
};

}  // namespace

void ZoneHistory::see(bool up, bool is_first) {
  static const double weight = 1 - std::exp2(-1 / kRecentHalfLife);
  age = !is_first && up == is_up ? age + 1 : 0;
  is_up = up;
  recent += weight * ((up ? 1.0 : 0.0) - recent);
}

bool keeps_deadline(const SpotView& view, int mode) {
  if (mode == kOnDemand) return true;
  const bool waits = mode == kWaits;
  const int restart = waits ? 0 : mode == view.state.mode ? view.state.restart_left : view.terms.restart;
  const bool ends = !waits && restart == 0 && view.state.work_left == 1;
  return ends || view.slack() - (waits || restart > 0 ? 1 : 0) >= view.terms.restart;
}

SpotOutcome run_spot_job(const SpotTerms& terms, std::span<const SpotAvailability> zones, SpotPolicy& policy) {
  sim::check(terms.work > 0 && terms.slack() >= terms.restart, "a spot job that cannot keep its deadline");
  SpotState state{.work_left = terms.work};
  std::vector<ZoneHistory> seen(zones.size());
  SpotOutcome outcome;
  policy.begin(terms);
  for (; state.time < terms.deadline && state.work_left > 0; ++state.time) {
    for (std::size_t z = 0; z < zones.size(); ++z)
      seen[z].see(zones[z][static_cast<std::size_t>(state.time)] != 0, state.time == 0);
    if (state.mode >= 0 && !seen[static_cast<std::size_t>(state.mode)].is_up) {
      state.mode = kWaits;
      state.restart_left = 0;
    }
    const SpotView view{terms, state, seen};
    int mode = policy.decide(view);
    sim::check(
        mode >= kWaits && mode < static_cast<int>(zones.size()) && (mode < 0 || seen[static_cast<std::size_t>(mode)].is_up),
        "a spot policy chose a zone without capacity");
    if (!keeps_deadline(view, mode)) {
      ++outcome.overruled;
      mode = state.mode >= 0 && keeps_deadline(view, state.mode) ? state.mode : kOnDemand;
    }
    if (mode != state.mode) {
      state.restart_left = mode == kWaits ? 0 : terms.restart;
      outcome.starts += mode == kWaits ? 0 : 1;
      state.mode = mode;
    }
    if (mode == kWaits) {
      ++outcome.waited_steps;
      continue;
    }
    ++(mode == kOnDemand ? outcome.on_demand_steps : outcome.spot_steps);
    --(state.restart_left > 0 ? state.restart_left : state.work_left);
  }
  outcome.usd = outcome.spot_steps * terms.spot_usd + outcome.on_demand_steps * terms.on_demand_usd;
  outcome.kept = state.work_left == 0;
  return outcome;
}

double omniscient_usd(const SpotTerms& terms, std::span<const SpotAvailability> zones) {
  // Value of (mode, restart left) by slack, from the end back; modes are waiting, on demand, zones.
  constexpr float kNever = std::numeric_limits<float>::infinity();
  const int restarts = terms.restart + 1;
  const auto index = [&](int mode, int restart_left) {
    return static_cast<std::size_t>(mode == kWaits ? 0 : 1 + (mode + 1) * restarts + restart_left);
  };
  const auto slacks = static_cast<std::size_t>(terms.slack()) + 1;
  const std::size_t states = 1 + (zones.size() + 1) * static_cast<std::size_t>(restarts);
  std::vector<float> later(states * slacks, kNever), now(states * slacks, kNever);
  for (std::size_t s = 0; s < states; ++s) later[s * slacks] = 0;  // no time, no work
  for (int time = terms.deadline - 1; time >= 0; --time) {
    for (int slack = 0; slack <= terms.slack(); ++slack) {
      const auto here = static_cast<std::size_t>(slack);
      const int work_left = terms.deadline - time - slack;
      if (work_left <= 0 || work_left > terms.work) {
        for (std::size_t s = 0; s < states; ++s) now[s * slacks + here] = work_left <= 0 ? 0 : kNever;
        continue;
      }
      const auto without_progress = [&](std::size_t s) { return slack > 0 ? later[s * slacks + here - 1] : kNever; };
      const auto run = [&](int mode, int restart_left) {
        const double usd = mode == kOnDemand ? terms.on_demand_usd : terms.spot_usd;
        if (restart_left > 0) return static_cast<float>(usd) + without_progress(index(mode, restart_left - 1));
        return static_cast<float>(usd) + (work_left == 1 ? 0 : later[index(mode, 0) * slacks + here]);
      };
      float best = without_progress(0);
      for (int mode = kOnDemand; mode < static_cast<int>(zones.size()); ++mode)
        if (mode < 0 || zones[static_cast<std::size_t>(mode)][static_cast<std::size_t>(time)] != 0)
          best = std::min(best, run(mode, terms.restart));
      now[here] = best;
      for (int mode = kOnDemand; mode < static_cast<int>(zones.size()); ++mode) {
        const bool up = mode < 0 || zones[static_cast<std::size_t>(mode)][static_cast<std::size_t>(time)] != 0;
        for (int left = 0; left < restarts; ++left)
          now[index(mode, left) * slacks + here] = up ? std::min(best, run(mode, left)) : best;
      }
    }
    std::swap(now, later);
  }
  return later[slacks - 1];
}

std::unique_ptr<SpotPolicy> make_uniform_progress() { return std::make_unique<UniformProgress>(); }
std::unique_ptr<SpotPolicy> make_spot_greedy() { return std::make_unique<SpotGreedy>(); }
std::unique_ptr<SpotPolicy> make_on_demand() { return std::make_unique<OnDemand>(); }
std::unique_ptr<SpotPolicy> make_mean_planner(const MeanRuns* forecast) { return std::make_unique<MeanPlanner>(forecast); }

}  // namespace rehearse::policies
