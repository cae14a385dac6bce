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
using policies::WorkerTable;
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

/// A policy and the speeds of its batches.
struct Contender {
  const WorkerTerms* terms = nullptr;
  std::unique_ptr<WorkerPolicy> policy;
};

/// What is fixed: a number of workers, a batch, or both; 0 is chosen.
struct Fixed {
  int workers = 0, batch = 0;
};

std::vector<Fixed> fixed_choices(const policies::WorkerSpeeds& speeds) {
  std::vector<Fixed> all;
  if (speeds.batch.sizes.empty()) return all;
  for (const int batch : speeds.batch.sizes) all.push_back({.batch = batch});
  for (const int workers : speeds.workers) all.push_back({.workers = workers});
  for (const int workers : speeds.workers)
    for (const int batch : speeds.batch.sizes) all.push_back({workers, batch});
  return all;
}

/// Waiting and one number of workers.
std::vector<bool> only_size(const WorkerTerms& terms, int size) {
  std::vector<bool> allowed(static_cast<std::size_t>(terms.actions()), false);
  for (const int action : {0, size, terms.sizes() + size}) allowed[static_cast<std::size_t>(action)] = true;
  return allowed;
}

WorkerScore score_of(const policies::WorkerOutcome& outcome) {
  return {outcome.usd, outcome.kept, outcome.overruled, outcome.starts, outcome.worker_stages};
}

/// Followers of tables for one process, in spot_worker_names' order.
class WorldPolicies {
 public:
  WorldPolicies(const SpotWorkersQuestion& question, std::size_t world, std::uint64_t seed)
      : question_(question), terms_(question.terms(question.worlds[world])) {
    const auto states = static_cast<std::size_t>(terms_.levels()) + 1;
    for (const int batch : question.speeds.batch.sizes)
      with_batch_.push_back(question.terms_with(question.worlds[world], {batch}));
    for (int process = 0; process < question.training_processes; ++process) {
      sim::Random random(key_of(seed, process, "spot training", world));
      const MarketChain chain = draw_process(question, question.worlds[world], random);
      for (int k = 0; k < kEpisodesOfEach; ++k)
        episodes_.push_back(policies::draw_market(chain, question.price_shares, terms_.stages, random));
    }
    agents_.push_back(StageAgent::train(terms_, static_cast<int>(states), episodes_, {}));
    if (question.ablations) {
      constexpr double kAlmostNothing = 1e-6;
      agents_.push_back(StageAgent::train(terms_, static_cast<int>(states), episodes_, {.history = false}));
      agents_.push_back(StageAgent::train(terms_, static_cast<int>(states), episodes_, {.behind = kAlmostNothing}));
    }
    MarketChain stays(states, std::vector<double>(states, 0));
    for (std::size_t s = 0; s < states; ++s) stays[s][s] = 1;
    unforeseen_ = std::make_shared<const WorkerTable>(WorkerTable::plan(terms_, stays));
    trained_ = std::make_shared<const WorkerTable>(WorkerTable::plan(terms_, agents_.front()->pooled()));
  }

  const WorkerTerms& terms() const { return terms_; }

  /// As many static choices as there are.
  std::vector<Contender> statics() const {
    std::vector<Contender> all;
    const auto add_of = [&all](const WorkerTerms& terms) {
      for (int action = 1; action < terms.actions(); ++action)
        all.push_back({&terms, std::make_unique<policies::FixedWorkers>(action)});
    };
    if (with_batch_.empty()) add_of(terms_);
    for (const WorkerTerms& terms : with_batch_) add_of(terms);
    return all;
  }

  /// What was learned when something is fixed.
  Contender learned(const Fixed& fixed) const {
    const std::vector<int>&batches = question_.speeds.batch.sizes, &workers = question_.speeds.workers;
    const auto place = [](const std::vector<int>& list, int value) {
      return std::find(list.begin(), list.end(), value) - list.begin();
    };
    const WorkerTerms& terms = fixed.batch == 0 ? terms_ : with_batch_[static_cast<std::size_t>(place(batches, fixed.batch))];
    policies::AgentParts parts;
    if (fixed.workers > 0) parts.allowed = only_size(terms, static_cast<int>(place(workers, fixed.workers)) + 1);
    return {&terms, policies::make_agent_policy("fixed", StageAgent::train(terms, terms.levels() + 1, episodes_, parts))};
  }

  /// All but those and the omniscient optimum.
  std::vector<Contender> of(const MarketChain& chain, std::shared_ptr<const WorkerTable> programme) const {
    std::vector<Contender> all;
    const auto follow = [&](std::shared_ptr<const WorkerTable> table) {
      all.push_back({&terms_, policies::make_stage_policy("programme", std::move(table))});
    };
    follow(unforeseen_);
    follow(trained_);
    follow(std::make_shared<const WorkerTable>(WorkerTable::plan(terms_, chain)));
    for (const std::shared_ptr<const StageAgent>& agent : agents_)
      all.push_back({&terms_, policies::make_agent_policy("agent", agent)});
    for (int size = 1; question_.ablations && size <= terms_.sizes(); ++size)
      follow(std::make_shared<const WorkerTable>(WorkerTable::solve(terms_, StageLaw::of(chain), only_size(terms_, size))));
    follow(std::move(programme));
    return all;
  }

 private:
  const SpotWorkersQuestion& question_;
  WorkerTerms terms_;
  std::vector<WorkerTerms> with_batch_;
  std::vector<std::vector<std::uint8_t>> episodes_;
  std::vector<std::shared_ptr<const StageAgent>> agents_;
  std::shared_ptr<const WorkerTable> unforeseen_, trained_;
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
    world.scores.resize(spot_worker_names(question_.speeds, question_.ablations).size());
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
  constexpr std::size_t kMostSizes = 16;
  for (const auto& [sizes, what] :
       {std::pair(&question.speeds.workers, "numbers of \"workers\""), std::pair(&question.speeds.batch.sizes, "\"batches\"")})
    if (sizes->size() > kMostSizes || std::adjacent_find(sizes->begin(), sizes->end(), std::greater_equal<>()) != sizes->end())
      in.value().refuse(fmt::format("at most {} {}, ascending", kMostSizes, what), mistakes);
}

bool can_keep(const WorkerTerms& terms) {
  const policies::WorkerView start{.terms = terms, .work_left = terms.work};
  for (int action = 1; action <= terms.sizes(); ++action)
    if (keeps_deadline(start, action)) return true;
  return false;
}

void check_jobs(const sim::ObjectReader& in, const SpotWorkersQuestion& question, sim::Mistakes& mistakes) {
  for (const SpotWorld& world : question.worlds) {
    const WorkerTerms terms = question.terms(world);
    const double cells = static_cast<double>(terms.stages) * terms.actions() * (terms.work + 1.0) * (terms.levels() + 1.0) *
                         policies::MarketSight::kClasses;
    const std::vector<Fixed> fixed = fixed_choices(question.speeds);
    const bool can = can_keep(terms) && std::all_of(fixed.begin(), fixed.end(), [&](const Fixed& choice) {
                       return choice.batch == 0 || can_keep(question.terms_with(world, {choice.batch}));
                     });
    if (cells > kMostWorkerCells) {
      in.value().refuse(fmt::format("stages, work, workers and levels of which a table has at most {:.0f} cells, not {:.0f}",
                                    kMostWorkerCells, cells),
                        mistakes);
    } else if (!can) {
      in.value().refuse(fmt::format("a \"slack\" that on-demand nodes can keep with any batch, unlike {}", world.slack),
                        mistakes);
    }
    if (!mistakes.empty()) return;
  }
}

}  // namespace

WorkerTerms SpotWorkersQuestion::terms_with(const SpotWorld& world, const std::vector<int>& batches) const {
  policies::WorkerSpeeds own = speeds;
  own.batch.sizes = batches;
  const double stages = std::floor(deadline_h * 60 / stage_min + 1e-9), usd = on_demand_usd_per_hour * stage_min / 60;
  WorkerTerms terms = make_worker_terms(own, static_cast<int>(stages), stages / world.slack);
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

std::vector<std::string> spot_worker_names(const policies::WorkerSpeeds& speeds, bool ablations) {
  const std::vector<int>& workers = speeds.workers;
  std::vector<std::string> names, with{""};
  for (const int batch : speeds.batch.sizes) with.push_back(fmt::format(", batch {}", batch));
  if (with.size() > 1) with.erase(with.begin());
  for (const std::string& batch : with)
    for (const char* where : {"on demand", "spot"})
      for (const int count : workers) names.push_back(fmt::format("static: {} {}{}", count, where, batch));
  for (const Fixed& fixed : fixed_choices(speeds))
    names.push_back(fixed.workers == 0 ? fmt::format("staged-rl, fixed batch: {}", fixed.batch)
                    : fixed.batch == 0 ? fmt::format("staged-rl, fixed workers: {}", fixed.workers)
                                       : fmt::format("staged-rl, both fixed: {} workers, batch {}", fixed.workers, fixed.batch));
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
  out.scores.resize(spot_worker_names(question.speeds, question.ablations).size());
  std::vector<std::vector<std::uint8_t>> markets;
  const auto judge = [&](const Contender& contender, std::size_t begin, std::vector<WorkerScore>& scores) {
    for (std::size_t job = begin; job < markets.size(); ++job)
      scores.push_back(score_of(run_worker_job(*contender.terms, markets[job], *contender.policy)));
  };
  const std::vector<Contender> statics = policies.statics();
  const std::vector<Fixed> fixed = fixed_choices(question.speeds);
  for (int process = 0; process < question.processes; ++process) {
    sim::Random random(key_of(seed, process, "spot process", world));
    const MarketChain chain = draw_process(question, question.worlds[world], random);
    const auto programme = std::make_shared<const WorkerTable>(WorkerTable::solve(terms, StageLaw::of(chain)));
    const std::size_t begin = markets.size();
    for (int job = 0; job < question.jobs; ++job) {
      const std::vector<std::uint8_t>& market =
          markets.emplace_back(policies::draw_market(chain, question.price_shares, terms.stages, random));
      out.scores.back().push_back({.usd = omniscient_usd(terms, market)});
      out.expected_usd.push_back(programme->expected_usd(market.front()));
    }
    const std::vector<Contender> of_process = policies.of(chain, programme);
    for (std::size_t p = 0; p < of_process.size(); ++p)
      judge(of_process[p], begin, out.scores[statics.size() + fixed.size() + p]);
  }
  for (std::size_t p = 0; p < statics.size(); ++p) judge(statics[p], 0, out.scores[p]);
  for (std::size_t f = 0; f < fixed.size(); ++f) judge(policies.learned(fixed[f]), 0, out.scores[statics.size() + f]);
  return out;
}

std::unique_ptr<StudyParameters> read_spot_workers(sim::ObjectReader& in, const Paths&, Scenario&, sim::Mistakes& mistakes) {
  SpotWorkersQuestion question{.worlds = read_worlds(in, mistakes)};
  question.speeds = {.workers = read_integers(in, "workers", sim::between(1, 1024), {1, 2, 4, 8}, mistakes),
                     .scaling = in.number("scaling", sim::between(0, 1), 0.9)};
  policies::BatchTerms& batch = question.speeds.batch;
  batch.sizes = read_integers(in, "batches", sim::between(1, 1e6), {}, mistakes);
  batch.reference = static_cast<int>(in.integer("reference_batch", sim::between(1, 1e6), 256));
  batch.step_overhead_samples = in.number("step_overhead_samples", sim::between(0, 1e6), 32);
  const std::vector<double> noise =
      read_numbers(in, "noise_scale_samples", {.low = 0, .high = 1e9, .low_excluded = true}, {256, 4096}, mistakes);
  batch.phases = static_cast<int>(in.integer("noise_phases", sim::between(1, 16), 4));
  if (noise.size() == 2) {
    batch.noise_scale_begin = noise.front();
    batch.noise_scale_end = noise.back();
  } else if (mistakes.empty()) {
    in.value().refuse("two \"noise_scale_samples\": at the beginning and at the end", mistakes);
  }
  question.stage_min = in.number("stage_min", sim::between(1, 1440), 15);
  question.deadline_h = in.number("deadline_h", sim::between(1, 1000), 12);
  if (question.deadline_h * 60 < question.stage_min) in.value().refuse("\"deadline_h\" of at least one stage", mistakes);
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
