// Jobs that choose workers and spot or on-demand nodes together, stage by stage, in worlds of spot processes that are drawn anew:
// static choices, re-planning, what was learned, the stochastic programme that knows the process, and the omniscient optimum.
#include "experiments/studies/spot_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "experiments/run/map_processes.hpp"
#include "experiments/studies/studies.hpp"
#include "policies/staged/spot/worker_learner.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

namespace {

using policies::MarketChain;
using policies::StageAgent;
using policies::StageLaw;
using policies::StageTable;
using policies::WorkerPolicy;
using policies::WorkerTerms;

constexpr double kMostWorkerCells = 2e8;  ///< of the learner's table: its memory, in bytes
constexpr int kEpisodesOfEach = 50;       ///< training jobs of each training process

/// One unseen process of a world: each mean time longer or shorter by a factor exp(N(0, spread)).
MarketChain draw_process(const SpotWorkersQuestion& question, const SpotWorld& world, sim::Random& random) {
  policies::MarketTerms terms = question.market(world);
  terms.up_stages *= random.log_normal_factor(question.spread);
  terms.down_stages *= random.log_normal_factor(question.spread);
  terms.price_stages *= random.log_normal_factor(question.spread);
  return policies::make_market(terms);
}

/// Which of its own the job is, and in which world.
std::uint64_t key_of(std::uint64_t seed, int process, std::string_view what, std::size_t world) {
  return sim::stream_key(seed, static_cast<std::uint64_t>(process), what, fmt::format("world {}", world));
}

/// Followers of tables for one process, in spot_worker_policies' order.
class WorldPolicies {
 public:
  WorldPolicies(const SpotWorkersQuestion& question, std::size_t world, std::uint64_t seed)
      : question_(question), terms_(question.terms(question.worlds[world])) {
    const auto states = static_cast<std::size_t>(terms_.levels()) + 1;
    std::vector<std::vector<std::uint8_t>> episodes;
    for (int process = 0; process < question.training_processes; ++process) {
      sim::Random random(key_of(seed, process, "spot training", world));
      const MarketChain chain = draw_process(question, question.worlds[world], random);
      for (int k = 0; k < kEpisodesOfEach; ++k)
        episodes.push_back(policies::draw_market(chain, question.price_shares, terms_.stages, random));
    }
    agents_.push_back(StageAgent::train(terms_, static_cast<int>(states), episodes, {}));
    if (question.ablations) {
      constexpr double kAlmostNothing = 1e-6;
      agents_.push_back(StageAgent::train(terms_, static_cast<int>(states), episodes, {.history = false}));
      agents_.push_back(StageAgent::train(terms_, static_cast<int>(states), episodes, {.behind = kAlmostNothing}));
    }
    MarketChain stays(states, std::vector<double>(states, 0));
    for (std::size_t s = 0; s < states; ++s) stays[s][s] = 1;
    unforeseen_ = std::make_shared<const StageTable>(StageTable::plan(terms_, stays));
    trained_ = std::make_shared<const StageTable>(StageTable::plan(terms_, agents_.front()->pooled()));
  }

  const WorkerTerms& terms() const { return terms_; }

  std::vector<std::unique_ptr<WorkerPolicy>> of(const MarketChain& chain, std::shared_ptr<const StageTable> programme) const {
    const std::vector<std::string> names = spot_worker_policies(terms_.workers, question_.ablations);
    std::vector<std::unique_ptr<WorkerPolicy>> all;
    const auto follow = [&](std::shared_ptr<const StageTable> table) {
      all.push_back(policies::make_stage_policy(names[all.size()], std::move(table)));
    };
    for (int action = 1; action < terms_.actions(); ++action) all.push_back(std::make_unique<policies::FixedWorkers>(action));
    follow(unforeseen_);
    follow(trained_);
    follow(std::make_shared<const StageTable>(StageTable::plan(terms_, chain)));
    for (const std::shared_ptr<const StageAgent>& agent : agents_)
      all.push_back(policies::make_agent_policy(names[all.size()], agent));
    for (int size = 1; question_.ablations && size <= terms_.sizes(); ++size) {
      std::vector<bool> allowed(static_cast<std::size_t>(terms_.actions()), false);
      for (const int action : {0, size, terms_.sizes() + size}) allowed[static_cast<std::size_t>(action)] = true;
      follow(std::make_shared<const StageTable>(StageTable::solve(terms_, StageLaw::of(chain), allowed)));
    }
    follow(std::move(programme));
    return all;
  }

 private:
  const SpotWorkersQuestion& question_;
  WorkerTerms terms_;
  std::vector<std::shared_ptr<const StageAgent>> agents_;
  std::shared_ptr<const StageTable> unforeseen_, trained_;
};

class SpotWorkers final : public Study {
 public:
  explicit SpotWorkers(SpotWorkersQuestion question) : question_(std::move(question)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    const auto work = [&](int world) {
      return text_of(run_spot_world(question_, static_cast<std::size_t>(world), scenario.seed));
    };
    const std::vector<std::string> texts =
        map_processes(static_cast<int>(question_.worlds.size()), processes_of(options), folder, work,
                      {.wanted = options.progress, .one_task = "world", .one_part = "world"});
    std::vector<WorldScores> worlds;
    for (const std::string& text : texts) worlds.push_back(read_scores(text));
    StudyResult result{.tables = spot_worker_tables(question_, worlds, scenario.seed)};
    result.notes.emplace_back(
        "staged-sdp and staged-mpc are told each job's process; staged-rl is not: it learned from others and sees what the job "
        "has seen. room: staged-mpc's money above\nstaged-sdp's. earned: (staged-mpc - policy) / (staged-mpc - staged-sdp); 95 % "
        "interval by bootstrap over processes with their jobs, and jobs needed by its width, as\nmany of each process. "
        "omniscient "
        "knows the future.");
    return result;
  }

 private:
  static std::string text_of(const WorldScores& world) {
    std::string text;
    for (const std::vector<WorkerScore>& of_policy : world.scores)
      for (const WorkerScore& score : of_policy)
        text += fmt::format("{} {} {} {} {} ", score.usd, score.kept ? 1 : 0, score.overruled, score.starts, score.worker_stages);
    for (const double usd : world.expected_usd) text += fmt::format("{} ", usd);
    return text;
  }

  WorldScores read_scores(const std::string& text) const {
    std::istringstream in(text);
    const auto jobs = static_cast<std::size_t>(question_.processes) * static_cast<std::size_t>(question_.jobs);
    WorldScores world;
    world.scores.resize(spot_worker_policies(question_.speeds.workers, question_.ablations).size());
    for (std::vector<WorkerScore>& of_policy : world.scores) {
      for (std::size_t job = 0; job < jobs; ++job) {
        WorkerScore score;
        int kept = 0;
        in >> score.usd >> kept >> score.overruled >> score.starts >> score.worker_stages;
        score.kept = kept != 0;
        of_policy.push_back(score);
      }
    }
    world.expected_usd.resize(jobs);
    for (double& usd : world.expected_usd) in >> usd;
    sim::check(static_cast<bool>(in), "a world's scores came back incomplete");
    return world;
  }

  SpotWorkersQuestion question_;
};

std::vector<SpotWorld> read_worlds(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  std::vector<SpotWorld> worlds;
  const auto list = in.required("worlds", "a list of objects with \"up_h\", \"down_h\" and \"slack\"");
  if (!list) return worlds;
  for (const sim::JsonValue value : sim::read_list(*list, mistakes)) {
    sim::ObjectReader world_in(value, mistakes);
    const sim::NumberRange hours = sim::between(0.01, 1e4);
    worlds.push_back({.up_h = world_in.number("up_h", hours),
                      .down_h = world_in.number("down_h", hours),
                      .slack = world_in.number("slack", sim::between(0.1, 100))});
    world_in.finish();
  }
  if (worlds.empty() && mistakes.empty()) list->refuse("one world or more", mistakes);
  return worlds;
}

void check_levels(const sim::ObjectReader& in, const SpotWorkersQuestion& question, sim::Mistakes& mistakes) {
  const std::size_t levels = question.price_factors.size();
  constexpr std::size_t kMostLevels = 8;
  if (levels > kMostLevels || question.price_shares.size() != levels || question.revocation_factors.size() != levels)
    in.value().refuse(
        fmt::format("\"price_factors\", \"price_shares\" and \"revocation_factors\" of as many levels, at most {}", kMostLevels),
        mistakes);
  else if (std::abs(std::accumulate(question.price_shares.begin(), question.price_shares.end(), 0.0) - 1) > 1e-9)
    in.value().refuse("\"price_shares\" that sum to 1", mistakes);
  const std::vector<int>& workers = question.speeds.workers;
  constexpr std::size_t kMostSizes = 16;
  if (workers.size() > kMostSizes || std::adjacent_find(workers.begin(), workers.end(), std::greater_equal<>()) != workers.end())
    in.value().refuse(fmt::format("at most {} numbers of \"workers\", ascending", kMostSizes), mistakes);
}

void check_jobs(const sim::ObjectReader& in, const SpotWorkersQuestion& question, sim::Mistakes& mistakes) {
  for (const SpotWorld& world : question.worlds) {
    const WorkerTerms terms = question.terms(world);
    const double cells = static_cast<double>(terms.stages) * terms.actions() * (terms.work + 1.0) * (terms.levels() + 1.0) *
                         policies::MarketSight::kClasses;
    const policies::WorkerView start{.terms = terms, .work_left = terms.work};
    bool can = false;
    for (int action = 1; action <= terms.sizes(); ++action) can = can || keeps_deadline(start, action);
    if (cells > kMostWorkerCells) {
      in.value().refuse(fmt::format("stages, work, workers and levels of which a table has at most {:.0f} cells, not {:.0f}",
                                    kMostWorkerCells, cells),
                        mistakes);
    } else if (!can) {
      in.value().refuse(fmt::format("a \"slack\" that on-demand nodes can keep, unlike {}", world.slack), mistakes);
    }
    if (!mistakes.empty()) return;
  }
}

}  // namespace

WorkerTerms SpotWorkersQuestion::terms(const SpotWorld& world) const {
  const double stages = std::floor(deadline_h * 60 / stage_min + 1e-9), usd = on_demand_usd_per_hour * stage_min / 60;
  WorkerTerms terms = make_worker_terms(speeds, static_cast<int>(stages), stages / world.slack);
  terms.on_demand_usd = usd;
  for (const double factor : price_factors) terms.spot_usd.push_back(usd * factor);
  return terms;
}

policies::MarketTerms SpotWorkersQuestion::market(const SpotWorld& world) const {
  const double stages_an_hour = 60 / stage_min;
  return {.up_stages = world.up_h * stages_an_hour,
          .down_stages = world.down_h * stages_an_hour,
          .price_stages = price_lasts_h * stages_an_hour,
          .shares = price_shares,
          .revocation_factors = revocation_factors};
}

std::vector<std::string> spot_worker_policies(const std::vector<int>& workers, bool ablations) {
  std::vector<std::string> names;
  for (const char* where : {"on demand", "spot"})
    for (const int count : workers) names.push_back(fmt::format("static: {} {}", count, where));
  names.insert(names.end(), {"staged-mpc-without-forecasts", "staged-mpc-of-training", "staged-mpc", "staged-rl"});
  if (ablations) {
    names.insert(names.end(), {"staged-rl-without-history", "staged-rl-without-residual"});
    for (const int count : workers) names.push_back(fmt::format("staged-sdp-always-{}", count));
  }
  names.insert(names.end(), {"staged-sdp", "omniscient"});
  return names;
}

WorldScores run_spot_world(const SpotWorkersQuestion& question, std::size_t world, std::uint64_t seed) {
  const WorldPolicies policies(question, world, seed);
  const WorkerTerms& terms = policies.terms();
  WorldScores out;
  out.scores.resize(spot_worker_policies(terms.workers, question.ablations).size());
  for (int process = 0; process < question.processes; ++process) {
    sim::Random random(key_of(seed, process, "spot process", world));
    const MarketChain chain = draw_process(question, question.worlds[world], random);
    const auto programme = std::make_shared<const StageTable>(StageTable::solve(terms, StageLaw::of(chain)));
    const std::vector<std::unique_ptr<WorkerPolicy>> all = policies.of(chain, programme);
    for (int job = 0; job < question.jobs; ++job) {
      const std::vector<std::uint8_t> market = policies::draw_market(chain, question.price_shares, terms.stages, random);
      for (std::size_t p = 0; p < all.size(); ++p) {
        const policies::WorkerOutcome outcome = run_worker_job(terms, market, *all[p]);
        out.scores[p].push_back({outcome.usd, outcome.kept, outcome.overruled, outcome.starts, outcome.worker_stages});
      }
      out.scores.back().push_back({.usd = omniscient_usd(terms, market)});
      out.expected_usd.push_back(programme->expected_usd(market.front()));
    }
  }
  return out;
}

std::unique_ptr<StudyParameters> read_spot_workers(sim::ObjectReader& in, const Paths&, Scenario&, sim::Mistakes& mistakes) {
  SpotWorkersQuestion question{.worlds = read_worlds(in, mistakes)};
  question.speeds = {.workers = read_integers(in, "workers", sim::between(1, 1024), {1, 2, 4, 8}, mistakes),
                     .scaling = in.number("scaling", sim::between(0, 1), 0.9)};
  question.stage_min = in.number("stage_min", sim::between(1, 1440), 15);
  question.deadline_h = in.number("deadline_h", sim::between(1, 1000), 12);
  const double restart_min = in.number("restart_min", sim::between(0, 1440), 3);
  question.speeds.restart_stages = restart_min / question.stage_min;
  constexpr double kMostRestart = 0.9;  // a stage that begins with one does something yet
  if (question.speeds.restart_stages > kMostRestart) in.value().refuse("\"restart_min\" of at most 0.9 stages", mistakes);
  question.on_demand_usd_per_hour = in.number("on_demand_usd_per_hour", {.low = 0, .high = 1e6, .low_excluded = true}, 1);
  question.price_factors =
      read_numbers(in, "price_factors", {.low = 0, .high = 1e3, .low_excluded = true}, {0.25, 0.45, 0.8}, mistakes);
  question.price_shares = read_numbers(in, "price_shares", sim::between(0, 1), {0.5, 0.35, 0.15}, mistakes);
  question.revocation_factors =
      read_numbers(in, "revocation_factors", {.low = 0, .high = 1e3, .low_excluded = true}, {0.8, 1, 1.6}, mistakes);
  question.price_lasts_h = in.number("price_lasts_h", sim::between(0.01, 1e4), 6);
  question.spread = in.number("spread", sim::between(0, 2), 0.4);
  question.processes = static_cast<int>(in.integer("processes", sim::between(2, 1e4), 60));
  question.jobs = static_cast<int>(in.integer("jobs", sim::between(1, 1e4), 50));
  question.training_processes = static_cast<int>(in.integer("training_processes", sim::between(1, 1e4), 400));
  question.ablations = in.boolean("ablations", false);
  if (mistakes.empty()) check_levels(in, question, mistakes);
  if (mistakes.empty()) check_jobs(in, question, mistakes);
  if (!mistakes.empty()) return nullptr;
  return std::make_unique<SpotWorkers>(std::move(question));
}

}  // namespace rehearse::scenarios
