#include "policies/staged/spot/zone_process.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::policies {

ZoneProcess ZoneProcess::fit(const std::vector<std::uint8_t>& series) {
  constexpr int kQuantiles = 65;
  std::vector<double> up, down;
  std::size_t begin = 0;
  for (std::size_t t = 1; t < series.size(); ++t) {
    if (series[t] == series[t - 1]) continue;
    if (begin > 0) (series[begin] != 0 ? up : down).push_back(static_cast<double>(t - begin));
    begin = t;
  }
  if (up.empty() || down.empty())
    throw sim::InputError(sim::Mistake{.expected = "a series with a whole run up and a whole run down", .found = "none"});
  ZoneProcess process;
  for (auto [runs, quantiles] : {std::pair(&up, &process.up_steps), std::pair(&down, &process.down_steps)})
    for (int q = 0; q < kQuantiles; ++q) quantiles->push_back(sim::quantile(*runs, static_cast<double>(q) / (kQuantiles - 1)));
  return process;
}

RunHazards hazards_of(const ZoneProcess& process) {
  const auto of = [](const std::vector<double>& quantiles) {
    // The share of runs of at most `steps`, of the lengths before rounding.
    const auto share_below = [&](double steps) {
      const std::size_t above =
          static_cast<std::size_t>(std::lower_bound(quantiles.begin(), quantiles.end(), steps) - quantiles.begin());
      if (above == 0) return 0.0;
      if (above == quantiles.size()) return 1.0;
      const double low = quantiles[above - 1], high = quantiles[above];
      return (static_cast<double>(above - 1) + (steps - low) / (high - low)) / static_cast<double>(quantiles.size() - 1);
    };
    std::vector<double> hazards;
    const auto longest = static_cast<int>(std::max(1.0, std::round(quantiles.back())));
    for (int length = 1; length <= longest; ++length) {
      const double lasts = length == 1 ? 1 : 1 - share_below(length - 0.5), goes_on = 1 - share_below(length + 0.5);
      hazards.push_back(lasts > 0 ? std::clamp(1 - goes_on / lasts, 0.0, 1.0) : 1);
    }
    return hazards;
  };
  return {.up = of(process.up_steps), .down = of(process.down_steps)};
}

std::vector<std::uint8_t> draw_zone(const ZoneProcess& process, RunFactors factors, int steps, sim::Random& random) {
  std::vector<std::uint8_t> series;
  const auto most = static_cast<std::size_t>(steps);
  for (bool up = random.uniform() < 0.5; series.size() < most; up = !up) {
    const double length = sim::quantile_of_ascending(up ? process.up_steps : process.down_steps, random.uniform()) *
                          (up ? factors.up : factors.down);
    const auto whole = static_cast<std::size_t>(std::clamp(std::round(length), 1.0, static_cast<double>(steps)));
    series.insert(series.end(), std::min(whole, most - series.size()), up ? 1 : 0);
  }
  return series;
}

std::vector<std::vector<std::uint8_t>> training_episodes(std::span<const std::vector<std::uint8_t>> series, std::uint64_t seed) {
  std::vector<std::vector<std::uint8_t>> episodes(series.begin(), series.end());
  for (std::size_t s = 0; s < series.size(); ++s) {
    const ZoneProcess process = ZoneProcess::fit(series[s]);
    sim::Random random(sim::stream_key(seed, s, "spot", "training"));
    for (int k = 0; k < kDrawnOfEach; ++k) {
      const RunFactors factors{random.log_normal_factor(kSpread), random.log_normal_factor(kSpread)};
      episodes.push_back(draw_zone(process, factors, kDrawnSteps, random));
    }
  }
  return episodes;
}

}  // namespace rehearse::policies
