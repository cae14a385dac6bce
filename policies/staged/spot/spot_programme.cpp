#include "policies/staged/spot/spot_programme.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr float kNever = 1e30F;  ///< of what could break the deadline; finite, so that a product with 0 is 0

/// Values of the three modes without restart left, by slack and state with drawn ones; of one amount of work.
struct Values {
  std::vector<float> waits, on_demand, spot;
  explicit Values(std::size_t size) : waits(size), on_demand(size), spot(size) {}
};

float mean(std::span<const ZonesLaw::Step> steps, const float* values) {
  float sum = 0;
  for (const ZonesLaw::Step& step : steps) sum += step.probability * values[step.to];
  return sum;
}

}  // namespace

SpotTable::SpotTable(const ZoneLaw& zone, int zones, const SpotTerms& terms, bool keeps_values)
    : law_(zone, zones), terms_(terms) {
  sim::check(terms.work > 0 && terms.restart > 0 && terms.slack() >= terms.restart, "a spot job that cannot keep its deadline");
  solve(keeps_values);
}

void SpotTable::solve(bool keeps_values) {
  const auto states = static_cast<std::size_t>(law_.states()), wide = static_cast<std::size_t>(law_.with_drawn());
  const int most_slack = terms_.slack(), restart = terms_.restart;
  const auto rows = static_cast<std::size_t>(most_slack) + 1;
  const auto spot_usd = static_cast<float>(terms_.spot_usd), on_demand_usd = static_cast<float>(terms_.on_demand_usd);
  choices_.assign((static_cast<std::size_t>(terms_.work) + 1) * rows * states, 0);
  for (std::vector<float>& values : values_)
    if (keeps_values) values.assign(choices_.size(), 0);
  Values less(rows * wide), now(rows * wide);  // with one step of work less, and with this work
  // With 1 .. restart - 1 steps of restart left, at one less slack and at this.
  using ByRestart = std::vector<std::vector<float>>;
  const ByRestart none(static_cast<std::size_t>(restart), std::vector<float>(wide, kNever));
  for (int work = 1; work <= terms_.work; ++work) {
    ByRestart on_demand_before = none, spot_before = none, on_demand_here = none, spot_here = none;
    for (int slack = 0; slack <= most_slack; ++slack) {
      const std::size_t row = static_cast<std::size_t>(slack) * wide;
      const float* waits_before = slack > 0 ? &now.waits[row - wide] : none[0].data();
      on_demand_before[0].assign(slack > 0 ? &now.on_demand[row - wide] : none[0].data(),
                                 slack > 0 ? &now.on_demand[row] : none[0].data() + wide);
      spot_before[0].assign(slack > 0 ? &now.spot[row - wide] : none[0].data(),
                            slack > 0 ? &now.spot[row] : none[0].data() + wide);
      const bool may_lose = slack - 1 >= restart;  // a step without progress, and on-demand nodes are in time yet
      for (std::size_t s = 0; s < states; ++s) {
        const int state = static_cast<int>(s);
        const bool up = law_.is_up(state);
        const auto starting = [&](int left, bool spot) {
          const auto next = static_cast<std::size_t>(left - 1);
          if (!spot) return slack >= left ? on_demand_usd + mean(law_.idle(state), on_demand_before[next].data()) : kNever;
          if (!up || !may_lose) return kNever;
          return spot_usd + mean(law_.kept(state), spot_before[next].data()) + mean(law_.revoked(state), waits_before);
        };
        for (int left = 1; left < restart; ++left) {
          on_demand_here[static_cast<std::size_t>(left)][s] = starting(left, false);
          spot_here[static_cast<std::size_t>(left)][s] = starting(left, true);
        }
        const float wait = may_lose ? mean(law_.idle(state), waits_before) : kNever;
        const float to_spot = starting(restart, true), to_on_demand = starting(restart, false);
        const float on_demand = on_demand_usd + (work == 1 ? 0 : mean(law_.idle(state), &less.on_demand[row]));
        float spot = kNever;
        if (up && work == 1)
          spot = spot_usd;
        else if (up && slack >= restart)
          spot = spot_usd + mean(law_.kept(state), &less.spot[row]) + mean(law_.revoked(state), &less.waits[row]);
        std::uint8_t choice = 0;
        // 0 waits, 1 on demand, 2 spot; equal values: what needs no start, then spot.
        const auto choose = [&](int shift, std::array<float, 3> values, std::array<std::uint8_t, 3> order) {
          std::uint8_t best = order[0];
          for (const std::uint8_t other : order)
            if (values[other] < values[best]) best = other;
          if (values[best] >= kNever / 2) best = 1;
          choice = static_cast<std::uint8_t>(choice | best << shift);
          return values[best];
        };
        now.waits[row + s] = choose(0, {wait, to_on_demand, to_spot}, {2, 0, 1});
        now.on_demand[row + s] = choose(2, {wait, on_demand, to_spot}, {1, 2, 0});
        now.spot[row + s] = choose(4, {wait, to_on_demand, spot}, {2, 0, 1});
        choices_[at(work, slack, state)] = choice;
        if (keeps_values) {
          values_[0][at(work, slack, state)] = now.waits[row + s];
          values_[1][at(work, slack, state)] = now.on_demand[row + s];
          values_[2][at(work, slack, state)] = now.spot[row + s];
        }
      }
      for (std::vector<float>* values : {&now.waits, &now.on_demand}) law_.extend(values->data() + row);
      for (int left = 1; left < restart; ++left) law_.extend(on_demand_here[static_cast<std::size_t>(left)].data());
      std::swap(on_demand_before, on_demand_here);
      std::swap(spot_before, spot_here);
    }
    std::swap(less, now);
  }
  for (std::size_t slack = 0; slack < rows; ++slack)
    at_start_.insert(at_start_.end(), less.waits.begin() + static_cast<std::ptrdiff_t>(slack * wide),
                     less.waits.begin() + static_cast<std::ptrdiff_t>(slack * wide + states));
}

int SpotTable::choice(int work_left, int slack, int mode, int state) const {
  sim::check(work_left <= terms_.work && slack <= terms_.slack(), "a spot job beyond its table");
  if (slack < 0) return kOnDemand;
  return (choices_[at(work_left, slack, state)] >> (mode == kWaits ? 0 : mode == kOnDemand ? 2 : 4) & 3) - 2;
}

double SpotTable::value(int work_left, int slack, int mode, int state) const {
  if (work_left == 0) return 0;
  const std::vector<float>& values = values_[mode == kWaits ? 0 : mode == kOnDemand ? 1 : 2];
  sim::check(!values.empty() && work_left <= terms_.work && slack <= terms_.slack(), "a value that a spot table has not kept");
  const float value = slack < 0 ? kNever : values[at(work_left, slack, state)];
  return value < kNever / 2 ? value : terms_.on_demand_usd * (work_left + (mode == kOnDemand ? 0 : terms_.restart));
}

double SpotTable::expected_usd(int slack, int state) const {
  return at_start_.at(static_cast<std::size_t>(slack) * static_cast<std::size_t>(law_.states()) +
                      static_cast<std::size_t>(state));
}

namespace {

class TablePolicy final : public SpotPolicy {
 public:
  TablePolicy(std::string name, std::shared_ptr<const SpotTable> table) : name_(std::move(name)), table_(std::move(table)) {}
  std::string_view name() const override { return name_; }
  int decide(const SpotView& view) override {
    if (view.state.restart_left > 0) return view.state.mode;
    const int zone = view.state.mode >= 0 ? view.state.mode : table_->law().best_zone(view.zones);
    const int choice = table_->choice(view.state.work_left, view.slack(), view.state.mode, table_->law().state(view.zones, zone));
    return choice == 0 ? zone : choice;
  }

 private:
  std::string name_;
  std::shared_ptr<const SpotTable> table_;
};

}  // namespace

std::unique_ptr<SpotPolicy> make_table_policy(std::string name, std::shared_ptr<const SpotTable> table) {
  return std::make_unique<TablePolicy>(std::move(name), std::move(table));
}

}  // namespace rehearse::policies
