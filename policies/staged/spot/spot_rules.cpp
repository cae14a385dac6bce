#include "policies/staged/spot/spot_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

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

std::unique_ptr<SpotPolicy> make_uniform_progress() { return std::make_unique<UniformProgress>(); }
std::unique_ptr<SpotPolicy> make_spot_greedy() { return std::make_unique<SpotGreedy>(); }
std::unique_ptr<SpotPolicy> make_on_demand() { return std::make_unique<OnDemand>(); }
std::unique_ptr<SpotPolicy> make_mean_planner(const MeanRuns* forecast) { return std::make_unique<MeanPlanner>(forecast); }

}  // namespace rehearse::policies
