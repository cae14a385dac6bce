#include "policies/staged/agent_training.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "policies/configure/menu.hpp"
#include "policies/place/data_parallel.hpp"
#include "policies/staged/environment.hpp"
#include "policies/staged/staged_rl.hpp"
#include "policies/threads/recommended.hpp"

namespace rehearse::policies {

namespace {

constexpr int kSites = 12;
constexpr int kJobsAStep = 16;
constexpr int kRollouts = 8;  ///< of each job
constexpr int kValidationJobs = 400;
constexpr double kLearningRate = 1e-3;
constexpr double kEntropyBonus = 1e-4;
constexpr double kMostGradient = 1;
constexpr double kCriticWeight = 0.1;
constexpr double kHeard = 0.5;  ///< of the jobs begin with past runs
constexpr double kHeardSpeed = 0.02, kHeardNoiseScale = 0.12;
constexpr double kAllowedViolations = 0.01;
constexpr double kPriceStep = 1;
constexpr std::uint64_t kValidation = std::uint64_t{1} << 40;  ///< repetitions of worlds that are not trained in

}  // namespace

/// A cluster with its prices and switching costs, and what is believed there.
struct AgentTraining::Site {
  sim::Cluster cluster;
  sim::CostRules costs;
  workloads::Belief belief;
  DataParallel place;
  RecommendedThreads threads;
  sim::Policy policy{.name = "training", .place = &place, .threads = &threads};
  sim::AloneRunner believed;
  std::map<int, std::unique_ptr<StageTable>> tables;  ///< by profile

  Site(sim::Cluster made, const sim::CostRules& rules, const workloads::ProfileModels& models)
      : cluster(std::move(made)), costs(rules), belief(cluster, models), believed(cluster, costs, belief.models(), policy) {}
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;
};

/// A job at a site, with all that choosing for it needs.
struct AgentTraining::Course {
  Site& site;
  const sim::Job& job;
  sim::Configuration manual;
  std::vector<sim::Configuration> candidates;
  std::vector<double> ends;
  const StageTable* table = nullptr;
  std::function<sim::Prediction(const sim::Configuration&)> no_estimate = [](const sim::Configuration&) {
    return sim::Prediction();
  };

  Course(Site& at, const sim::Job& of, const TrainingInputs& in) : site(at), job(of) {
    manual = in.manual->configuration(job, site.cluster, site.costs, site.belief, site.believed);
    candidates = candidate_configurations(job, site.cluster, site.belief, manual);
    ends = stage_ends(job, manual, in.stage_rules, site.believed.stages());
    std::unique_ptr<StageTable>& made = site.tables[job.profile->index];
    if (made == nullptr || made->configurations() != candidates)
      made = std::make_unique<StageTable>(job, candidates, site.believed.stages(), site.belief.profiles().of(*job.profile));
    table = made.get();
  }
  ConfigureView view() {
    return {.job = job,
            .cluster = site.cluster,
            .costs = site.costs,
            .candidates = candidates,
            .manual = manual,
            .estimate = no_estimate,
            .believed = &site.believed};
  }
};

struct AgentTraining::Rollout {
  struct Decision {
    AgentInputs inputs;
    std::int32_t chosen = 0;
  };
  std::vector<Decision> decisions;
  JudgedCourse course;
  double lateness = 0, shortfall = 0;
};

namespace {

/// A prior as past runs would leave it: near the world, as sure as they are.
Prior as_if_heard(const ConfigureView& view, sim::StageRunner& truth, sim::Random& random) {
  Prior prior{.noise_scale_spread = kHeardNoiseScale};
  for (int pool = 0; pool < static_cast<int>(view.cluster.pools.size()); ++pool) {
    const auto there = [&](const sim::Configuration& c) {
      return c.groups.front().pool == pool && view.believed->stages().rates(view.job, c).fits;
    };
    const auto one = std::find_if(view.candidates.begin(), view.candidates.end(), there);  // the fewest workers
    double slower = 1;
    if (one != view.candidates.end())
      slower = truth.rates(view.job, *one).step_s / view.believed->stages().rates(view.job, *one).step_s;
    prior.mean.slower_on_pool.push_back(slower * random.log_normal_factor(kHeardSpeed));
    prior.speed_spreads.push_back(std::hypot(kHeardSpeed, 0.03));
  }
  const auto noise_scale = [&](const sim::Models& models) {
    sim::TrainingState state;
    return models.convergence->train(view.job, view.manual, view.manual.batch_size(), state).noise_scale;
  };
  const double believed = noise_scale(view.believed->stages().models());
  if (believed > 0)
    prior.mean.noise_scale_factor = noise_scale(truth.models()) / believed * random.log_normal_factor(kHeardNoiseScale);
  return prior;
}

}  // namespace

AgentTraining::AgentTraining(const TrainingInputs& inputs)
    : inputs_(inputs), agent_(inputs.seed), tape_(agent_.parameters()), decide_(std::as_const(agent_.parameters())) {
  for (int s = 0; s < kSites; ++s) {
    sim::Random random(sim::stream_key(inputs.seed, static_cast<std::uint64_t>(s), "training", "site"));
    sim::Cluster cluster = *inputs.cluster;
    sim::CostRules costs = inputs.costs;
    if (s > 0) {  // the first is the scenario's own
      for (sim::Instance& instance : cluster.instances) instance.price_usd_per_hour *= std::exp2(random.uniform(-1, 1));
      const double dearer = std::exp(random.uniform(std::log(0.3), std::log(30.0)));
      costs.start_s *= dearer;
      costs.checkpoint_s *= dearer;
      costs.restore_bytes_per_s /= dearer;
      costs.warmup_epochs *= dearer;
    }
    sites_.push_back(std::make_unique<Site>(std::move(cluster), costs, *inputs.models));
  }
  for (workloads::GeneratorSettings generator : inputs.generators) {
    generator.name = "training-" + generator.name;
    const std::vector<sim::Job> made = workloads::generate_jobs(generator, sites_.front()->belief, inputs.seed, 0);
    jobs_.insert(jobs_.end(), made.begin(), made.end());
  }
  std::copy_if(inputs.jobs.begin(), inputs.jobs.end(), std::back_inserter(jobs_),
               [](const sim::Job& job) { return job.work == sim::Work::train; });
  sim::check(!jobs_.empty(), "training needs jobs");
  for (sim::Job& job : jobs_) job.submit_s = 0;
}

AgentTraining::~AgentTraining() = default;

namespace {

struct Chosen {
  std::int32_t option = 0;
  double excess = 0;
};

/// Without random numbers: greedy, and no word of the critic.
Chosen choose(const StagedAgent& agent, Tape& tape, const AgentInputs& inputs, sim::Random* random) {
  if (random == nullptr) return {.option = agent.best(tape, inputs)};
  tape.clear();
  const Var mask = tape.constant({1, static_cast<Eigen::Index>(inputs.mask.size())}, inputs.mask);
  const auto [scores, excess] = agent.judge(tape, inputs);
  const auto shares = numbers_of(tape.value(tape.softmax(scores, mask)));
  Chosen chosen{.excess = tape.number(excess)};
  double left = random->uniform();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= 0) continue;
    chosen.option = static_cast<std::int32_t>(i);
    if ((left -= shares[i]) < 0) break;
  }
  return chosen;
}

}  // namespace

AgentTraining::Rollout AgentTraining::roll_out(Course& course, const workloads::World& world, const Prior& prior,
                                               sim::Random* random) {
  sim::StageRunner truth(course.site.cluster, course.site.costs, world.models(), course.site.policy);
  Episode episode(course.job, truth);
  Rollout rollout;
  const ConfigureView view = course.view();
  while (!episode.ended()) {
    AgentDecision decision = prepare_decision(view, episode.seen(), {course.site.belief, *course.table, course.ends, prior});
    if (decision.outlook.options.empty()) break;
    const Chosen made = choose(agent_, decide_, decision.inputs, random);
    const double plan_usd = decision.inputs.plan_usd;
    if (rollout.decisions.empty() && plan_usd > 0) rollout.course.reference_usd = plan_usd;
    const StageOption& option = decision.outlook.options[static_cast<std::size_t>(made.option)];
    const sim::Choice choice{.configuration = course.candidates[static_cast<std::size_t>(option.candidate)],
                             .until_epochs = decision.ends.empty() ? sim::kNever : decision.ends.front()};
    rollout.decisions.push_back({.inputs = std::move(decision.inputs), .chosen = made.option});
    rollout.course.steps.push_back({.plan_usd = plan_usd > 0 ? plan_usd : rollout.course.reference_usd,
                                    .cost_usd = episode.standing().cost_usd,
                                    .excess = made.excess});
    episode.step(choice);
  }
  rollout.course.cost_usd = episode.standing().cost_usd;
  rollout.lateness = episode.lateness();
  rollout.shortfall = episode.shortfall();
  rollout.course.fine = penalty(rollout);
  return rollout;
}

/// A broken limit costs its multiplier's share of the reference even when it is broken by little: a late job has failed.
double AgentTraining::penalty(const Rollout& r) const {
  return late_price_ * (r.lateness > 0 ? 0.1 + std::min(1.0, r.lateness) : 0) +
         short_price_ * (r.shortfall > 0 ? 0.1 + r.shortfall : 0);
}

void AgentTraining::iterate() {
  std::vector<Rollout> all;
  double late = 0, short_of = 0;
  sim::Random random(sim::stream_key(inputs_.seed, static_cast<std::uint64_t>(iteration_), "training", "rollouts"));
  for (int j = 0; j < kJobsAStep; ++j) {
    Site& site = *sites_[random.below(sites_.size())];
    Course course(site, jobs_[random.below(jobs_.size())], inputs_);
    const auto repetition = iteration_ * kJobsAStep + j;
    const workloads::World world(site.belief, workloads::WorldErrors::scaled(inputs_.model_error * random.uniform(0, 1.5)),
                                 inputs_.seed, repetition);
    sim::StageRunner truth(site.cluster, site.costs, world.models(), site.policy);
    const Prior prior = random.uniform() < kHeard ? as_if_heard(course.view(), truth, random) : Prior();
    std::vector<Rollout> rollouts;
    int group_late = 0, group_short = 0;
    for (int r = 0; r < kRollouts; ++r) {
      rollouts.push_back(roll_out(course, world, prior, &random));
      group_late += rollouts.back().lateness > 0;
      group_short += rollouts.back().shortfall > 0;
    }
    // What no rollout avoids says nothing about the agent.
    late += group_late < kRollouts ? group_late : 0;
    short_of += group_short < kRollouts ? group_short : 0;
    std::vector<JudgedCourse*> courses;
    for (Rollout& r : rollouts) courses.push_back(&r.course);
    find_advantages(courses);
    std::move(rollouts.begin(), rollouts.end(), std::back_inserter(all));
  }
  learn(all);
  const double rollouts = kJobsAStep * kRollouts;
  late_price_ = std::max(0.0, late_price_ + kPriceStep * (late / rollouts - kAllowedViolations));
  short_price_ = std::max(0.0, short_price_ + kPriceStep * (short_of / rollouts - kAllowedViolations));
  ++iteration_;
}

void AgentTraining::learn(const std::vector<Rollout>& rollouts) {
  ParameterSet& parameters = agent_.parameters();
  parameters.clear_gradients();
  for (const Rollout& rollout : rollouts) {
    for (std::size_t i = 0; i < rollout.decisions.size(); ++i) {
      const auto& [inputs, option] = rollout.decisions[i];
      const JudgedCourse::Step& step = rollout.course.steps[i];
      tape_.clear();
      const Var mask = tape_.constant({1, static_cast<Eigen::Index>(inputs.mask.size())}, inputs.mask);
      const auto [scores, excess] = agent_.judge(tape_, inputs);
      const Var log_share = tape_.log_softmax(scores, mask);
      const std::int32_t chosen[] = {option};
      const Var gain = tape_.scale(tape_.pick(log_share, chosen), -step.advantage);
      const Var actor = tape_.subtract(gain, tape_.scale(tape_.entropy(log_share), kEntropyBonus));
      const Var critic = tape_.scale(tape_.square(tape_.affine(excess, 1, -step.wanted_excess)), kCriticWeight);
      tape_.backward(tape_.scale(tape_.add(actor, critic), 1.0 / static_cast<double>(rollouts.size())));
      critic_squares_ += std::pow(step.excess - step.wanted_excess, 2);
      ++critic_steps_;
    }
  }
  parameters.clip_gradients(kMostGradient);
  adam_.step(parameters, kLearningRate);
}

LearningPoint AgentTraining::validate() {
  LearningPoint point{.iteration = iteration_,
                      .critic_error = std::sqrt(critic_squares_ / std::max(1.0, critic_steps_)),
                      .late_price = late_price_,
                      .short_price = short_price_};
  critic_squares_ = critic_steps_ = 0;
  const bool first = reference_usd_.empty();
  double ratio = 0, broken = 0;
  for (int v = 0; v < kValidationJobs; ++v) {
    sim::Random random(sim::stream_key(inputs_.seed, static_cast<std::uint64_t>(v), "training", "validation"));
    Site& site = *sites_[random.below(sites_.size())];
    Course course(site, jobs_[random.below(jobs_.size())], inputs_);
    const workloads::World world(site.belief, workloads::WorldErrors::scaled(inputs_.model_error * (v % 2)),
                                 inputs_.seed + kValidation, v);
    sim::StageRunner truth(site.cluster, site.costs, world.models(), site.policy);
    const Prior prior = v % 4 < 2 ? as_if_heard(course.view(), truth, random) : Prior();
    const Rollout rollout = roll_out(course, world, prior, nullptr);
    if (first) reference_usd_.push_back(std::max(1e-9, rollout.course.cost_usd));
    ratio += rollout.course.cost_usd / reference_usd_[static_cast<std::size_t>(v)];
    point.late += rollout.lateness > 0;
    point.short_of += rollout.shortfall > 0;
    broken += rollout.lateness > 0 || rollout.shortfall > 0;
  }
  point.cost_ratio = ratio / kValidationJobs;
  point.late /= kValidationJobs;
  point.short_of /= kValidationJobs;
  // One broken job in a hundred weighs like one per cent of the money.
  point.merit = point.cost_ratio + broken / kValidationJobs;
  return point;
}

}  // namespace rehearse::policies
