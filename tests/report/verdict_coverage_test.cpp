// How often the verdict is wrong, by simulation: jobs of several models, each of which breaks limits with its own luck.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

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
    const Statement verdict = judge(input);
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

namespace {

/// Twenty sizes of runs and luck: misses rare and frequent, of whole models or of single jobs.
struct Setting {
  int repetitions;
  double broken_share;  ///< of the policy; the reference breaks half of that
  bool by_model;        ///< the jobs of a model break their limits together
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const bool by_model : {true, false})
    for (const int repetitions : {5, 20})
      for (const double broken_share : {0.002, 0.01, 0.05, 0.2, 0.4}) all.push_back({repetitions, broken_share, by_model});
  return all;
}

constexpr int kModels = 6, kJobsOfModel = 16;
constexpr double kTrueCost = 0.8;  ///< of the policy, without broken limits; the reference costs 1

/// Six models of 16 jobs: the world moves what a model costs under both policies (20 %), and under each by itself (1 %). A job
/// with a broken limit costs 1 more.
void draw_pair(const Setting& s, sim::Random& random, VerdictInput& input) {
  std::array<double, kModels> world{};
  for (double& factor : world) factor = random.log_normal_factor(0.2);
  for (const bool is_reference : {true, false}) {
    const double share = s.broken_share * (is_reference ? 0.5 : 1);
    VerdictFigures figures{.broken_share = 0, .effective_cost_usd = 0, .jobs = kModels * kJobsOfModel};
    for (const double factor : world) {
      int broken = 0;
      for (int j = 0; j < (s.by_model ? 1 : kJobsOfModel); ++j) broken += random.uniform() < share;
      const double of_model = static_cast<double>(broken) / (s.by_model ? 1 : kJobsOfModel);
      figures.broken_share += of_model / kModels;
      figures.effective_cost_usd +=
          ((is_reference ? 1 : kTrueCost) * factor * random.log_normal_factor(0.01) + of_model) / kModels;
    }
    input.policies[is_reference ? 0 : 1].repetitions.push_back(figures);
  }
}

VerdictInput pair_of(const Setting& s, sim::Random& random, int repetitions) {
  VerdictInput input{.policies = {{.name = "manual"}, {.name = "p"}}, .reference = "manual", .unit_share = 1.0 / kModels};
  for (int r = 0; r < repetitions; ++r) draw_pair(s, random, input);
  return input;
}

struct Coverage {
  double limits = 0, saving = 0;  ///< how often the bound of limits, and the interval of the saving, hold the truth
  double first = 0, second = 0;   ///< how often the statement names the policy
  double second_wrongly = 0;      ///< how often the second names it although it breaks more than a point too many
};

Coverage coverage(const Setting& s, int trials) {
  sim::Random world(sim::stream_key(20261129, 0, "coverage", "truth"));
  const Statement truth = judge(pair_of(s, world, 50'000));
  const double true_saving = truth.find("p")->cheaper_than_reference_percent.mean, true_more = s.broken_share / 2;
  Coverage sum;
  for (int trial = 0; trial < trials; ++trial) {
    sim::Random random(sim::stream_key(20261129, static_cast<std::uint64_t>(trial), "coverage", "pairs"));
    const RunVerdict v = judge_twice(pair_of(s, random, s.repetitions));
    const PolicyVerdict& p = *v.new_worlds.find("p");
    const Estimate& saving = p.cheaper_than_reference_percent;
    sum.limits += true_more <= p.more_broken_high;
    sum.saving += saving.ci95_low <= true_saving && true_saving <= saving.ci95_high;
    sum.first += v.drawn.winner == "p";
    sum.second += v.new_worlds.winner == "p";
    sum.second_wrongly += v.new_worlds.winner == "p" && true_more > kLimitsMargin;
  }
  for (double* part : {&sum.limits, &sum.saving, &sum.first, &sum.second, &sum.second_wrongly}) *part *= 100.0 / trials;
  return sum;
}

}  // namespace

TEST_CASE("bounds and intervals of new worlds hold the truth in 93 of 100 runs at least, in twenty settings") {
  // `-s` prints the table of docs/evidence/validation.md.
  std::string table = "\nruns  misses, %  of      bound, %  interval, %  first, %  second, %  wrong, %\n";
  for (const Setting& s : settings()) {
    const Coverage c = coverage(s, 1000);
    table += fmt::format("{:4}  {:9}  {:6}  {:8.1f}  {:11.1f}  {:8.1f}  {:9.1f}  {:8.1f}\n", s.repetitions, 100 * s.broken_share,
                         s.by_model ? "models" : "jobs", c.limits, c.saving, c.first, c.second, c.second_wrongly);
    CAPTURE(s.repetitions, s.broken_share, s.by_model);
    CHECK(c.limits >= 93);
    CHECK(c.saving >= 93);
    CHECK(c.second_wrongly <= 5);
  }
  INFO(table);
  SUCCEED();
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
      const Statement verdict = judge(input);
      wrong += verdict.outcome == Outcome::cheapest;
    }
    CAPTURE(repetitions);
    CHECK(static_cast<double>(wrong) / kTrials <= 0.071);
  }
}
