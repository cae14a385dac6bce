#include "policies/registry/bundle.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::policies {

namespace {

template <class Entry>
const Entry& entry_of(const std::vector<Entry>& entries, const StrategyChoice& choice) {
  const Entry* entry = find_strategy(entries, choice.name);
  sim::check(entry != nullptr, "a strategy that is not registered");
  return *entry;
}

template <class Entry>
auto make(const std::vector<Entry>& entries, const StrategyChoice& choice) {
  const Entry& entry = entry_of(entries, choice);
  return entry.make(Parameters(entry.parameters, choice.parameters));
}

std::unique_ptr<sim::Place> make_place(const StrategyChoice& choice, const OutsideInputs& outside, const BundleInputs& inputs) {
  if (choice.outside != nullptr) return choice.outside->place(outside);
  const PlaceEntry& entry = entry_of(place_strategies(), choice);
  return entry.make(Parameters(entry.parameters, choice.parameters),
                    {.belief = outside.belief,
                     .seed = outside.policy_seed,
                     .repetition = static_cast<std::uint64_t>(outside.repetition),
                     .costs = &inputs.costs,
                     .reuse_jobs = inputs.profiling_reuse_jobs,
                     .network = choice.network.get()});
}

std::unique_ptr<sim::Threads> make_threads(const StrategyChoice& choice, const OutsideInputs& outside) {
  if (choice.outside != nullptr) return choice.outside->threads(outside);
  const ThreadsEntry& entry = entry_of(threads_strategies(), choice);
  return entry.make(Parameters(entry.parameters, choice.parameters),
                    sim::stream_key(outside.policy_seed, static_cast<std::uint64_t>(outside.repetition),
                                    "threads " + choice.name, ""));
}

std::unique_ptr<sim::Queue> make_queue(const StrategyChoice& choice, const OutsideInputs& outside) {
  if (choice.outside != nullptr) return choice.outside->queue(outside);
  const auto make_one = [&] { return make(queue_strategies(), choice); };
  if (choice.partitions.empty()) return make_one();
  return std::make_unique<Partitioned>(choice.partitions, make_one);
}

template <class Entry>
bool is_yardstick(const std::vector<Entry>& entries, const StrategyChoice& choice) {
  return choice.outside == nullptr && entry_of(entries, choice).is_yardstick;
}

}  // namespace

bool is_yardstick(const PolicySpec& spec) {
  return is_yardstick(configure_strategies(), spec.configure) || is_yardstick(place_strategies(), spec.place) ||
         is_yardstick(threads_strategies(), spec.threads) || is_yardstick(queue_strategies(), spec.queue);
}

namespace {

bool answers(const StrategyChoice& queue, bool (*QueueEntry::*question)(const Parameters&)) {
  const QueueEntry* entry = queue.outside != nullptr ? nullptr : find_strategy(queue_strategies(), queue.name);
  return entry != nullptr && entry->*question != nullptr && (entry->*question)(Parameters(entry->parameters, queue.parameters));
}

}  // namespace

bool may_preempt(const StrategyChoice& queue) { return answers(queue, &QueueEntry::preempts); }
bool reads_limits(const StrategyChoice& queue) { return answers(queue, &QueueEntry::reads_limits); }

void Bundle::make_configure(const OutsideInputs& outside) {
  const StrategyChoice& choice = spec_.configure;
  if (choice.outside != nullptr) {
    configure_ = choice.outside->configure(outside);
    return;
  }
  const ConfigureEntry& entry = entry_of(configure_strategies(), choice);
  const Parameters parameters(entry.parameters, choice.parameters);
  if (entry.make_oracle != nullptr)
    oracle_ = entry.make_oracle(parameters);
  else if (entry.make_agent != nullptr)
    configure_ = entry.make_agent(parameters, choice.network.get());
  else
    configure_ = entry.make(parameters);
}

Bundle::Bundle(const PolicySpec& spec, const BundleInputs& inputs) : spec_(spec), inputs_(inputs) {
  inputs_.policy_seed = spec.policy_seed.value_or(inputs.policy_seed);
  const OutsideInputs outside{.policy = spec.name,
                              .cluster = inputs.cluster,
                              .belief = inputs.belief,
                              .policy_seed = inputs_.policy_seed,
                              .repetition = inputs.repetition,
                              .folder = inputs.folder};
  make_configure(outside);
  place_ = make_place(spec.place, outside, inputs_);
  threads_ = make_threads(spec.threads, outside);
  queue_ = make_queue(spec.queue, outside);
  believed_ = std::make_unique<sim::AloneRunner>(*inputs_.cluster, inputs_.costs, inputs.belief->models(), policy());
  truth_ = std::make_unique<sim::AloneRunner>(*inputs_.cluster, inputs_.costs, inputs.world->models(), policy());
  const sim::Policy reference{.name = "manual", .place = &reference_place_, .threads = &reference_threads_};
  reference_believed_ = std::make_unique<sim::AloneRunner>(*inputs_.cluster, inputs_.costs, inputs.belief->models(), reference);
  reference_ = std::make_unique<sim::AloneRunner>(*inputs_.cluster, inputs_.costs, inputs.world->models(), reference);
}

sim::Policy Bundle::policy() {
  return {.name = spec_.name, .configure = this, .place = place_.get(), .threads = threads_.get(), .queue = queue_.get()};
}

namespace {

/// A job that is out of memory goes on with half of its batch, and trains its budget then: the epochs of the first that fits; its
/// longest where none is believed to.
double budget_with_less_memory(const sim::Job& to_target, const sim::Configuration& configuration, sim::AloneRunner& believed) {
  const double epochs = believed.run_until_it_fits(to_target, {.configuration = configuration}).epochs;
  return epochs > 0 ? epochs : sim::epoch_cap(to_target, 0, *believed.stages().models().convergence);
}

}  // namespace

sim::Prediction Bundle::estimate(const sim::Job& job, const sim::Configuration& configuration, sim::AloneRunner& believed) {
  sim::Job to_target = job;
  to_target.stop = sim::Stop::target;  // a budget is what this prediction says
  const sim::AloneOutcome outcome = believed.run(to_target, {.configuration = configuration});
  sim::Prediction p;
  p.feasible = outcome.fits && outcome.failure == sim::FailureReason::none;
  if (!outcome.fits) {
    p.note = "does not fit";
    if (job.stop == sim::Stop::budget) p.epochs = budget_with_less_memory(to_target, configuration, believed);
    return p;
  }
  p.time_s = outcome.time_s;
  p.cost_usd = outcome.cost_usd;
  p.accuracy = outcome.accuracy;
  if (job.work == sim::Work::train) p.epochs = outcome.epochs;
  if (&believed == believed_.get() && place_->changes() > 0) expect_search(job, configuration, outcome, p);
  return p;
}

std::vector<sim::Plans> Bundle::ask_place(const sim::Job& job, const sim::Configuration& configuration,
                                          const sim::AloneOutcome& expected, bool decides) {
  const double steps = job.work == sim::Work::steps
                           ? job.steps
                           : expected.epochs * std::ceil(inputs_.belief->profiles().of(*job.profile).training_samples /
                                                         configuration.batch_size());
  return sim::ask_plans(policy(), *inputs_.belief->models().step_times, *inputs_.cluster, job, configuration,
                        sim::empty_cluster_layout(*inputs_.cluster, configuration),
                        {.decides = decides, .steps = steps, .time_s = expected.time_s});
}

Bundle::SearchPrice Bundle::price_of(const sim::Job& job, const sim::Configuration& configuration,
                                     std::span<const sim::Plans> plans, const sim::Models& models) const {
  SearchPrice price;
  for (const sim::Plans& of_group : plans) price.evaluations += static_cast<double>(of_group.step.evaluations);
  if (price.evaluations == 0) return price;
  const sim::Layout layout = sim::empty_cluster_layout(*inputs_.cluster, configuration);
  price.time_s = models.step_times->timing(job, configuration, layout, plans).profiling_s;
  price.cost_usd = price.time_s *
                   search_usd_per_s(*inputs_.cluster, inputs_.costs, configuration, layout.front().front().devices) /
                   inputs_.profiling_reuse_jobs;
  return price;
}

void Bundle::expect_search(const sim::Job& job, const sim::Configuration& configuration, const sim::AloneOutcome& outcome,
                           sim::Prediction& p) {
  const std::vector<sim::Plans> plans = ask_place(job, configuration, outcome, false);
  if (plans.empty() || plans.front().step.expected_share == 1) return;
  const double left_s = outcome.time_s - outcome.running_s * (1 - plans.front().step.expected_share);
  const SearchPrice price = price_of(job, configuration, plans, inputs_.belief->models());
  p.time_s = left_s + price.time_s;
  p.cost_usd = sim::usd_for(*inputs_.cluster, inputs_.costs, configuration, left_s) + price.cost_usd;
}

void Bundle::search(const sim::Job& job, sim::Menu& menu) {
  if (!place_->searches() || job.work == sim::Work::rigid || menu.ranked.empty() || menu.pause.is_set()) return;
  const sim::Configuration& configuration = std::as_const(menu.ranked).front().configuration;
  if (!sim::could_ever_fit(*inputs_.cluster, configuration)) return;
  sim::Job to_target = job;
  to_target.stop = sim::Stop::target;
  sim::AloneOutcome expected = believed_->run(to_target, {.configuration = configuration});
  const sim::Choice& first = std::as_const(menu.ranked).front();
  if (first.predicted.time_s > expected.time_s) expected.time_s = first.predicted.time_s;
  expected.epochs = std::min(expected.epochs, first.until_epochs);
  const SearchPrice price = price_of(job, configuration, ask_place(job, configuration, expected, true), inputs_.world->models());
  menu.wait_s += price.time_s;
  menu.wait_usd += price.cost_usd;
  searched_steps_ += price.evaluations;
}

sim::Menu Bundle::configure(const sim::Job& job, double now_s) { return ask(job, {}, now_s); }

sim::Menu Bundle::configure_again(const sim::Job& job, std::span<const sim::StageSeen> seen, double now_s) {
  return ask(job, seen, now_s);
}

PastRun Bundle::past_run_of(const sim::Job& job, const sim::Configuration& c) const {
  const sim::Profile& profile = *job.profile;
  const bool asynchronous = c.sync.kind == sim::SyncKind::servers_async;
  const auto& pool = inputs_.cluster->pools[static_cast<std::size_t>(c.groups.front().pool)];
  return {.model = profile.model,
          .dataset = profile.dataset,
          .precision = profile.precision,
          .lr_rule = profile.lr_rule,
          .max_accumulation = profile.max_accumulation,
          .recipe = profile.recipe,
          .instance = inputs_.cluster->instances[static_cast<std::size_t>(pool.instance)].name,
          .workers = c.workers(),
          .batch_size = c.batch_size() * (asynchronous ? c.workers() : 1),
          .samples = inputs_.belief->profiles().of(profile).training_samples,
          .asynchronous = asynchronous};
}

bool Bundle::joins_the_past(const sim::Job& job, const sim::Configuration& c) const {
  const bool is_measured_type = job.profile->dataset.empty();  // nobody learns what its table has
  return inputs_.past_runs != nullptr && c.groups.size() == 1 && !is_measured_type;
}

void Bundle::on_run(const sim::RunSeen& run) {
  if (!joins_the_past(*run.job, *run.configuration) || run.accuracies.empty()) return;
  PastRun past = past_run_of(*run.job, *run.configuration);
  past.epochs = static_cast<double>(run.accuracies.size());
  past.time_s = run.time_s;
  for (const double accuracy : run.accuracies) past.curve.push_back(std::isnan(accuracy) ? 0 : std::clamp(accuracy, 0.0, 1.0));
  past.accuracy = past.curve.back();
  inputs_.past_runs->on_run(std::move(past));
}

void Bundle::on_out_of_memory(const sim::Job& job, const sim::Configuration& configuration) {
  if (!joins_the_past(job, configuration)) return;
  PastRun past = past_run_of(job, configuration);
  past.told = Told::out_of_memory;
  inputs_.past_runs->on_run(std::move(past));
}

PastRuns::Known Bundle::known(const sim::Job& job, bool arrives, double now_s) {
  if (inputs_.past_runs == nullptr) return {.history = inputs_.history};
  if (!arrives) return {.history = last_known_};
  const PastRuns::Known known = inputs_.past_runs->at_arrival(job, now_s);
  last_known_ = known.history;
  return known;
}

sim::Menu Bundle::ask(const sim::Job& submitted, std::span<const sim::StageSeen> seen, double now_s) {
  const PastRuns::Known past = known(submitted, seen.empty(), now_s);
  sim::Job job = submitted;  // what it waits for measurements is gone from its time
  if (past.wait_s > 0 && job.has_deadline()) job.deadline_s = std::max(1e-6, job.deadline_s - past.wait_s);
  const sim::Configuration manual =
      inputs_.manual->configuration(submitted, *inputs_.cluster, inputs_.costs, *inputs_.belief, *believed_);
  std::vector<sim::Configuration> candidates = candidate_configurations(job, *inputs_.cluster, *inputs_.belief, manual);
  std::erase_if(candidates, [&](const sim::Configuration& c) { return !differ_only_in(spec_.free, c, manual); });
  if (candidates.empty()) candidates.push_back(manual);  // so that the job can fail by its own reason
  const std::function<sim::Prediction(const sim::Configuration&)> estimated = [&](const sim::Configuration& c) {
    if (inputs_.at_work != nullptr) inputs_.at_work->predicted.fetch_add(1, std::memory_order_relaxed);
    return estimate(job, c, *believed_);
  };
  const ConfigureView view{.job = job,
                           .cluster = *inputs_.cluster,
                           .costs = inputs_.costs,
                           .now_s = now_s,
                           .candidates = candidates,
                           .manual = manual,
                           .estimate = estimated,
                           .history = past.history,
                           .random_key = sim::stream_key(inputs_.policy_seed, static_cast<std::uint64_t>(inputs_.repetition),
                                                         "configure " + spec_.configure.name, job.name),
                           .stage_rules = inputs_.stage_rules,
                           .believed = believed_.get(),
                           .sight = sight_};
  if (oracle_ != nullptr)
    return seen.empty() ? oracle_->configure(view, *inputs_.world, *truth_)
                        : oracle_->configure_again(view, seen, *inputs_.world, *truth_);
  sim::Menu menu =
      seen.empty() ? configure_->configure(view, *inputs_.belief) : configure_->configure_again(view, seen, *inputs_.belief);
  menu.wait_s = past.wait_s;
  if (spec_.configure.outside != nullptr) check_free(menu, manual);  // others choose among the candidates
  if (seen.empty()) search(job, menu);
  return menu;
}

void Bundle::check_free(const sim::Menu& menu, const sim::Configuration& manual) const {
  for (const sim::Choice& choice : menu.ranked)
    if (!differ_only_in(spec_.free, choice.configuration, manual))
      throw sim::PolicyError("a choice that differs from the manual configuration in more than the policy's \"free\" says");
}

double Bundle::manual_alone_usd(const sim::Job& job) {
  if (job.work == sim::Work::rigid) {
    const sim::Menu menu = sim::rigid_menu(job, *inputs_.cluster, inputs_.costs);
    if (menu.ranked.empty()) return sim::kUnset;
    return reference_->run(job, menu.ranked.front()).cost_usd;
  }
  const sim::AloneOutcome outcome = reference_->run_until_it_fits(job, manual_choice(job));
  return outcome.fits ? outcome.cost_usd : sim::kUnset;
}

sim::Choice Bundle::manual_choice(const sim::Job& job) {
  sim::Choice choice;
  choice.configuration =
      inputs_.manual->configuration(job, *inputs_.cluster, inputs_.costs, *inputs_.belief, *reference_believed_);
  choice.predicted = estimate(job, choice.configuration, *reference_believed_);
  if (choice.configuration.workers() == 1) choice.configuration.share.fraction = job.gpu_fraction;
  return choice;
}

Bundle::AloneRun Bundle::manual_alone(const sim::Job& job) {
  if (job.work == sim::Work::rigid) {
    const sim::Menu menu = sim::rigid_menu(job, *inputs_.cluster, inputs_.costs);
    if (menu.ranked.empty()) return {};
    return {.time_s = menu.ranked.front().predicted.time_s,
            .running_s = menu.ranked.front().predicted.time_s,
            .devices = job.gpus * job.gpu_fraction,
            .configuration = menu.ranked.front().configuration};
  }
  const sim::Choice choice = manual_choice(job);
  const sim::AloneOutcome outcome = reference_->run_until_it_fits(job, choice);
  if (!outcome.fits) return {};
  return {.time_s = outcome.time_s,
          .running_s = outcome.running_s,
          .devices = choice.configuration.devices_held(),
          .configuration = choice.configuration};
}

}  // namespace rehearse::policies
