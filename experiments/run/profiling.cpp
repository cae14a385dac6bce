#include "experiments/run/profiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "policies/configure/belief_of_runs.hpp"
#include "policies/configure/menu.hpp"
#include "policies/learn/active_probes.hpp"
#include "policies/place/data_parallel.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/base/random.hpp"
#include "sim/replay/alone.hpp"
#include "sim/replay/stage.hpp"
#include "traces/jobs/trace_job.hpp"

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
  if (profile.max_accumulation != sim::Profile().max_accumulation) name += fmt::format("/{} passes", profile.max_accumulation);
  if (!profile.recipe.empty()) name += "/" + profile.recipe;
  return name;
}

}  // namespace

class Profiling::Profiler {
 public:
  Profiler(const Scenario& scenario, const workloads::Belief& belief, const workloads::World& world, int repetition)
      : scenario_(scenario),
        belief_(belief),
        world_(world),
        repetition_(repetition),
        runner_(scenario.cluster, scenario.costs, world.models(), {.name = "profiling", .place = &place_, .threads = &threads_}),
        believed_(scenario.cluster, scenario.costs, belief.models(), {.name = "belief", .place = &place_, .threads = &threads_}) {
  }

  /// What a run of any configuration of the grid and any number of epochs is believed to cost in the mean; 0: none fits.
  double believed_run_usd(const sim::Profile& profile, int pool) {
    const sim::Job job{.profile = &profile, .work = sim::Work::train, .epochs = 1, .pool = pool};
    const std::vector<double> epochs = epoch_choices(belief_.profiles().of(profile));
    const double mean_epochs = std::accumulate(epochs.begin(), epochs.end(), 0.0) / static_cast<double>(epochs.size());
    double usd = 0, count = 0;
    for (const sim::Configuration& c : grid_of(profile, pool)) {
      const sim::StageRates& rates = believed_.stages().rates(job, c);
      if (!rates.fits) continue;
      const double epoch_s = rates.epoch.training_s + rates.epoch.evaluation_s;
      usd += sim::usd_for(scenario_.cluster, scenario_.costs, c, start_s(c) + mean_epochs * epoch_s);
      ++count;
    }
    return count > 0 ? usd / count : 0;
  }

  /// What the job is believed to cost under manual.
  double believed_manual_usd(const sim::Job& job) {
    const sim::Configuration manual = scenario_.manual.configuration(job, scenario_.cluster, scenario_.costs, belief_, believed_);
    sim::Job to_target = job;
    to_target.stop = sim::Stop::target;  // nothing says yet how long a budget is
    return believed_.run_until_it_fits(to_target, {.configuration = manual}).cost_usd;
  }

  /// Appends so many of the shared runs of one profile in one pool, and returns what they cost.
  double shared(const sim::Profile& profile, int pool, int count, std::vector<policies::PastRun>& runs) {
    const std::vector<sim::Configuration> grid = grid_of(profile, pool);
    if (grid.empty()) return 0;
    const std::vector<double> epochs = epoch_choices(belief_.profiles().of(profile));
    double cost_usd = 0;
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("profiling/{}/{}/{}", name_of(profile), instance(pool).name, i);
      sim::Random random(stream(name));
      const sim::Configuration& configuration = grid[random.below(grid.size())];
      cost_usd += measure({&profile, pool, configuration, epochs[random.below(epochs.size())], name}, random, runs);
    }
    return cost_usd;
  }

  struct Measured {
    std::vector<policies::PastRun> runs, too_large;
    double cost_usd = 0;
  };
  /// Runs of one profile in these pools, which `probes` takes one after the other until its money is spent. A configuration
  /// measured again for as many epochs would measure the same, so that none is.
  Measured chosen(const sim::Profile& profile, const std::vector<int>& pools, const Purse& purse, const LearningPolicy& probes,
                  const sim::Job& typical) {
    auto [pool, measurements] = probes_of(profile, pools);
    Measured done;
    const std::size_t most = static_cast<std::size_t>(purse.runs == 0 ? 0 : scenario_.history.runs) * pools.size();
    const std::size_t budget = static_cast<std::size_t>(purse.runs) * pools.size();
    for (std::size_t i = 0; i < most && done.cost_usd < purse.usd && !pool.empty(); ++i) {
      const std::uint64_t key = sim::stream_key(probes.seed, static_cast<std::uint64_t>(repetition_), "probes " + probes.kind,
                                                fmt::format("{}/{}", name_of(profile), i));
      const std::size_t next =
          probes.chooser->next({.pool = pool, .seen = done.runs, .typical = typical, .budget = budget, .random_key = key});
      sim::check(next < pool.size(), "a strategy probes what is not in the pool");
      sim::Random noise(stream(measurements[next].name));
      const std::size_t before = done.runs.size();
      done.cost_usd += measure(measurements[next], noise, done.runs);
      if (done.runs.size() > before && done.runs.back().told == policies::Told::out_of_memory) {
        done.too_large.push_back(std::move(done.runs.back()));
        done.runs.pop_back();
      }
      pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(next));
      measurements.erase(measurements.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return done;
  }

  const sim::Instance& instance(int pool) const {
    return scenario_.cluster
        .instances[static_cast<std::size_t>(scenario_.cluster.pools[static_cast<std::size_t>(pool)].instance)];
  }

  std::vector<sim::Configuration> grid_of(const sim::Profile& profile, int pool) const {
    const sim::Job job{.profile = &profile, .work = sim::Work::train, .pool = pool};
    return policies::candidate_configurations(job, scenario_.cluster, belief_, {});
  }

  const workloads::Belief& belief() const { return belief_; }
  /// Runs jobs alone by the belief.
  sim::AloneRunner& believed() { return believed_; }
  const workloads::ProfileModel& model_of(const sim::Profile& profile) const { return belief_.profiles().of(profile); }
  const Scenario& scenario() const { return scenario_; }
  /// Of a job alone, until its first step.
  double start_s(const sim::Configuration& c) const {
    return sim::boot_seconds(scenario_.cluster, nullptr, c) + scenario_.costs.start_s;
  }

  /// An epoch and its evaluation, as steps of this job show it. Negative: it does not fit.
  double epoch_s(const sim::Job& job, const sim::Configuration& c) {
    const sim::StageRates& rates = runner_.stages().rates(job, c);
    if (!rates.fits) return -1;
    return (rates.epoch.training_s + rates.epoch.evaluation_s) * runner_.stages().noise(job, c, 0);
  }
  double step_s(const sim::Job& job, const sim::Configuration& c) {
    return runner_.stages().rates(job, c).step_s * runner_.stages().noise(job, c, 0);
  }
  /// By which a time is measured wrong.
  double misread(const std::string& name) const { return sim::Random(stream(name)).log_normal_factor(scenario_.history.noise); }

  policies::PastRun too_large(const sim::Profile& profile, int pool, const sim::Configuration& c) const {
    policies::PastRun run = run_of(profile, pool, c);
    run.told = policies::Told::out_of_memory;
    return run;
  }

  /// What the evaluations read, one an epoch; empty: it diverges. Ends at the job's target, or at its cap.
  std::vector<double> curve(const sim::Job& job, const sim::Configuration& c) const {
    std::vector<double> readings;
    sim::Progress now;
    const auto note = [&](const sim::EpochStep& step, const sim::Progress& at) {
      const double accuracy = std::isnan(at.measured_accuracy) ? 0 : at.measured_accuracy;
      if (!step.outcome.diverged) readings.push_back(std::clamp(accuracy, 0.0, 1.0));
    };
    const sim::TrainingEnd end = sim::train_epochs(job, c, job.epochs, *world_.models().convergence, now, note);
    return end == sim::TrainingEnd::failed || now.divergences > 0 ? std::vector<double>() : readings;
  }

  policies::PastRun run_of(const sim::Profile& profile, int pool, const sim::Configuration& c) const {
    return {.model = profile.model,
            .dataset = profile.dataset,
            .precision = profile.precision,
            .lr_rule = profile.lr_rule,
            .max_accumulation = profile.max_accumulation,
            .recipe = profile.recipe,
            .instance = instance(pool).name,
            .workers = c.workers(),
            .batch_size = c.batch_size(),
            .samples = model_of(profile).training_samples};
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
                               .start_s = start_s(c)});
          all.second.push_back({&profile, pool, c, epochs,
                                fmt::format("probing/{}/{}/{} x {}/{}", name_of(profile), instance(pool).name, c.workers(),
                                            c.groups.front().batch_per_worker, epochs)});
        }
      }
    }
    return all;
  }

  std::uint64_t stream(const std::string& name) const {
    return sim::stream_key(scenario_.seed, static_cast<std::uint64_t>(repetition_), "profiling", name);
  }

  /// Appends the run and returns what it cost: of one that is out of memory the start-up. One that diverges teaches nothing and
  /// costs nothing.
  double measure(const Measurement& what, sim::Random& random, std::vector<policies::PastRun>& runs) {
    const sim::Job job{
        .name = what.name, .profile = what.profile, .work = sim::Work::train, .epochs = what.epochs, .pool = what.pool};
    const sim::AloneOutcome outcome = runner_.run(job, {.configuration = what.configuration});
    if (!outcome.fits) {
      runs.push_back(too_large(*what.profile, what.pool, what.configuration));
      return sim::usd_for(scenario_.cluster, scenario_.costs, what.configuration, start_s(what.configuration));
    }
    if (outcome.failure != sim::FailureReason::none) return 0;
    const double accuracy = world_.models().convergence->measured_accuracy(job, static_cast<int>(job.epochs), outcome.accuracy);
    policies::PastRun run = run_of(*what.profile, what.pool, what.configuration);
    run.epochs = job.epochs;
    run.time_s = (outcome.time_s - start_s(what.configuration)) * random.log_normal_factor(scenario_.history.noise);
    run.accuracy = std::isnan(accuracy) ? 0 : std::clamp(accuracy, 0.0, 1.0);
    run.curve = curve(job, what.configuration);
    runs.push_back(std::move(run));
    return outcome.cost_usd;
  }

  const Scenario& scenario_;
  const workloads::Belief& belief_;
  const workloads::World& world_;
  const int repetition_;
  policies::DataParallel place_;
  policies::RecommendedThreads threads_;
  sim::AloneRunner runner_, believed_;
};

/// The active measurements of one profile, made in the world.
struct Profiling::Campaign final : policies::Laboratory {
  Campaign(Profiler& profiler, const sim::Profile& of_profile, const std::vector<int>& pools, const policies::Learning& learning)
      : lab(profiler), profile(of_profile), believed(lab.believed(), lab.scenario().cluster, lab.belief(), of_profile) {
    std::vector<policies::ProbeCandidate> candidates;
    const workloads::ProfileModel& model = lab.model_of(profile);
    const Scenario& scenario = lab.scenario();
    for (const int pool : pools) {
      for (const sim::Configuration& c : lab.grid_of(profile, pool)) {
        configurations.push_back(c);
        candidates.push_back({.run = policies::planned(lab.run_of(profile, pool, c)),
                              .instance = lab.instance(pool).name,
                              .usd_per_s = sim::usd_per_s(scenario.cluster, scenario.costs, c),
                              .start_s = lab.start_s(c)});
      }
    }
    policies::PastRun recipe{.model = profile.model,
                             .dataset = profile.dataset,
                             .precision = profile.precision,
                             .lr_rule = profile.lr_rule,
                             .max_accumulation = profile.max_accumulation,
                             .recipe = profile.recipe,
                             .batch_size = model.publication_batch,
                             .samples = model.training_samples,
                             .told = policies::Told::recipe};
    if (model.convergence) recipe.epochs = model.convergence->reference_epochs;
    probes =
        std::make_unique<policies::ActiveProbes>(std::move(candidates), recipe,
                                                 policies::ActiveOptions{.envelope = learning.envelope,
                                                                         .margins = learning.margins,
                                                                         .believed = learning.weighs_belief ? &believed : nullptr,
                                                                         .reuse_jobs = scenario.profiling_reuse_jobs},
                                                 *this);
  }

  double price_usd(std::size_t candidate, double held_s) const override {
    return sim::usd_for(lab.scenario().cluster, lab.scenario().costs, configurations[candidate], held_s);
  }

  Measured time_steps(std::size_t candidate, double most_s) override {
    const sim::Configuration& c = configurations[candidate];
    const int pool = c.groups.front().pool;
    const std::string name = fmt::format("steps/{}/{}/{} x {}", name_of(profile), lab.instance(pool).name, c.workers(),
                                         c.groups.front().batch_per_worker);
    const sim::Job job{.name = name, .profile = &profile, .work = sim::Work::train, .epochs = 1, .pool = pool};
    const double epoch_s = lab.epoch_s(job, c);
    if (epoch_s < 0) return out_of_memory(candidate);
    Measured measured{.fits = true, .run = lab.run_of(profile, pool, c)};
    measured.run.told = policies::Told::steps;
    measured.run.epochs = 1;
    measured.run.time_s = epoch_s * lab.misread(name);
    measured.held_s = std::min(most_s, lab.start_s(c) + std::max(5.0, 50 * lab.step_s(job, c)));
    measured.usd = price_usd(candidate, measured.held_s);
    return measured;
  }

  /// The same training whenever it goes on: its name is the batch's.
  Measured train(std::size_t candidate, double until, double epochs, double most_s) override {
    const sim::Configuration& c = configurations[candidate];
    const int pool = c.groups.front().pool;
    const std::string name = fmt::format("training/{}/{}", name_of(profile), c.batch_size());
    sim::Job job{.name = name, .profile = &profile, .work = sim::Work::train, .pool = pool};
    const double epoch_s = lab.epoch_s(job, c), start_s = lab.start_s(c);
    double& before = trained[c.batch_size()];
    const double affordable = epoch_s > 0 ? std::floor((most_s - start_s) / epoch_s) : 0;
    job.epochs = std::min(epochs, before + affordable);
    job.target_accuracy = until;
    job.readings = 2;
    if (epoch_s < 0) return out_of_memory(candidate);
    if (job.epochs < before + 1) return {};
    Measured measured{.fits = true, .run = lab.run_of(profile, pool, c)};
    measured.run.curve = lab.curve(job, c);
    if (measured.run.curve.empty()) return {};
    const auto done = static_cast<double>(measured.run.curve.size());
    measured.run.epochs = done;
    measured.run.accuracy = measured.run.curve.back();
    measured.run.time_s = done * epoch_s * lab.misread(name);
    measured.held_s = start_s + std::max(0.0, done - before) * epoch_s;
    measured.usd = price_usd(candidate, measured.held_s);
    before = std::max(before, done);
    return measured;
  }

  /// Paid for until the first step.
  Measured out_of_memory(std::size_t candidate) const {
    const sim::Configuration& c = configurations[candidate];
    const double start_s = lab.start_s(c);
    return {.run = lab.too_large(profile, c.groups.front().pool, c), .held_s = start_s, .usd = price_usd(candidate, start_s)};
  }

  Profiler& lab;
  const sim::Profile& profile;
  std::vector<sim::Configuration> configurations;
  policies::BeliefOfRuns believed;
  std::map<double, double> trained;  ///< epochs by batch
  std::unique_ptr<policies::ActiveProbes> probes;
};

Profiling::Profiling(const Scenario& scenario, const workloads::Belief& belief, const workloads::World& world, int repetition,
                     const LearningPolicy& policy)
    : scenario_(scenario), policy_(policy), profiler_(std::make_unique<Profiler>(scenario, belief, world, repetition)) {
  std::set<std::string> instances;
  for (int pool = 0; pool < static_cast<int>(scenario.cluster.pools.size()); ++pool)
    if (instances.insert(profiler_->instance(pool).name).second) pools_.push_back(pool);
  if (!scenario.history.own.empty()) {
    runs_ = scenario.history.own;
    is_stale_ = true;
  }
}

Profiling::~Profiling() = default;

/// Too few runs to learn from are not worth their money.
Profiling::Purse Profiling::purse_for(const sim::Job& job) {
  constexpr int kFewest = 3;
  const int most = scenario_.history.runs;
  if (policy_.learning.budget == sim::kNever) return {.runs = most};
  double of_each_usd = 0;
  for (const int pool : pools_) of_each_usd += profiler_->believed_run_usd(*job.profile, pool);
  const double usd = policy_.learning.budget * scenario_.profiling_reuse_jobs * profiler_->believed_manual_usd(job);
  const double affordable = usd / of_each_usd;
  if (affordable < std::min(most, kFewest)) return {.runs = 0};
  return {.runs = affordable < most ? static_cast<int>(affordable) : most, .usd = usd};
}

void Profiling::make_runs(const sim::Job& job) {
  const auto [cost, is_first] = cost_of_.emplace(job.profile->index, 0.0);
  if (!is_first || !scenario_.history.own.empty()) return;
  is_stale_ = true;
  const bool own = policy_.chooser != nullptr && policy_.learning.probing == policies::Probing::own;
  const Purse purse = own || scenario_.history.bought ? purse_for(job) : Purse{.runs = scenario_.history.runs};
  if (own) {
    Profiler::Measured measured = profiler_->chosen(*job.profile, pools_, purse, policy_, job);
    for (const auto& runs : {measured.runs, measured.too_large}) runs_.insert(runs_.end(), runs.begin(), runs.end());
    cost->second = measured.cost_usd;
    return;
  }
  for (const int pool : pools_) cost->second += profiler_->shared(*job.profile, pool, purse.runs, runs_);
  if (!scenario_.history.bought) cost->second = 0;
}

/// What is known of the job's profile when it has waited. Its own measurements join runs of the user's.
Profiling::Known Profiling::actively(const sim::Job& job, double now_s) {
  std::unique_ptr<Campaign>& campaign = campaigns_[job.profile->index];
  if (campaign == nullptr) campaign = std::make_unique<Campaign>(*profiler_, *job.profile, pools_, policy_.learning);
  const auto& convergence = profiler_->model_of(*job.profile).convergence;
  policies::JobLimits limits{.floor = job.target_accuracy, .deadline_s = job.deadline_s, .readings = job.readings};
  limits.epochs = job.epochs > 0 ? job.epochs : convergence ? 3 * convergence->reference_epochs : 1;
  if (job.work == sim::Work::steps) {
    limits.batch_size = job.batch_size;
    limits.epochs = job.steps * job.batch_size / profiler_->model_of(*job.profile).training_samples;
  }
  const double wait_s = campaign->probes->arrive(limits, now_s);
  std::vector<policies::PastRun> known = runs_;
  for (policies::PastRun& run : campaign->probes->known(now_s + wait_s)) known.push_back(std::move(run));
  history_ = policies::RunHistory(std::move(known));
  return {.history = &history_, .wait_s = wait_s};
}

policies::PastRuns::Known Profiling::at_arrival(const sim::Job& job, double now_s) {
  if (policy_.learning.probing == policies::Probing::active) return actively(job, now_s);
  make_runs(job);
  if (std::exchange(is_stale_, false)) history_ = policies::RunHistory(runs_);
  return {.history = &history_};
}

void Profiling::on_run(policies::PastRun run) {
  if (!policy_.learning.jobs) return;
  for (const auto& [profile, campaign] : campaigns_) {
    if (!workloads::is_of(run, campaign->profile)) continue;
    campaign->probes->add(std::move(run));
    return;
  }
  runs_.push_back(std::move(run));
  is_stale_ = true;
}

double Profiling::cost_usd(const sim::Profile& profile) const {
  const auto campaign = campaigns_.find(profile.index);
  if (campaign != campaigns_.end()) return campaign->second->probes->cost_usd();
  const auto shared = cost_of_.find(profile.index);
  return shared == cost_of_.end() ? 0 : shared->second;
}

}  // namespace rehearse::scenarios
