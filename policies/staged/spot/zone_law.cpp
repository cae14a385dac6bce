#include "policies/staged/spot/zone_law.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

template <class Value>
int bin_of(const std::vector<Value>& ends, Value value) {
  return static_cast<int>(std::lower_bound(ends.begin(), ends.end(), value) - ends.begin());
}

using Counts = std::map<int, double>;

std::vector<ClassStep> shares(const Counts& counts) {
  double sum = 0;
  for (const auto& [to, count] : counts) sum += count;
  std::vector<ClassStep> steps;
  for (const auto& [to, count] : counts)
    if (count > 0) steps.push_back({to, count / sum});
  return steps;
}

/// Counts of one zone's classes over series.
struct Counted {
  std::vector<Counts> steps, rough_steps, of_rough;
  Counts fresh;
  std::vector<double> lasts, seen;

  explicit Counted(const ZoneClasses& classes)
      : steps(static_cast<std::size_t>(classes.count())),
        rough_steps(static_cast<std::size_t>(classes.rough_count())),
        of_rough(rough_steps.size()),
        lasts(steps.size()),
        seen(steps.size()) {}

  void add(const ZoneClasses& classes, const std::vector<std::uint8_t>& series) {
    constexpr int kMostLasting = 160;  // steps: beyond, longer is no better
    std::vector<int> left(series.size());
    for (std::size_t t = series.size() - 1; t-- > 0;) left[t] = series[t] == series[t + 1] ? left[t + 1] + 1 : 0;
    ZoneHistory history;
    int before = -1;
    for (std::size_t t = 0; t < series.size(); ++t) {
      const bool was_up = history.is_up;
      history.see(series[t] != 0, t == 0);
      const int now = classes.of(history);
      const auto at = static_cast<std::size_t>(now);
      lasts[at] += (history.is_up ? 1 : -1) * std::min(left[t], kMostLasting);
      ++seen[at];
      ++of_rough[static_cast<std::size_t>(classes.rough_of(now))][now];
      if (before >= 0) {
        ++steps[static_cast<std::size_t>(before)][now];
        ++rough_steps[static_cast<std::size_t>(classes.rough_of(before))][classes.rough_of(now)];
        if (history.is_up && !was_up) ++fresh[now];
      }
      before = now;
    }
  }
};

}  // namespace

int ZoneClasses::of(const ZoneHistory& history) const {
  const int bins = static_cast<int>(recent.size()) + 1;
  return (history.is_up ? ages_and_recent() : 0) + bin_of(ages, history.age) * bins + bin_of(recent, history.recent);
}

int ZoneClasses::rough_of(int of_class) const {
  const int up = is_up(of_class) ? 1 : 0;
  if (rough_age < 0) return up;
  const int age_bin = of_class % ages_and_recent() / (static_cast<int>(recent.size()) + 1);
  return 2 * up + (age_bin > bin_of(ages, rough_age) ? 1 : 0);
}

namespace {

struct FirstOrder {
  double goes_down = 0, comes_up = 0;
};

ZoneLaw law_of(const ZoneClasses& classes, const FirstOrder& rates, Counted counted, double behind) {
  ZoneLaw law{.classes = classes, .goes_down = rates.goes_down, .comes_up = rates.comes_up};
  const int fresh_up = classes.of({.is_up = true, .age = 0}), fresh_down = classes.of({.is_up = false, .age = 0});
  const auto put_behind = [&](bool is_up, int itself, int other, Counts& counts) {
    const double leaves = is_up ? law.goes_down : law.comes_up;
    counts[itself] += behind * (1 - leaves);
    counts[other] += behind * leaves;
  };
  for (int c = 0; c < classes.count(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    put_behind(classes.is_up(c), c, classes.is_up(c) ? fresh_down : fresh_up, counted.steps[at]);
    law.steps.push_back(shares(counted.steps[at]));
    const double first_order = classes.is_up(c) ? 1 / law.goes_down : -1 / law.comes_up;
    law.lasts_steps.push_back((counted.lasts[at] + behind * std::clamp(first_order, -160.0, 160.0)) /
                              (counted.seen[at] + behind));
  }
  for (int r = 0; r < classes.rough_count(); ++r) {
    const auto at = static_cast<std::size_t>(r);
    const bool is_up = classes.rough_is_up(r);
    put_behind(is_up, r, classes.rough_of(is_up ? fresh_down : fresh_up), counted.rough_steps[at]);
    law.rough_steps.push_back(shares(counted.rough_steps[at]));
    for (int c = 0; c < classes.count() && counted.of_rough[at].empty(); ++c)
      if (classes.rough_of(c) == r) counted.of_rough[at][c] = 1;
    law.of_rough.push_back(shares(counted.of_rough[at]));
  }
  if (counted.fresh.empty()) counted.fresh[fresh_up] = 1;
  law.fresh = shares(counted.fresh);
  return law;
}

}  // namespace

ZoneLaw ZoneLaw::fit(const ZoneClasses& classes, std::span<const std::vector<std::uint8_t>> series, bool learns, double behind) {
  double up = 0, down = 0, revocations = 0, arrivals = 0;
  for (const std::vector<std::uint8_t>& one : series) {
    for (std::size_t t = 1; t < one.size(); ++t) {
      ++(one[t - 1] != 0 ? up : down);
      if (one[t - 1] != one[t]) ++(one[t] != 0 ? arrivals : revocations);
    }
  }
  if (revocations == 0 || arrivals == 0)
    throw sim::InputError(sim::Mistake{.expected = "availability that changes, both ways", .found = "series that do not"});
  Counted counted(classes);
  if (learns)
    for (const std::vector<std::uint8_t>& one : series)
      if (!one.empty()) counted.add(classes, one);
  return law_of(classes, {.goes_down = revocations / up, .comes_up = arrivals / down}, std::move(counted), behind);
}

ZoneLaw ZoneLaw::of_rates(double goes_down, double comes_up) {
  constexpr double kAlone = 1;  // nothing was counted
  return law_of({}, {goes_down, comes_up}, Counted({}), kAlone);
}

ZonesLaw::ZonesLaw(const ZoneLaw& zone, int zones) : zone_(zone) {
  sim::check(zones >= 1, "a law of no zone");
  std::vector<int> members(static_cast<std::size_t>(zones - 1), 0);
  for (bool more = true; more;) {
    members_.push_back(members);
    std::size_t at = members.size();
    while (at > 0 && members[at - 1] == zone_.classes.rough_count() - 1) --at;
    more = at > 0;
    if (more) std::fill(members.begin() + static_cast<std::ptrdiff_t>(at) - 1, members.end(), members[at - 1] + 1);
  }
  drawn_index_.assign(static_cast<std::size_t>((zone_.classes.rough_count() + 1) * others()), -1);
  for (int c = 0; c < zone_.classes.count(); ++c)
    for (int o = 0; o < others(); ++o) add_steps(c, o);
}

int ZonesLaw::index_of(std::vector<int> members) const {
  std::sort(members.begin(), members.end());
  return static_cast<int>(std::find(members_.begin(), members_.end(), members) - members_.begin());
}

void ZonesLaw::add_steps(int of_class, int others_index) {
  const std::vector<int>& before = members_[static_cast<std::size_t>(others_index)];
  const ZoneClasses& classes = zone_.classes;
  const int fresh = classes.rough_count();  // the place of freshly up zones beside the rough classes
  std::map<int, double> idle, kept, revoked;
  const auto drawn = [&](int rough, const std::vector<int>& members) {
    const int others_after = index_of(members);
    int& index = drawn_index_[static_cast<std::size_t>(rough * others() + others_after)];
    if (index < 0) {
      index = static_cast<int>(drawn_.size());
      std::vector<Step> steps;
      for (const ClassStep& step : rough == fresh ? zone_.fresh : zone_.of_rough[static_cast<std::size_t>(rough)])
        steps.push_back({step.to * others() + others_after, static_cast<float>(step.probability)});
      drawn_.push_back(std::move(steps));
    }
    return states() + index;
  };
  std::vector<int> after(before.size());
  const auto settle = [&](int now, double probability) {
    // The best of the others that are up: those that were up before, then those that just came; of each the older.
    std::size_t best = after.size();
    const auto rank = [&](std::size_t i) {
      return classes.rough_is_up(after[i]) ? (classes.rough_is_up(before[i]) ? 2 + after[i] : 1) : 0;
    };
    for (std::size_t i = 0; i < after.size(); ++i)
      if (rank(i) > (best == after.size() ? 0 : rank(best))) best = i;
    const bool stays = classes.is_up(now) || best == after.size();
    int to = now * others() + index_of(after);
    if (!stays) {
      std::vector<int> left = after;
      left[best] = classes.rough_of(now);
      to = drawn(classes.rough_is_up(before[best]) ? after[best] : fresh, left);
    }
    idle[to] += probability;
    if (classes.is_up(of_class)) (classes.is_up(now) ? kept : revoked)[to] += probability;
  };
  const auto each_other = [&](auto&& self, std::size_t i, int now, double probability) -> void {
    if (i == before.size()) return settle(now, probability);
    for (const ClassStep& step : zone_.rough_steps[static_cast<std::size_t>(before[i])]) {
      after[i] = step.to;
      self(self, i + 1, now, probability * step.probability);
    }
  };
  for (const ClassStep& step : zone_.steps[static_cast<std::size_t>(of_class)])
    each_other(each_other, 0, step.to, step.probability);
  const auto list = [](const std::map<int, double>& steps) {
    std::vector<Step> all;
    for (const auto& [to, probability] : steps) all.push_back({to, static_cast<float>(probability)});
    return all;
  };
  idle_.push_back(list(idle));
  kept_.push_back(list(kept));
  revoked_.push_back(list(revoked));
}

void ZonesLaw::extend(float* values) const {
  for (std::size_t d = 0; d < drawn_.size(); ++d) {
    float mean = 0;
    for (const Step& step : drawn_[d]) mean += step.probability * values[step.to];
    values[static_cast<std::size_t>(states()) + d] = mean;
  }
}

int ZonesLaw::best_zone(std::span<const ZoneHistory> zones) const {
  const auto worth = [&](std::size_t z) { return zone_.lasts_steps[static_cast<std::size_t>(zone_.classes.of(zones[z]))]; };
  std::size_t best = 0;
  for (std::size_t z = 1; z < zones.size(); ++z) {
    const bool more_up = zones[z].is_up && !zones[best].is_up;
    if (more_up || (zones[z].is_up == zones[best].is_up && worth(z) > worth(best))) best = z;
  }
  return static_cast<int>(best);
}

int ZonesLaw::state(std::span<const ZoneHistory> zones, int zone) const {
  std::vector<int> members;
  for (int z = 0; z < static_cast<int>(zones.size()); ++z)
    if (z != zone) members.push_back(zone_.classes.rough_of(zone_.classes.of(zones[static_cast<std::size_t>(z)])));
  return zone_.classes.of(zones[static_cast<std::size_t>(zone)]) * others() + index_of(std::move(members));
}

}  // namespace rehearse::policies
