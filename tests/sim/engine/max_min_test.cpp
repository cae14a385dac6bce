#include "sim/engine/max_min.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <set>

#include "sim/base/random.hpp"

using namespace rehearse::sim;

namespace {

struct Flow {
  std::vector<std::int32_t> links;
  double cap;
};

/// All flows grow together until a link or a cap holds some; in steps of the smallest slack. Plain and slow.
std::vector<double> water_filling(const std::vector<double>& capacities, const std::vector<Flow>& flows) {
  std::vector<double> rate(flows.size());
  std::vector<bool> held(flows.size());
  for (;;) {
    double step = std::numeric_limits<double>::infinity();
    std::vector<double> left = capacities, growing(capacities.size());
    for (std::size_t f = 0; f < flows.size(); ++f)
      for (const int link : flows[f].links) {
        left[link] -= rate[f];
        if (!held[f]) ++growing[link];
      }
    for (std::size_t l = 0; l < left.size(); ++l)
      if (growing[l] > 0) step = std::min(step, left[l] / growing[l]);
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (!held[f]) step = std::min(step, flows[f].cap - rate[f]);
    if (std::isinf(step)) return rate;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (held[f]) continue;
      rate[f] += step;
      held[f] = rate[f] >= flows[f].cap * (1 - 1e-12);
    }
    for (std::size_t f = 0; f < flows.size(); ++f)
      for (const int link : flows[f].links)
        if (left[link] - growing[link] * step <= 1e-12 * capacities[link]) held[f] = true;
  }
}

}  // namespace

TEST_CASE("max-min by hand") {
  // Links of 10 and 4. A over both, B over the first, C over the second: the second gives A and C 2 each; B takes 10 - 2 = 8.
  MaxMin rates(std::vector{10.0, 4.0});
  const int a = rates.add_group(std::vector{0, 1}), b = rates.add_group(std::vector{0}), c = rates.add_group(std::vector{1});
  for (const int group : {a, b, c}) rates.set_flows(group, 1);
  CHECK(rates.solve().size() == 3);
  CHECK(rates.rate(a) == 2);
  CHECK(rates.rate(b) == 8);
  CHECK(rates.rate(c) == 2);
  // C becomes three flows: 1 each with A; B 9.
  rates.set_flows(c, 3);
  rates.solve();
  CHECK(rates.rate(a) == 1);
  CHECK(rates.rate(b) == 9);
  CHECK(rates.rate(c) == 1);
  // Without A: B 10, C 4/3; and nothing changes when nothing changed.
  rates.set_flows(a, 0);
  rates.solve();
  CHECK(rates.rate(b) == 10);
  CHECK(rates.rate(c) == Approx(4.0 / 3).epsilon(1e-15));
  CHECK(rates.solve().empty());
}

TEST_CASE("a capped flow leaves the rest to others") {
  // A link of 10, caps 1 and 4: 1, then 4, the third takes 5. With caps above the fair share of 10/3 they do not matter.
  MaxMin rates(std::vector{10.0});
  const int a = rates.add_group(std::vector{0}, 1), b = rates.add_group(std::vector{0}, 4), c = rates.add_group(std::vector{0});
  for (const int group : {a, b, c}) rates.set_flows(group, 1);
  rates.solve();
  CHECK(rates.rate(a) == 1);
  CHECK(rates.rate(b) == 4);
  CHECK(rates.rate(c) == 5);
}

TEST_CASE("against water filling, through arrivals and departures") {
  rc::prop("any links and flows", [](std::uint64_t seed) {
    Random random(seed);
    std::vector<double> capacities(1 + random.below(12));
    for (double& capacity : capacities) capacity = random.below(2) == 0 ? 8 : random.uniform(1, 20);
    MaxMin rates(capacities);
    std::vector<Flow> ways;
    std::vector<int> count;
    for (std::uint64_t g = 1 + random.below(60); g > 0; --g) {
      std::set<std::int32_t> links;
      for (std::uint64_t l = 1 + random.below(4); l > 0; --l)
        links.insert(static_cast<std::int32_t>(random.below(capacities.size())));
      ways.push_back({{links.begin(), links.end()}, random.below(3) == 0 ? random.uniform(0.1, 5) : 1e300});
      rates.add_group(ways.back().links, ways.back().cap < 1e300 ? ways.back().cap : std::numeric_limits<double>::infinity());
      count.push_back(0);
    }
    for (int round = 0; round < 8; ++round) {
      for (std::uint64_t changes = 1 + random.below(6); changes > 0; --changes) {
        const auto g = static_cast<int>(random.below(ways.size()));
        rates.set_flows(g, count[g] = static_cast<int>(random.below(4)));
      }
      rates.solve();
      std::vector<Flow> flows;
      for (std::size_t g = 0; g < ways.size(); ++g) flows.insert(flows.end(), count[g], ways[g]);
      const std::vector<double> expected = water_filling(capacities, flows);
      for (std::size_t g = 0, f = 0; g < ways.size(); f += count[g++])
        if (count[g] > 0) RC_ASSERT(std::abs(rates.rate(static_cast<int>(g)) - expected[f]) <= 1e-9 * expected[f]);
    }
    rates.clear();
    rates.set_flows(0, 1);
    rates.solve();
    double alone = ways[0].cap;
    for (const int link : ways[0].links) alone = std::min(alone, capacities[link]);
    RC_ASSERT(rates.rate(0) == alone);
  });
}
