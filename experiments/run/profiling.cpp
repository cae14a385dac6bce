#include "experiments/run/profiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "policies/configure/menu.hpp"
#include "policies/place/data_parallel.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/base/random.hpp"
#include "sim/replay/alone.hpp"
#include "traces/jobs/job_rules.hpp"

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

/// Of random streams. What most jobs leave at its default is not named: a stream stays the same when others say it.
std::string name_of(const sim::Profile& profile) {
  std::string name = profile.model + "/" + profile.dataset;
  if (profile.precision != sim::Profile().precision)
    name += "/" + traces::precision_names()[static_cast<std::size_t>(profile.precision)];
  if (profile.lr_rule != sim::Profile().lr_rule) name += "/" + traces::lr_rule_names()[static_cast<std::size_t>(profile.lr_rule)];
  return name;
}

/// The job of median deadline: those who choose their probes search for its sake.
const sim::Job& typical_job(const std::vector<sim::Job>& jobs, const sim::Profile& profile) {
  std::vector<const sim::Job*> of_profile;
  for (const sim::Job& job : jobs)
    if (job.work != sim::Work::rigid && job.profile->index == profile.index) of_profile.push_back(&job);
  std::ranges::stable_sort(of_profile, {}, &sim::Job::deadline_s);
  return *of_profile[of_profile.size() / 2];
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

  /// Appends the shared runs of one profile in one pool, and returns what they cost.
  double shared(const sim::Profile& profile, int pool, std::vector<policies::PastRun>& runs) {
    const std::vector<sim::Configuration> grid = grid_of(profile, pool);
    if (grid.empty()) return 0;
    const std::vector<double> epochs = epoch_choices(belief_.profiles().of(profile));
    double cost_usd = 0;
    for (int i = 0; i < scenario_.history.runs; ++i) {
      const std::string name = fmt::format("profiling/{}/{}/{}", name_of(profile), instance(pool).name, i);
      sim::Random random(stream(name));
      const sim::Configuration& configuration = grid[random.below(grid.size())];
      cost_usd += measure({&profile, pool, configuration, epochs[random.below(epochs.size())], name}, random, runs);
    }
    return cost_usd;
  }

  struct Measured {
    std::vector<policies::PastRun> runs;
    double cost_usd = 0;
  };
  /// As many runs of one profile in these pools as `probes` takes one after the other. A configuration measured again for as many
  /// epochs would measure the same, so that none is.
  Measured chosen(const sim::Profile& profile, const std::vector<int>& pools, const ChosenProbes& probes,
                  const sim::Job& typical) {
    auto [pool, measurements] = probes_of(profile, pools);
    Measured done;
    for (std::size_t i = 0; i < static_cast<std::size_t>(scenario_.history.runs) * pools.size() && !pool.empty(); ++i) {
      const std::uint64_t key = sim::stream_key(scenario_.policy_seed, static_cast<std::uint64_t>(repetition_),
                                                "probes " + probes.policy, fmt::format("{}/{}", name_of(profile), i));
      const std::size_t next = probes.chooser->next({.pool = pool, .seen = done.runs, .typical = typical, .random_key = key});
      sim::check(next < pool.size(), "a strategy probes what is not in the pool");
      sim::Random noise(stream(measurements[next].name));
      done.cost_usd += measure(measurements[next], noise, done.runs);
      pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(next));
      measurements.erase(measurements.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return done;
  }

 private:
  struct Measurement {
    const sim::Profile* profile;
    int pool;
    sim::Configuration configuration;
    double epochs;
    std::string name;  ///< of the job: its noise
  };

  /// All that could be measured, and how, in one order.
  std::pair<std::vector<policies::Probe>, std::vector<Measurement>> probes_of(const sim::Profile& profile,
                                                                              const std::vector<int>& pools) const {
    std::pair<std::vector<policies::Probe>, std::vector<Measurement>> all;
    const workloads::ProfileModel& model = belief_.profiles().of(profile);
    for (const int pool : pools) {
      for (const sim::Configuration& c : grid_of(profile, pool)) {
        for (const double epochs : epoch_choices(model)) {
          all.first.push_back({.run = {.workers = c.workers(), .batch_size = c.batch_size(), .samples = model.training_samples},
                               .instance = instance(pool).name,
                               .epochs = epochs,
                               .usd_per_s = sim::usd_per_s(scenario_.cluster, scenario_.costs, c),
                               .start_s = scenario_.costs.start_s});
          all.second.push_back({&profile, pool, c, epochs,
                                fmt::format("probing/{}/{}/{} x {}/{}", name_of(profile), instance(pool).name, c.workers(),
                                            c.groups.front().batch_per_worker, epochs)});
        }
      }
    }
    return all;
  }

  const sim::Instance& instance(int pool) const {
    return scenario_.cluster
        .instances[static_cast<std::size_t>(scenario_.cluster.pools[static_cast<std::size_t>(pool)].instance)];
  }

  std::uint64_t stream(const std::string& name) const {
    return sim::stream_key(scenario_.seed, static_cast<std::uint64_t>(repetition_), "profiling", name);
  }

  std::vector<sim::Configuration> grid_of(const sim::Profile& profile, int pool) const {
    const sim::Job job{.profile = &profile, .work = sim::Work::train, .pool = pool};
    return policies::candidate_configurations(job, scenario_.cluster, belief_, {});
  }

  /// Appends the run and returns what it cost; one that does not fit or diverges teaches nothing and costs nothing.
  double measure(const Measurement& what, sim::Random& random, std::vector<policies::PastRun>& runs) {
    const sim::Job job{
        .name = what.name, .profile = what.profile, .work = sim::Work::train, .epochs = what.epochs, .pool = what.pool};
    const sim::AloneOutcome outcome = runner_.run(job, {.configuration = what.configuration});
    if (!outcome.fits || outcome.failure != sim::FailureReason::none) return 0;
    const double accuracy = world_.models().convergence->measured_accuracy(job, static_cast<int>(job.epochs), outcome.accuracy);
    const double before_s = sim::boot_seconds(scenario_.cluster, nullptr, what.configuration) + scenario_.costs.start_s;
    runs.push_back({.model = what.profile->model,
                    .dataset = what.profile->dataset,
                    .precision = what.profile->precision,
                    .lr_rule = what.profile->lr_rule,
                    .instance = instance(what.pool).name,
                    .workers = what.configuration.workers(),
                    .batch_size = what.configuration.batch_size(),
                    .samples = belief_.profiles().of(*what.profile).training_samples,
                    .epochs = job.epochs,
                    .time_s = (outcome.time_s - before_s) * random.log_normal_factor(scenario_.history.noise),
                    .accuracy = std::isnan(accuracy) ? 0 : std::clamp(accuracy, 0.0, 1.0)});
    return outcome.cost_usd;
  }

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
                        const workloads::World& world, int repetition, const ChosenProbes& probes) {
  Profiled result;
  result.cost_usd.assign(scenario.profiles.profiles().size(), 0.0);
  if (!scenario.history.own.empty()) {
    result.history = policies::RunHistory(scenario.history.own);
    return result;
  }
  std::set<int> occurring;
  for (const sim::Job& job : jobs)
    if (job.work != sim::Work::rigid) occurring.insert(job.profile->index);
  std::vector<int> pools;  // the first of each instance
  std::set<std::string> instances;
  for (int pool = 0; pool < static_cast<int>(scenario.cluster.pools.size()); ++pool) {
    const int instance = scenario.cluster.pools[static_cast<std::size_t>(pool)].instance;
    if (instances.insert(scenario.cluster.instances[static_cast<std::size_t>(instance)].name).second) pools.push_back(pool);
  }

  std::vector<policies::PastRun> runs;
  Profiler profiler(scenario, belief, world, repetition);
  for (const int index : occurring) {
    const sim::Profile& profile = scenario.profiles.profiles()[static_cast<std::size_t>(index)];
    double& cost_usd = result.cost_usd[static_cast<std::size_t>(index)];
    if (probes.chooser == nullptr) {
      for (const int pool : pools) cost_usd += profiler.shared(profile, pool, runs);
      continue;
    }
    const auto measured = profiler.chosen(profile, pools, probes, typical_job(jobs, profile));
    runs.insert(runs.end(), measured.runs.begin(), measured.runs.end());
    cost_usd = measured.cost_usd;
  }
  result.history = policies::RunHistory(std::move(runs));
  return result;
}

}  // namespace rehearse::scenarios
