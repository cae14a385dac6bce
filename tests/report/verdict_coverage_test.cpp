// How often the verdict is wrong, by simulation: jobs of several models, each of which breaks limits with its own luck.
#include <catch2/catch.hpp>
#include <cmath>

#include "report/verdict.hpp"
#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::report;

namespace {

/// One repetition's share of broken limits: in each model with probability `share / together` a part `together` of its jobs is
/// broken, else none (together = 1: a model's jobs break all or not at all).
double draw_share(sim::Random& random, int models, double share, double together) {
  double sum = 0;
  for (int m = 0; m < models; ++m) sum += random.uniform() < share / together ? together : 0;
  return sum / models;
}

struct World {
  int repetitions, models, policies;
  double reference_share, more, together;
};

/// How often somebody qualifies of `policies` that each break `more` more than allowed a part of limits than the reference.
double wrongly_qualified(const World& w, int trials) {
  int wrong = 0;
  for (int trial = 0; trial < trials; ++trial) {
    sim::Random random(sim::stream_key(20261121, static_cast<std::uint64_t>(trial), "coverage", "verdict"));
    VerdictInput input{.policies = {{.name = "manual"}}, .reference = "manual", .unit_share = 1.0 / w.models};
    for (int p = 0; p < w.policies; ++p) input.policies.push_back({.name = "p" + std::to_string(p)});
    for (int r = 0; r < w.repetitions; ++r)
      for (std::size_t p = 0; p < input.policies.size(); ++p)
        input.policies[p].repetitions.push_back(
            {draw_share(random, w.models, w.reference_share + (p == 0 ? 0 : w.more), w.together), 1});
    const RunVerdict verdict = judge(input);
    bool any = false;
    for (std::size_t p = 1; p < verdict.policies.size(); ++p) any |= verdict.policies[p].keeping == Keeping::yes;
    wrong += any;
  }
  return static_cast<double>(wrong) / trials;
}

}  // namespace

TEST_CASE("at most 5 % of the verdicts qualify somebody who breaks more than a point too many") {
  // The worst case is just above a point. 1,000 trials: 5 % + 3 sqrt(0.05 x 0.95 / 1000) = 7.1 %.
  constexpr int kTrials = 1000;
  for (const int repetitions : {5, 30, 70, 200, 1000})
    for (const int models : {1, 6})
      for (const double together : {1.0, 0.3})
        for (const int policies : {1, 4})
          for (const double reference : {0.0, 0.03}) {
            if (repetitions == 1000 && (policies > 1 || models > 1)) continue;
            const World world{repetitions, models, policies, reference, 0.0101, together};
            CAPTURE(repetitions, models, together, policies, reference);
            CHECK(wrongly_qualified(world, kTrials) <= 0.071);
          }
}

TEST_CASE("who keeps limits as well does qualify, given repetitions") {
  // As many as the rule needs where nothing breaks; twice as many where a model's jobs break in one repetition of a hundred.
  const double needed = fewest_repetitions(1, 1.0 / 6);
  CHECK(wrongly_qualified({static_cast<int>(needed), 6, 1, 0, 0, 1}, 50) == 1);
  CHECK(wrongly_qualified({static_cast<int>(needed) - 1, 6, 1, 0, 0, 1}, 50) == 0);
  CHECK(wrongly_qualified({400, 6, 1, 0.01, 0, 1}, 500) > 0.5);
}

TEST_CASE("at most 5 % of the verdicts name a winner that is not among the cheapest") {
  // Three policies of the same true cost, and one 10 % dearer that is noisy: the winner of three equals is wrong in any case.
  constexpr int kTrials = 1000;
  for (const int repetitions : {3, 10, 60}) {
    int wrong = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      sim::Random random(sim::stream_key(7, static_cast<std::uint64_t>(trial), "coverage", "costs"));
      VerdictInput input{.policies = {{.name = "manual"}, {.name = "a"}, {.name = "b"}, {.name = "noisy"}},
                         .reference = "manual",
                         .unit_share = 1e-6};
      for (int r = 0; r < repetitions; ++r)
        for (VerdictPolicy& policy : input.policies)
          policy.repetitions.push_back(
              {0, (policy.name == "noisy" ? 110 : 100) * random.log_normal_factor(policy.name == "noisy" ? 0.3 : 0.05)});
      const RunVerdict verdict = judge(input);
      wrong += verdict.outcome == Outcome::cheapest;
    }
    CAPTURE(repetitions);
    CHECK(static_cast<double>(wrong) / kTrials <= 0.071);
  }
}
