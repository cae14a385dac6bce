// The search: each (device, batch of a worker, precision, limit) is timed once, each candidate is then a few products.
#include "policies/harness/rent.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "policies/harness/nearby_errors.hpp"
#include "policies/learn/gaussian_learner.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/base/statistics.hpp"
#include "workloads/layers/layer_cost.hpp"

namespace rehearse::policies {

namespace {

constexpr double kForwardShare = 1.0 / 3;
constexpr int kMostAccumulation = 64;
constexpr double kFree = 1e6;  // by how much better a device is whose part of a step costs nothing

bool precision_pays(sim::Precision precision, const sim::Device& device) {
  if (precision == sim::Precision::fp32) return true;
  return device.kind == sim::DeviceKind::gpu && peak_flops_in(device, precision) > device.peak_fp32_flops;
}

}  // namespace

Spread spread_of(const PlanChoice& choice) {
  return choice.workers == 1 ? Spread::worker : choice.nodes == 1 ? Spread::node : Spread::nodes;
}

PredictionError validated_error(Knowledge knowledge, Spread spread) {
  // One worker of eleven groups, eight of them predicted with their software as other laboratories have it, ten with other models
  // of the device, eleven with the very model (bench/prediction_error.py): mean over the groups of the logarithm, and what a
  // twelfth group would deviate by, its own rows' scatter included.
  PredictionError error = knowledge == Knowledge::data_sheet ? PredictionError{.bias = 1.25, .sigma = 0.42}
                          : knowledge == Knowledge::stack    ? PredictionError{.bias = 1.04, .sigma = 0.45}
                          : knowledge == Knowledge::device   ? PredictionError{.bias = 1.06, .sigma = 0.37}
                                                             : PredictionError{.bias = 1.00, .sigma = 0.16};
  // Several workers: six groups within a node are slower than one worker's error says, six over nodes faster; the sets do not
  // tell a bias of spreading from the links of their machines, so that both keep one worker's, and the variance grows.
  const double more = spread == Spread::worker ? 0 : spread == Spread::node ? 0.45 : 0.83;
  error.sigma = std::hypot(error.sigma, more);
  return error;
}

std::string_view name_of(Bottleneck bottleneck) {
  constexpr std::array<std::string_view, 5> kNames{"compute", "memory bandwidth", "network", "host", "input"};
  return kNames[static_cast<std::size_t>(bottleneck)];
}

RentSearch::RentSearch(const sim::Cluster& cluster, const sim::CostRules& costs, const std::vector<RentPool>& pools,
                       const RentModel& model, const RentRules& rules)
    : cluster_(cluster), costs_(costs), pools_(pools), model_(model), rules_(rules) {
  sim::check(pools.size() == cluster.pools.size(), "one RentPool a pool");
}

std::vector<int> RentSearch::counts(int pool, const PlanLimits& limits) const {
  const int per_node = sim::workers_per_node(cluster_, pool);
  const int nodes =
      std::min(cluster_.pools[static_cast<std::size_t>(pool)].nodes, pools_[static_cast<std::size_t>(pool)].most_nodes);
  std::set<int> found;
  for (int n = 1; n <= per_node; n *= 2) found.insert(n);
  for (int n = 1; n <= nodes; n *= 2) found.insert(n * per_node);
  if (nodes >= 1) found.insert(nodes * per_node);
  if (limits.workers > 0) found = {limits.workers};
  std::erase_if(found, [&](int n) { return n > nodes * per_node; });
  return {found.begin(), found.end()};
}

struct RentSearch::Timings {
  using Key = std::tuple<const sim::Device*, double, sim::Precision, double>;  // samples of a pass, power limit
  std::map<Key, workloads::ComputeTime> passes;
  workloads::Tilings tilings;
};

std::optional<RentSearch::Step> RentSearch::step_of(const sim::Device& device, const sim::Instance& instance,
                                                    const RentChoice& choice, Timings& timings) const {
  const PlanChoice& c = choice.plan;
  const double local = std::ceil(c.batch / c.workers);  // the fullest worker's
  Step step;
  double part = local;
  while (!model_.memory.fits(part, device, choice.precision)) {
    if (step.accumulation >= kMostAccumulation || part <= 1) return std::nullopt;
    step.accumulation *= 2;
    part = std::ceil(local / step.accumulation);
  }
  const auto [timed, is_new] =
      timings.passes.try_emplace(Timings::Key{&device, part, choice.precision, c.power_limit_w}, workloads::ComputeTime{});
  if (is_new)
    timed->second = model_.step.compute_time(
        device,
        workloads::corrected({.batch = part, .precision = choice.precision, .power_limit_w = c.power_limit_w}, device,
                             model_.model, model_.dataset),
        &timings.tilings);
  const workloads::ComputeTime& compute = timed->second;
  step.memory_bytes = model_.memory.bytes(part, choice.precision);
  const workloads::ComputeTime whole = compute.of_passes(step.accumulation);
  const int per_node = std::min(c.workers, static_cast<int>(instance.gpus.empty() ? 1 : instance.gpus[0].count));
  const workloads::StepTime time =
      workloads::step_time({.compute = compute,
                            .input_s = model_.step.input_s(part, instance.storage_bandwidth_bytes_per_s / per_node),
                            .passes = step.accumulation,
                            .gradient_bytes = model_.step.gradient_bytes(choice.precision),
                            .ring = {.nodes = (c.workers + per_node - 1) / per_node,
                                     .workers_per_node = per_node,
                                     .inside = instance.inside,
                                     .network = instance.network},
                            .overlap = instance.overlap,
                            .straggling = workloads::straggling(c.workers)});
  step.compute_s = whole.total_s();
  step.global_s = time.step_s;
  step.energy_j = whole.dynamic_energy_j + sim::power_law(device).running_w * step.compute_s;
  return step;
}

RentChoice RentSearch::finished(const PlanJob& job, const PlanLimits& limits, RentChoice choice, const Step& step) const {
  const RentPool& pool = pools_[static_cast<std::size_t>(choice.plan.pool)];
  const sim::Instance& instance =
      cluster_.instances[static_cast<std::size_t>(cluster_.pools[static_cast<std::size_t>(choice.plan.pool)].instance)];
  const sim::Device& device = sim::worker_device(cluster_, choice.plan.pool);
  const PredictionError error = error_of(choice);
  const double z = normal_quantile(rules_.confidence);
  const auto around = [&](double x) {
    return Interval{x * error.bias, x * error.bias * std::exp(-z * error.sigma), x * error.bias * std::exp(z * error.sigma)};
  };
  const double peak = peak_flops_in(device, choice.precision);
  const double share = std::ceil(choice.plan.batch / choice.plan.workers);
  const Interval compute = around(step.compute_s);
  const double used = 3 * model_.forward_flops * share / peak;
  const StepEstimate estimate{.step_s = compute,
                              .energy_j = around(step.energy_j),
                              .memory_bytes = {step.memory_bytes, step.memory_bytes, step.memory_bytes},
                              .utilization = {used / compute.expected, used / compute.high, used / compute.low}};
  const double whole_over_worker = step.global_s / step.compute_s;
  choice.accumulation = step.accumulation;
  // Writing stops the training: a checkpoint's seconds come on top, as often as they are written. The loss of any node stops all.
  const double written_s = model_.checkpoint_bytes / instance.storage_bandwidth_bytes_per_s;
  choice.checkpoint_interval_s = pool.is_spot
                                     ? young_interval_s(std::max(1.0, written_s), rules_.spot.mean_up_s / nodes_of(choice.plan))
                                     : rules_.checkpoint_interval_s;
  const double slower = 1 + written_s / choice.checkpoint_interval_s;
  choice.plan = priced(cluster_, costs_, job, choice.plan, estimate,
                       [&](double compute_s) { return compute_s * whole_over_worker * slower; });
  sim::Configuration configuration;
  configuration.groups.push_back({.pool = choice.plan.pool, .workers = choice.plan.workers});
  choice.start_s = sim::boot_seconds(cluster_, nullptr, configuration) + costs_.start_s;
  for (double* usd : {&choice.plan.cost_usd.expected, &choice.plan.cost_usd.low, &choice.plan.cost_usd.high})
    *usd += pool.extra_usd;
  const double left_s = limits.deadline_s - choice.start_s, training_s = choice.plan.time_s.expected - choice.start_s;
  choice.miss_probability = left_s <= 0          ? 1
                            : std::isinf(left_s) ? 0
                                                 : 1 - sim::normal_share_below(std::log(left_s / training_s) / error.sigma);
  choice.keeps_limits = keeps(limits, choice.plan);
  return choice;
}

int RentSearch::nodes_of(const PlanChoice& choice) const {
  const int per_node = sim::workers_per_node(cluster_, choice.pool);
  return (choice.workers + per_node - 1) / per_node;
}

PredictionError RentSearch::error_of(const RentChoice& choice) const {
  const PlanChoice& c = choice.plan;
  const RentPool& pool = pools_[static_cast<std::size_t>(c.pool)];
  const int nodes = nodes_of(c);
  const Spread spread = c.workers == 1 ? Spread::worker : nodes == 1 ? Spread::node : Spread::nodes;
  const auto nearby = pool.nearby.find({choice.precision, spread});
  if (nearby == pool.nearby.end()) return validated_error(pool.knowledge, spread);
  return nearby->second->at({.batch_per_worker = std::ceil(c.batch / c.workers),
                             .workers = c.workers,
                             .nodes = nodes,
                             .power_limit_w = c.power_limit_w});
}

std::vector<RentChoice> RentSearch::choices(const PlanJob& job, const PlanLimits& limits) const {
  std::vector<RentChoice> found;
  Timings timings;
  for (int pool = 0; pool < static_cast<int>(cluster_.pools.size()); ++pool) {
    if (limits.pool >= 0 && limits.pool != pool) continue;
    const sim::Device& device = sim::worker_device(cluster_, pool);
    const sim::Instance& instance =
        cluster_.instances[static_cast<std::size_t>(cluster_.pools[static_cast<std::size_t>(pool)].instance)];
    std::vector<double> watts{0};
    if (rules_.power_limits && device.kind == sim::DeviceKind::gpu)
      for (const double share : kLimitShares)
        if (share < 1) watts.push_back(share * device.busy_w);
    for (const int workers : counts(pool, limits))
      for (const BatchOption& option : job.batches) {
        if (option.batch < workers || !(option.epochs > 0)) continue;
        for (const sim::Precision precision : rules_.precisions) {
          if (!precision_pays(precision, device)) continue;
          for (const double limit_w : watts) {
            RentChoice choice;
            choice.plan = {
                .pool = pool, .workers = workers, .batch = option.batch, .power_limit_w = limit_w, .epochs = option.epochs};
            choice.precision = precision;
            if (const auto step = step_of(device, instance, choice, timings))
              found.push_back(finished(job, limits, std::move(choice), *step));
          }
        }
      }
  }
  return found;
}

Bottleneck RentSearch::bottleneck(const RentChoice& choice) const {
  const sim::Device& device = sim::worker_device(cluster_, choice.plan.pool);
  const sim::Instance& instance =
      cluster_.instances[static_cast<std::size_t>(cluster_.pools[static_cast<std::size_t>(choice.plan.pool)].instance)];
  std::array<double, 5> left{};  // of the step, when each costs nothing
  for (std::size_t i = 0; i < left.size(); ++i) {
    sim::Device better = device;
    sim::Instance wider = instance;
    switch (static_cast<Bottleneck>(i)) {
      case Bottleneck::compute:
        better.peak_fp32_flops *= kFree;
        better.peak_fp16_flops *= kFree;
        better.peak_tf32_flops *= kFree;
        break;
      case Bottleneck::memory_bandwidth:
        better.memory_bandwidth_bytes_per_s *= kFree;
        better.core_bandwidth_bytes_per_s *= kFree;
        break;
      case Bottleneck::network:
        for (sim::Link* link : {&wider.inside, &wider.network})
          *link = {link->bandwidth_bytes_per_s * kFree, link->latency_s / kFree};
        break;
      case Bottleneck::host:
        better.efficiency.launch_s /= kFree;
        better.efficiency.repeat_s /= kFree;
        better.efficiency.host_s_per_op /= kFree;
        break;
      case Bottleneck::input:
        wider.storage_bandwidth_bytes_per_s *= kFree;
        break;
    }
    Timings timings;
    left[i] = step_of(better, wider, choice, timings)->global_s;
  }
  return static_cast<Bottleneck>(std::ranges::min_element(left) - left.begin());
}

std::vector<std::size_t> pareto_front(const std::vector<RentChoice>& choices) {
  std::vector<std::size_t> order(choices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const PlanChoice& c = choices[i].plan;
    return std::tuple(c.cost_usd.expected, c.time_s.expected, i);
  };
  std::ranges::sort(order, {}, key);
  std::vector<std::size_t> front;
  double soonest = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    if (choices[i].plan.time_s.expected >= soonest) continue;
    soonest = choices[i].plan.time_s.expected;
    front.push_back(i);
  }
  return front;
}

SpotPrices::SpotPrices(std::vector<double> dates_s, std::vector<double> usd_per_hour) : usd_per_hour_(std::move(usd_per_hour)) {
  sim::check(dates_s.size() > 1 && dates_s.size() == usd_per_hour_.size() && std::ranges::is_sorted(dates_s, std::less_equal()),
             "dates that rise, and a price for each");
  for (const double date_s : dates_s) from_s_.push_back(date_s - dates_s.front());
  const auto rows = static_cast<double>(from_s_.size());
  length_s_ = from_s_.back() * rows / (rows - 1);
  double sum = 0;
  for (std::size_t i = 0; i < from_s_.size(); ++i) {
    paid_.push_back(sum);
    sum += usd_per_hour_[i] * ((i + 1 < from_s_.size() ? from_s_[i + 1] : length_s_) - from_s_[i]);
  }
  paid_.push_back(sum);
}

double SpotPrices::paid(double until_s) const {
  const double times = std::floor(until_s / length_s_), rest_s = until_s - times * length_s_;
  const auto at = static_cast<std::size_t>(std::ranges::upper_bound(from_s_, rest_s) - from_s_.begin()) - 1;
  return times * paid_.back() + paid_[at] + usd_per_hour_[at] * (rest_s - from_s_[at]);
}

double SpotPrices::mean_between(double begin_s, double length_s) const {
  return (paid(begin_s + length_s) - paid(begin_s)) / length_s;
}

double SpotPrices::quantile(double share) const {
  std::vector<std::pair<double, double>> held;  // price, seconds
  for (std::size_t i = 0; i < from_s_.size(); ++i)
    held.emplace_back(usd_per_hour_[i], (i + 1 < from_s_.size() ? from_s_[i + 1] : length_s_) - from_s_[i]);
  std::ranges::sort(held);
  double s = 0;
  for (const auto& [price, seconds] : held)
    if ((s += seconds) >= share * length_s_ * (1 - 1e-12)) return price;
  return held.back().first;
}

double young_interval_s(double checkpoint_s, double mean_up_s) { return std::sqrt(2 * checkpoint_s * mean_up_s); }

namespace {

/// A training on nodes that are taken away.
struct SpotCourse {
  double time_s, paid_s;
};

struct SpotTraining {
  SpotTraining(const RentChoice& choice, const SpotRules& rules, double restart)
      : hourly(choice.plan.cost_usd.expected / choice.plan.time_s.expected),
        between_s(rules.mean_up_s / static_cast<double>(choice.plan.nodes)),
        start_s(choice.start_s),
        work_s(choice.plan.time_s.expected - choice.start_s),
        interval_s(choice.checkpoint_interval_s),
        down_s(rules.down_s),
        restart_s(restart) {}
  double hourly, between_s, start_s, work_s, interval_s, down_s, restart_s;

  /// Nodes that are lost in the mean: before they go they get 1 / (e^(saved / between) - 1) times to a checkpoint or the end
  /// (Daly, A higher order estimate of the optimum checkpoint interval, FGCS 2006).
  double mean_lost(double left_s) const {
    const double saved_s = std::min(interval_s, left_s);
    return left_s / saved_s * std::expm1(saved_s / between_s);
  }
  SpotCourse mean_course(double left_s) const {
    const double lost = mean_lost(left_s);
    return {start_s + lost * (between_s + down_s + restart_s), start_s + lost * (between_s + restart_s)};
  }
};

}  // namespace

SpotReplay expected_on_spot(const RentChoice& choice, const RentRules& rules, const PredictionError& error, double restart_s,
                            double deadline_s) {
  const SpotTraining training(choice, rules.spot, restart_s);
  const double z = normal_quantile(rules.confidence);
  const auto course_of = [&](double deviations) {
    return training.mean_course(training.work_s * std::exp(deviations * error.sigma));
  };
  const SpotCourse low = course_of(-z), mean = course_of(0), high = course_of(z);
  SpotReplay reckoned{.time_s = mean.time_s,
                      .time_low_s = low.time_s,
                      .time_high_s = high.time_s,
                      .cost_usd = mean.paid_s * training.hourly,
                      .cost_low_usd = low.paid_s * training.hourly,
                      .cost_high_usd = high.paid_s * training.hourly};
  // All but the start grows with the step.
  const double left_s = deadline_s - choice.start_s, training_s = mean.time_s - choice.start_s;
  if (left_s <= 0 || std::isinf(training_s))
    reckoned.miss_probability = 1;
  else if (!std::isinf(left_s))
    reckoned.miss_probability = 1 - sim::normal_share_below(std::log(left_s / training_s) / error.sigma);
  return reckoned;
}

SpotReplay replay_on_spot(const RentChoice& choice, const RentRules& rules, const PredictionError& error, double restart_s,
                          double deadline_s, std::uint64_t seed, int draws, const SpotPrices& prices) {
  sim::check(draws > 0, "a replay of no draws");
  const SpotTraining training(choice, rules.spot, restart_s);
  const double hourly = training.hourly, between_s = training.between_s, work_s = training.work_s;
  const double interval_s = choice.checkpoint_interval_s;
  const auto course_of = [&](double left_s, sim::Random& random) {
    double time_s = choice.start_s, paid_s = choice.start_s;
    // Where chance evens out, or no checkpoint is ever reached, the mean says it at once.
    constexpr double kManyLost = 300;
    if (training.mean_lost(left_s) > kManyLost) return training.mean_course(left_s);
    while (true) {
      const double up_s = random.exponential(between_s);
      if (up_s >= left_s) return SpotCourse{time_s + left_s, paid_s + left_s};
      left_s -= std::floor(up_s / interval_s) * interval_s;
      time_s += up_s + rules.spot.down_s + restart_s;
      paid_s += up_s + restart_s;
    }
  };
  std::vector<double> times, costs;
  SpotReplay replay;
  int missed = 0;
  for (int draw = 0; draw < draws; ++draw) {
    sim::Random random(sim::stream_key(seed, static_cast<std::uint64_t>(draw), "spot", "rent"));
    const double factor = random.log_normal_factor(error.sigma);
    // What is expected is of the step as predicted, as of nodes that stay: only so can the two be compared.
    sim::Random same = random;
    const SpotCourse expected = course_of(work_s, same), drawn = course_of(work_s * factor, random);
    // A stream of its own: prices change nobody's revocations.
    const double begin_s =
        prices.empty() ? 0
                       : sim::Random(sim::stream_key(seed, static_cast<std::uint64_t>(draw), "spot-price", "rent")).uniform() *
                             prices.length_s();
    const auto cost_of = [&](const SpotCourse& course) {
      const bool is_priced = !prices.empty() && std::isfinite(course.time_s);
      return course.paid_s * hourly * (is_priced ? prices.mean_between(begin_s, course.time_s) / prices.mean() : 1);
    };
    replay.time_s += expected.time_s / draws;
    replay.cost_usd += cost_of(expected) / draws;
    times.push_back(drawn.time_s);
    costs.push_back(cost_of(drawn));
    missed += drawn.time_s > deadline_s ? 1 : 0;
  }
  std::ranges::sort(times);
  std::ranges::sort(costs);
  const auto quantile = [&](const std::vector<double>& sorted, double share) {
    const double at = std::ceil(share * draws - 1e-9) - 1;  // 1 - 0.9 is not 0.1
    return sorted[std::min(static_cast<std::size_t>(std::max(0.0, at)), sorted.size() - 1)];
  };
  replay.time_low_s = quantile(times, 1 - rules.confidence);
  replay.time_high_s = quantile(times, rules.confidence);
  replay.cost_low_usd = quantile(costs, 1 - rules.confidence);
  replay.cost_high_usd = quantile(costs, rules.confidence);
  replay.miss_probability = static_cast<double>(missed) / draws;
  return replay;
}

std::optional<WorthMeasuring> worth_measuring(const std::vector<RentChoice>& choices, const std::vector<RentPool>& pools,
                                              const RentChoice& chosen, const PlanLimits& limits) {
  std::map<int, const RentChoice*> cheapest;  // by pool, of what keeps the limits as expected
  for (const RentChoice& one : choices) {
    if (one.plan.time_s.expected > limits.deadline_s || one.plan.cost_usd.expected > limits.cost_usd) continue;
    if (pools[static_cast<std::size_t>(one.plan.pool)].knowledge == Knowledge::model) continue;
    const RentChoice*& least = cheapest[one.plan.pool];
    if (least == nullptr || one.plan.cost_usd.expected < least->plan.cost_usd.expected) least = &one;
  }
  std::optional<WorthMeasuring> best;
  const double strike = chosen.plan.cost_usd.expected;
  for (const auto& [pool, least] : cheapest) {
    const double usd = least->plan.cost_usd.expected;
    if (pool == chosen.plan.pool || !(usd > 0)) continue;
    const double sigma = validated_error(pools[static_cast<std::size_t>(pool)].knowledge, spread_of(least->plan)).sigma;
    const double d = std::log(strike / usd) / sigma;  // E[max(0, strike - usd e^(sigma Z))]
    const double saved =
        strike * sim::normal_share_below(d) - usd * std::exp(sigma * sigma / 2) * sim::normal_share_below(d - sigma);
    if (saved > 0 && (!best || saved > best->usd)) best = WorthMeasuring{pool, saved};
  }
  return best;
}

}  // namespace rehearse::policies
