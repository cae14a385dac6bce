#include "scenarios/profiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "policies/configure/menu.hpp"
#include "policies/place/data_parallel.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/base/random.hpp"
#include "sim/replay/alone.hpp"

namespace rehearse::scenarios {

namespace {

/// 1, 2, 4, ... and the publication's own number.
std::vector<double> epoch_choices(const workloads::ProfileModel& model) {
  const double last = model.convergence ? std::max(1.0, std::round(model.convergence->reference_epochs)) : 1;
  std::vector<double> choices;
  for (double epochs = 1; epochs < last; epochs *= 2) choices.push_back(epochs);
  choices.push_back(last);
  return choices;
}

class Profiler {
 public:
  Profiler(const Scenario& scenario, const workloads::Belief& belief, const workloads::World& world, int repetition)
      : scenario_(scenario),
        belief_(belief),
        world_(world),
        repetition_(repetition),
        runner_(scenario.cluster, scenario.costs, world.models(), {.name = "profiling", .place = &place_, .threads = &threads_}) {
  }

  /// Appends the runs of one profile in one pool, and returns what they cost.
  double profile(const sim::Profile& profile, int pool, std::vector<policies::PastRun>& runs) {
    const sim::Instance& instance =
        scenario_.cluster.instances[static_cast<std::size_t>(scenario_.cluster.pools[static_cast<std::size_t>(pool)].instance)];
    sim::Job job{.profile = &profile, .work = sim::Work::train, .pool = pool};
    const std::vector<sim::Configuration> grid = policies::candidate_configurations(job, scenario_.cluster, belief_, {});
    if (grid.empty()) return 0;
    const workloads::ProfileModel& model = belief_.profiles().of(profile);
    const std::vector<double> epochs = epoch_choices(model);
    double cost_usd = 0;
    for (int i = 0; i < scenario_.history.runs; ++i) {
      job.name = fmt::format("profiling/{}/{}/{}/{}", profile.model, profile.dataset, instance.name, i);
      sim::Random random(sim::stream_key(scenario_.seed, static_cast<std::uint64_t>(repetition_), "profiling", job.name));
      sim::Choice choice;
      choice.configuration = grid[random.below(grid.size())];
      job.epochs = epochs[random.below(epochs.size())];
      const sim::AloneOutcome outcome = runner_.run(job, choice);
      if (!outcome.fits || outcome.failure != sim::FailureReason::none) continue;
      cost_usd += outcome.cost_usd;
      const double accuracy = world_.models().convergence->measured_accuracy(job, static_cast<int>(job.epochs), outcome.accuracy);
      runs.push_back({.model = profile.model,
                      .dataset = profile.dataset,
                      .instance = instance.name,
                      .workers = choice.configuration.workers(),
                      .batch_size = choice.configuration.batch_size(),
                      .samples = model.training_samples,
                      .epochs = job.epochs,
                      .time_s = (outcome.time_s - scenario_.costs.start_s) * random.log_normal_factor(scenario_.history.noise),
                      .accuracy = std::isnan(accuracy) ? 0 : std::clamp(accuracy, 0.0, 1.0)});
    }
    return cost_usd;
  }

 private:
  const Scenario& scenario_;
  const workloads::Belief& belief_;
  const workloads::World& world_;
  const int repetition_;
  policies::DataParallel place_;
  policies::RecommendedThreads threads_;
  sim::AloneRunner runner_;
};

}  // namespace

Profiled profile_models(const Scenario& scenario, const std::vector<sim::Job>& jobs, const workloads::Belief& belief,
                        const workloads::World& world, int repetition) {
  Profiled result;
  result.cost_usd.assign(scenario.profiles.profiles().size(), 0.0);
  if (!scenario.history.own.empty()) {
    result.history = policies::RunHistory(scenario.history.own);
    return result;
  }
  std::set<int> occurring;
  for (const sim::Job& job : jobs)
    if (job.work != sim::Work::rigid) occurring.insert(job.profile->index);
  std::vector<policies::PastRun> runs;
  Profiler profiler(scenario, belief, world, repetition);
  for (const int index : occurring) {
    std::set<std::string> instances;
    for (int pool = 0; pool < static_cast<int>(scenario.cluster.pools.size()); ++pool) {
      const int instance = scenario.cluster.pools[static_cast<std::size_t>(pool)].instance;
      if (!instances.insert(scenario.cluster.instances[static_cast<std::size_t>(instance)].name).second) continue;
      result.cost_usd[static_cast<std::size_t>(index)] +=
          profiler.profile(scenario.profiles.profiles()[static_cast<std::size_t>(index)], pool, runs);
    }
  }
  result.history = policies::RunHistory(std::move(runs));
  return result;
}

}  // namespace rehearse::scenarios
