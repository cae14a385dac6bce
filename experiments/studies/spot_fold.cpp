// One fold of the study `spot`: what is learned from its zones, and every policy's jobs on the zones that it tries.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/studies/spot_parts.hpp"
#include "policies/staged/spot/spot_job.hpp"
#include "policies/staged/spot/spot_programme.hpp"
#include "sim/base/random.hpp"

namespace rehearse::scenarios {

namespace {

using policies::SpotTable;
using policies::SpotTerms;
using policies::ZoneClasses;
using policies::ZoneLaw;

const ZoneClasses kLearned{.ages = {2, 5, 10, 20, 40, 80, 160, 320}, .rough_age = 40};
const ZoneClasses kWithoutAges{.recent = {0.2, 0.4, 0.6, 0.8}};

/// A law of zones and who follows its table.
struct LearnedPolicy {
  std::string name;
  ZoneLaw law;
};

std::vector<LearnedPolicy> learn(const std::vector<std::vector<std::uint8_t>>& series, bool ablations, std::uint64_t seed) {
  const std::vector<std::vector<std::uint8_t>> episodes = policies::training_episodes(series, seed);
  std::vector<LearnedPolicy> all{{"staged-sdp", ZoneLaw::fit({}, series, false)},
                                 {"staged-rl", ZoneLaw::fit(kLearned, episodes)}};
  if (!ablations) return all;
  constexpr double kAlmostNothing = 1e-6;
  all.push_back({"staged-rl-without-history", ZoneLaw::fit({}, episodes)});
  all.push_back({"staged-rl-without-ages", ZoneLaw::fit(kWithoutAges, episodes)});
  all.push_back({"staged-rl-without-residual", ZoneLaw::fit(kLearned, episodes, true, kAlmostNothing)});
  all.push_back({"staged-rl-without-drawn-episodes", ZoneLaw::fit(kLearned, series)});
  return all;
}

/// What the zones that are tried teach of themselves: nobody can know it before. Of zones that do not change, what others taught.
ZoneLaw own_law(const SpotQuestion& question, const SpotFold& fold, const ZoneLaw& taught) {
  std::vector<std::vector<std::uint8_t>> own;
  bool comes = false, goes = false;
  for (const std::vector<const ZoneSeries*>& zones : question.tests_of(fold)) {
    for (const ZoneSeries* zone : zones) {
      own.push_back(zone->up);
      for (std::size_t t = 1; t < zone->up.size(); ++t) {
        comes = comes || zone->up[t - 1] < zone->up[t];
        goes = goes || zone->up[t - 1] > zone->up[t];
      }
    }
  }
  return comes && goes ? ZoneLaw::fit(kLearned, own) : taught;
}

/// The law of a known process, as finely as a table can have it.
ZoneLaw law_of(const policies::ZoneProcess& process, std::uint64_t seed) {
  constexpr int kDraws = 100;
  const ZoneClasses fine{.ages = {0, 1, 2, 3, 5, 8, 13, 20, 32, 50, 80, 130, 200, 320, 500}};
  std::vector<std::vector<std::uint8_t>> draws;
  for (int k = 0; k < kDraws; ++k) {
    sim::Random random(sim::stream_key(seed, static_cast<std::uint64_t>(k), "spot", "bound"));
    draws.push_back(draw_zone(process, {}, policies::kDrawnSteps, random));
  }
  return ZoneLaw::fit(fine, draws);
}

/// A job's zones from its submission on.
struct JobWindow {
  const ZoneSeries* first = nullptr;
  std::size_t begin = 0;
  std::vector<policies::SpotAvailability> zones;
};

}  // namespace

std::vector<std::string> spot_policy_names(bool ablations, bool bound) {
  std::vector<std::string> names{"on-demand",  "spot-greedy", "uniform-progress", "staged-mpc-without-forecasts",
                                 "staged-mpc", "staged-sdp",  "staged-rl"};
  if (ablations)
    names.insert(names.end(), {"staged-rl-without-history", "staged-rl-without-ages", "staged-rl-without-residual",
                               "staged-rl-without-drawn-episodes"});
  names.emplace_back("own-zones");
  if (bound) names.emplace_back("dual-bound");
  names.emplace_back("omniscient");
  return names;
}

std::vector<SpotVariant> run_spot_fold(const SpotQuestion& question, std::size_t fold_index, std::uint64_t seed) {
  const SpotFold& fold = question.folds[fold_index];
  std::vector<std::vector<std::uint8_t>> training;
  for (const ZoneSeries& series : question.series)
    if (std::count(fold.train.begin(), fold.train.end(), series.zone) > 0) training.push_back(series.up);
  std::vector<LearnedPolicy> learned = learn(training, question.ablations, seed);
  learned.push_back({"own-zones", own_law(question, fold, learned[1].law)});
  const policies::MeanRuns forecast{.up = 1 / learned.front().law.goes_down, .down = 1 / learned.front().law.comes_up};

  std::vector<JobWindow> windows;
  const int longest = question.terms(question.longest_deadline_h(), 0).deadline;
  for (const std::vector<const ZoneSeries*>& zones : question.tests_of(fold)) {
    std::size_t shortest = zones.front()->up.size();
    for (const ZoneSeries* zone : zones) shortest = std::min(shortest, zone->up.size());
    const std::string entity = fmt::format("{} {}", zones.front()->date, fmt::join(fold.test, " "));
    for (int job = 0; job < question.jobs; ++job) {
      sim::Random random(sim::stream_key(seed, static_cast<std::uint64_t>(job), "spot job", entity));
      const std::size_t begin = random.below(shortest - static_cast<std::size_t>(longest) + 1);
      JobWindow& window = windows.emplace_back(JobWindow{.first = zones.front(), .begin = begin, .zones = {}});
      for (const ZoneSeries* zone : zones)
        window.zones.push_back(policies::SpotAvailability(zone->up).subspan(begin, static_cast<std::size_t>(longest)));
    }
  }

  std::vector<SpotVariant> variants;
  for (const double restart_min : question.restarts_min) {
    const SpotTerms widest = question.terms(question.longest_deadline_h(), restart_min);
    std::vector<std::unique_ptr<policies::SpotPolicy>> policies;
    policies.push_back(policies::make_on_demand());
    policies.push_back(policies::make_spot_greedy());
    policies.push_back(policies::make_uniform_progress());
    policies.push_back(policies::make_mean_planner(nullptr));
    policies.push_back(policies::make_mean_planner(&forecast));
    for (const LearnedPolicy& policy : learned)
      policies.push_back(policies::make_table_policy(
          policy.name, std::make_shared<const SpotTable>(policy.law, static_cast<int>(fold.test.size()), widest)));
    policies::RunHazards hazards;
    std::optional<SpotTable> values;
    if (question.bound) {
      const policies::ZoneProcess& process = *windows.front().first->process;
      hazards = hazards_of(process);
      values.emplace(law_of(process, seed), 1, widest, true);
    }
    for (const double deadline_h : question.deadlines_h) {
      const SpotTerms terms = question.terms(deadline_h, restart_min);
      SpotVariant variant{fold.test.size(), deadline_h, restart_min, {}};
      for (const auto& policy : policies) {
        std::vector<SpotScore>& scores = variant.scores.emplace_back();
        for (const JobWindow& window : windows) {
          const policies::SpotOutcome outcome = run_spot_job(terms, window.zones, *policy);
          scores.push_back({outcome.usd, outcome.kept, outcome.overruled});
        }
      }
      if (question.bound) {
        std::vector<SpotScore>& bounds = variant.scores.emplace_back();
        for (const JobWindow& window : windows)
          bounds.push_back({.usd = dual_usd(terms, window.first->up, window.begin, hazards, *values)});
      }
      std::vector<SpotScore>& best = variant.scores.emplace_back();
      for (const JobWindow& window : windows) best.push_back({.usd = omniscient_usd(terms, window.zones)});
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

}  // namespace rehearse::scenarios
