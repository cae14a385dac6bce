#include "experiments/train/agent_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/run/process_pool.hpp"
#include "experiments/run/progress.hpp"
#include "experiments/run/run.hpp"
#include "experiments/run/run_one.hpp"
#include "experiments/studies/studies.hpp"
#include "policies/place/rl/training.hpp"
#include "policies/staged/agent_training.hpp"
#include "policies/staged/staged_shared.hpp"
#include "report/row_writer.hpp"
#include "scenarios/read/agent_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/version.hpp"
#include "sim/engine/engine.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace {

void write_point(report::RowWriter& curve, const policies::LearningPoint& point) {
  curve.integer(point.iteration).number(point.cost_ratio).number(point.critic_error).number(point.late).number(point.short_of);
  curve.number(point.late_price).number(point.short_price);
  curve.end_row();
}

using policies::SharedAgent;
using Weights = SharedAgent::Weights;

constexpr int kPopulation = 20, kElite = 5;
constexpr int kWorkloads = 3;             // of an iteration, the same for its whole population
constexpr int kValidationWorkloads = 12;  // of no iteration
constexpr int kValidateSharedEvery = 5;
constexpr double kLeastSpread = 0.1;  // of a lever's first one: some are always tried
constexpr double kInertia = 0.3;      // of what was believed before an iteration

/// Of each lever's weights, before anything is learned.
constexpr std::array<double, policies::kSharedLevers> kFirstSpread{0.3, 0.1, 0.3, 1.5, 0.2};

class SharedTraining {
 public:
  /// Hears what it is about, how many replays have ended, and how far the simulated time of the next is, s.
  using Tell = std::function<void(std::string what, std::uint64_t replays, double time_s)>;
  SharedTraining(Scenario& scenario, const HeldInterrupts& interrupts, Tell tell, std::function<void(std::uint64_t)> ended)
      : scenario_(scenario),
        interrupts_(interrupts),
        tell_(std::move(tell)),
        ended_(std::move(ended)),
        seed_(scenario.seed),
        policy_seed_(scenario.policy_seed) {
    for (std::size_t p = 0; p < scenario.policies.size(); ++p)
      if (scenario.policies[p].configure.name == SharedAgent::kKind) policies_.push_back(p);
    if (policies_.empty() || scenario.generators.empty())
      throw sim::InputError(sim::Mistake{.expected = "generated jobs, and policies whose configure is \"staged-shared\"",
                                         .found = policies_.empty() ? "no such policy" : "no generator"});
    for (const workloads::GeneratorSettings& generator : scenario.generators) rates_.push_back(generator.arrivals_per_hour);
    for (std::size_t w = 0; w < spread_.size(); ++w) spread_[w] = kFirstSpread[w / policies::kSharedSights];
  }

  SharedTraining(const SharedTraining&) = delete;
  SharedTraining& operator=(const SharedTraining&) = delete;
  /// The scenario is as it was.
  ~SharedTraining() {
    scenario_.seed = seed_;
    scenario_.policy_seed = policy_seed_;
    set_arrivals(1);
  }

  const Weights& mean() const { return mean_; }
  void go_on_from(const Weights& weights) { mean_ = weights; }

  void iterate() {
    what_ = fmt::format("iteration {}", iteration_ + 1);
    std::vector<Weights> tried{mean_};
    sim::Random random(sim::stream_key(seed_, static_cast<std::uint64_t>(iteration_), "training", "weights"));
    while (tried.size() < kPopulation) {
      Weights& next = tried.emplace_back(mean_);
      for (std::size_t w = 0; w < next.size(); ++w) next[w] += random.normal(0, spread_[w]);
    }
    std::vector<double> costs(tried.size());
    for (int k = 0; k < kWorkloads; ++k) {
      draw_workload(iteration_ * kWorkloads + k, "workload");
      const std::size_t policy = policies_[static_cast<std::size_t>(k) % policies_.size()];
      for (std::size_t t = 0; t < tried.size(); ++t) costs[t] += std::log(effective_usd(policy, tried[t])) / kWorkloads;
    }
    std::vector<std::size_t> order(tried.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
    for (std::size_t w = 0; w < mean_.size(); ++w) {
      double sum = 0, squares = 0;
      for (int e = 0; e < kElite; ++e) sum += tried[order[static_cast<std::size_t>(e)]][w];
      const double elite = sum / kElite;
      for (int e = 0; e < kElite; ++e) squares += std::pow(tried[order[static_cast<std::size_t>(e)]][w] - elite, 2);
      mean_[w] = kInertia * mean_[w] + (1 - kInertia) * elite;
      const double least = kLeastSpread * kFirstSpread[w / policies::kSharedSights];
      spread_[w] = std::max(least, kInertia * spread_[w] + (1 - kInertia) * std::sqrt(squares / kElite));
    }
    ++iteration_;
  }

  /// Geometric mean of the effective money over the untrained agent's, on jobs that no iteration sees.
  double validate(const Weights& weights) {
    what_ = "validation";
    double sum = 0;
    for (int k = 0; k < kValidationWorkloads; ++k) {
      draw_workload(k, "validation");
      const std::size_t policy = policies_[static_cast<std::size_t>(k) % policies_.size()];
      if (untrained_usd_.size() <= static_cast<std::size_t>(k)) untrained_usd_.push_back(effective_usd(policy, Weights{}));
      if (weights == Weights{}) continue;  // the same replay: the logarithm of one
      sum += std::log(effective_usd(policy, weights) / untrained_usd_[static_cast<std::size_t>(k)]);
    }
    return std::exp(sum / kValidationWorkloads);
  }

 private:
  void draw_workload(int number, std::string_view purpose) {
    sim::Random random(sim::stream_key(seed_, static_cast<std::uint64_t>(number), "training", purpose));
    constexpr std::uint64_t kSeeds = std::uint64_t{1} << 53;
    scenario_.seed = random.below(kSeeds);
    scenario_.policy_seed = scenario_.seed;
    set_arrivals(std::exp2(random.uniform(-1, 1)));
  }

  void set_arrivals(double factor) {
    for (std::size_t g = 0; g < rates_.size(); ++g) scenario_.generators[g].arrivals_per_hour = rates_[g] * factor;
  }

  /// Of one replay. An iteration is sixty of them, which is too long to hold an interrupt back.
  double effective_usd(std::size_t policy, const Weights& weights) {
    if (interrupts_.take()) throw Interrupted();
    auto& network = scenario_.policies[policy].configure.network;
    const auto before = network;
    network = std::make_shared<const policies::NetworkState>(SharedAgent(weights).state({.kind = SharedAgent::kKind}));
    const auto tell = [&](const sim::ReplayProgress& progress) { tell_(what_, replays_, progress.time_s); };
    const Replayed replayed = replay_one(scenario_, {.policy = policy}, tell, sim::run_plain);
    network = before;
    ended_(++replays_);
    const report::RunMetrics& metrics = replayed.outcome.metrics;
    const double usd = metrics.effective_cost_usd - metrics.profiling_cost_usd;
    return usd > 0 ? usd : 1e9;  // none: a job whose manual configuration fits nowhere
  }

  Scenario& scenario_;  // what is drawn of it changes meanwhile
  const HeldInterrupts& interrupts_;
  const Tell tell_;
  const std::function<void(std::uint64_t)> ended_;
  const std::uint64_t seed_, policy_seed_;
  std::string what_;
  std::uint64_t replays_ = 0;
  std::vector<std::size_t> policies_;
  std::vector<double> rates_;  // of its generators, as they are
  Weights mean_{}, spread_{};
  std::vector<double> untrained_usd_;
  int iteration_ = 0;
};

/// Of a whole training: those of the iterations, of the validations after some of them, and of the first one, which also judges
/// the untrained agent.
std::size_t replays_of(int iterations, bool begins_untrained) {
  const int validations =
      iterations / kValidateSharedEvery + (iterations % kValidateSharedEvery != 0) + (begins_untrained ? 1 : 2);
  return static_cast<std::size_t>(kPopulation * kWorkloads) * static_cast<std::size_t>(iterations) +
         static_cast<std::size_t>(kValidationWorkloads) * static_cast<std::size_t>(validations);
}

}  // namespace

std::string curve_path(std::string out) {
  if (sim::is_streamed(out)) return "/dev/null";  // an agent that goes through a pipe has nothing beside it
  constexpr std::string_view kEnding = ".json";
  if (out.ends_with(kEnding)) out.resize(out.size() - kEnding.size());
  return sim::without_link(out + ".csv");
}

TrainResult iterated(const TrainOptions& options, const HeldInterrupts& interrupts, const std::function<void()>& iterate,
                     const std::function<void(TrainResult&)>& after) {
  TrainResult result;
  ProgressBar bar(
      {.wanted = options.progress, .parts_a_task = static_cast<std::size_t>(options.iterations), .one_part = "iteration"});
  while (result.iterations < options.iterations && !result.interrupted) {
    try {
      iterate();
      ++result.iterations;
      bar.update(0, static_cast<std::uint64_t>(result.iterations));
      result.interrupted = interrupts.take();
      after(result);
    } catch (const Interrupted&) {
      result.interrupted = true;
    }
  }
  return result;
}

TrainResult train_staged_rl(const Scenario& scenario, const TrainOptions& options) {
  const auto trains = [](const sim::Job& job) { return job.work == sim::Work::train; };
  if (scenario.generators.empty() && std::none_of(scenario.jobs.begin(), scenario.jobs.end(), trains))
    throw sim::InputError(
        sim::Mistake{.expected = "a scenario with trainings, generated or listed, to learn from", .found = "none"});
  policies::AgentTraining training({.cluster = &scenario.cluster,
                                    .costs = scenario.costs,
                                    .models = &scenario.profile_models,
                                    .manual = &scenario.manual,
                                    .stage_rules = scenario.stages,
                                    .generators = scenario.generators,
                                    .jobs = scenario.jobs,
                                    .model_error = scenario.world_errors.model_error,
                                    .seed = scenario.seed});
  const HeldInterrupts interrupts;
  report::RowWriter curve(sim::OutputFile(curve_path(options.out)));
  curve.line("iteration,cost_ratio,critic_error,late_fraction,short_fraction,late_price,short_price");
  policies::LearningPoint best = training.validate();  // the untrained agent, which all others are measured by
  write_point(curve, best);
  const policies::NetworkOrigin origin{.kind = policies::StagedAgent::kKind,
                                       .seed = scenario.seed,
                                       .command = options.command,
                                       .version = std::string(sim::program_version())};
  if (!options.resume.empty()) {
    training.agent().load_from(read_agent_file(options.resume, policies::StagedAgent::blueprint()));
    best = training.validate();
  }
  policies::NetworkState kept = save(training.agent().parameters(), origin);
  const auto validate_often = [&](TrainResult& result) {
    if (result.iterations % kValidateEvery != 0) return;
    const policies::LearningPoint point = training.validate();
    write_point(curve, point);
    if (point.merit >= best.merit) return;
    best = point;
    kept = save(training.agent().parameters(), origin);
  };
  TrainResult result = iterated(
      options, interrupts, [&] { training.iterate(); }, validate_often);
  curve.close();
  write_agent_file(options.out, kept);
  result.best_iteration = best.iteration;
  result.cost_ratio = best.cost_ratio;
  return result;
}

TrainResult train_rl_transfer(const Scenario& scenario, const TrainOptions& options) {
  const std::vector<NamedCase> cases = placement_cases(scenario);
  policies::TransferSetup setup{.cases = {}, .seed = scenario.seed, .iterations = options.iterations};
  for (const NamedCase& c : cases) setup.cases.push_back({c.name, &c.placed.graph, &c.placed.machine, &c.placed.groups});
  policies::TransferTraining training(std::move(setup));
  const HeldInterrupts interrupts;
  report::RowWriter curve(sim::OutputFile(curve_path(options.out)));
  curve.line("iteration,time_over_heft");
  const auto validated = [&] {
    const double ratio = training.time_ratio();
    curve.integer(training.iteration()).number(ratio);
    curve.end_row();
    return ratio;
  };
  const double untrained = validated();
  const policies::NetworkOrigin origin{.kind = policies::GraphLayers::kKind,
                                       .seed = scenario.seed,
                                       .command = options.command,
                                       .version = std::string(sim::program_version())};
  double best = untrained;
  if (!options.resume.empty()) {
    load(read_agent_file(options.resume, policies::GraphLayers::blueprint()), training.parameters());
    best = validated();
  }
  policies::NetworkState kept = save(training.parameters(), origin);
  const auto validate_often = [&](TrainResult& result) {
    if (result.iterations % kValidateEvery != 0) return;
    const double ratio = validated();
    if (ratio >= best) return;
    best = ratio;
    result.best_iteration = result.iterations;
    kept = save(training.parameters(), origin);
  };
  TrainResult result = iterated(
      options, interrupts, [&] { training.iterate(); }, validate_often);
  curve.close();
  write_agent_file(options.out, kept);
  result.cost_ratio = best / untrained;
  return result;
}

TrainResult train_staged_shared(Scenario& scenario, const TrainOptions& options) {
  const policies::NetworkOrigin origin{.kind = SharedAgent::kKind,
                                       .seed = scenario.seed,
                                       .command = options.command,
                                       .version = std::string(sim::program_version())};
  const HeldInterrupts interrupts;
  Weights first{};
  if (!options.resume.empty()) first = SharedAgent(read_agent_file(options.resume, SharedAgent::blueprint())).weights();
  std::string what;
  const std::size_t replays = replays_of(options.iterations, first == Weights{});
  ProgressBar bar(
      {.wanted = options.progress, .parts_a_task = replays, .one_part = "replay", .name = [&](std::size_t) { return what; }});
  const auto tell = [&](std::string now, std::uint64_t ended, double time_s) {
    what = std::move(now);
    bar.update(0, ended, time_s);
  };
  SharedTraining training(scenario, interrupts, tell, [&](std::uint64_t ended) { options.on_replay(ended, replays); });
  training.go_on_from(first);
  report::RowWriter curve(sim::OutputFile(curve_path(options.out)));
  curve.line("iteration,cost_ratio");
  const auto validated = [&](int iteration) {
    const double ratio = training.validate(training.mean());
    curve.integer(iteration).number(ratio);
    curve.end_row();
    return ratio;
  };
  double best = validated(0);
  Weights kept = training.mean();
  TrainOptions without_bar = options;  // of iterations: replays have theirs
  without_bar.progress = false;
  TrainResult result = iterated(
      without_bar, interrupts, [&] { training.iterate(); },
      [&](TrainResult& so_far) {
        if (so_far.iterations % kValidateSharedEvery != 0 && so_far.iterations != options.iterations) return;
        const double ratio = validated(so_far.iterations);
        if (ratio >= best) return;
        best = ratio;
        so_far.best_iteration = so_far.iterations;
        kept = training.mean();
      });
  result.cost_ratio = best;
  curve.close();
  write_agent_file(options.out, SharedAgent(kept).state(origin));
  return result;
}

}  // namespace rehearse::scenarios
