// What to rent for one training: every instance type of a cluster x number of workers x batch x precision that fits memory, with
// the interval of its time from the validated error of such predictions (docs/guide/rent.md).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/harness/recommend.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/steps/step_model.hpp"

namespace rehearse::policies {

/// What is known of a device before the training is predicted on it.
enum class Knowledge : std::uint8_t {
  data_sheet,  ///< nothing was measured on it
  stack,       ///< nothing, but its software elsewhere
  device,      ///< other models were
  model        ///< this very model was
};

/// The logarithm of measured over predicted step time: normal, the same for all steps of a training.
struct PredictionError {
  double bias = 1;   ///< median of measured over predicted
  double sigma = 0;  ///< standard deviation of the logarithm
};
/// How far a training is spread: what was measured of one worker says less of several, and of several nodes.
enum class Spread : std::uint8_t { worker, node, nodes };
Spread spread_of(const PlanChoice& choice);

/// As it was found on sets of others, whole groups of (device, software stack) left out: docs/evidence/rent.md.
PredictionError validated_error(Knowledge knowledge, Spread spread);

/// The standard normal's distribution function.
double normal_share_below(double x);

/// A network as the search asks for it.
struct RentModel {
  const workloads::StepModel& step;
  const workloads::MemoryModel& memory;
  std::string model, dataset;   ///< of corrections
  double forward_flops = 0;     ///< of one sample
  double checkpoint_bytes = 0;  ///< parameters and what the optimiser keeps of each
  double data_bytes = 0;        ///< of the data set, as stored
};

/// What a spot node cost: a price from each date to the next, the last as long as those before in the mean. A training meets the
/// series at any date; behind its end it begins again.
class SpotPrices {
 public:
  SpotPrices() = default;
  /// Dates that rise, two at least, and the price from each on.
  SpotPrices(std::vector<double> dates_s, std::vector<double> usd_per_hour);
  bool empty() const { return from_s_.empty(); }
  std::size_t size() const { return from_s_.size(); }
  double length_s() const { return length_s_; }
  double mean() const { return mean_between(0, length_s_); }
  /// Over `length_s` seconds from `begin_s` behind its first date.
  double mean_between(double begin_s, double length_s) const;
  /// The least price that holds in such a share of the time, or less.
  double quantile(double share) const;

 private:
  double paid(double until_s) const;  ///< $/hour x s
  std::vector<double> from_s_, usd_per_hour_, paid_;
  double length_s_ = 0;
};

class NearbyErrors;

/// Of one of the cluster's pools, in their order.
struct RentPool {
  Knowledge knowledge = Knowledge::data_sheet;
  bool is_spot = false;
  int most_nodes = 16;
  double extra_usd = 0;  ///< once: moving the data to it
  /// Where this very model was measured on its device with so many workers: how wrong predictions near those settings are.
  std::map<std::pair<sim::Precision, Spread>, std::shared_ptr<const NearbyErrors>> nearby = {};
  SpotPrices prices = {};  ///< of a spot pool, whose price is their mean; empty: the price stays
};

/// Spot nodes are taken away one by one after an exponential time of this mean: an assumption, which is printed.
struct SpotRules {
  double mean_up_s = 24 * 3600;
  double down_s = 300;  ///< until another has taken its place
};

struct RentRules {
  double confidence = 0.9;  ///< at which a deadline and a budget must hold
  bool power_limits = false;
  std::vector<sim::Precision> precisions{sim::Precision::fp32, sim::Precision::fp16};  ///< that may be chosen, where they pay
  double checkpoint_interval_s = 1800;                                                 ///< on demand; spot nodes have Young's
  SpotRules spot;
};

/// What most shortens the step when it costs nothing.
enum class Bottleneck : std::uint8_t { compute, memory_bandwidth, network, host, input };
std::string_view name_of(Bottleneck bottleneck);

struct RentChoice {
  PlanChoice plan;  ///< its intervals: from 1 - confidence to confidence
  sim::Precision precision = sim::Precision::fp32;
  int accumulation = 1;  ///< forward and backward passes a step: gradients are summed
  double start_s = 0;    ///< of the time: boot and start-up, which no step's error touches
  double checkpoint_interval_s = 0;
  double miss_probability = 0;  ///< of the deadline
  bool keeps_limits = false;    ///< with the asked confidence
};

class RentSearch {
 public:
  /// All must outlive it; one RentPool a pool.
  RentSearch(const sim::Cluster& cluster, const sim::CostRules& costs, const std::vector<RentPool>& pools, const RentModel& model,
             const RentRules& rules);

  /// Everything that fits memory. Workers: powers of two within a node, all of it, and 2, 4, 8, 16 ... whole nodes. Batches that
  /// do not fit are trained in equal parts whose gradients are summed.
  std::vector<RentChoice> choices(const PlanJob& job, const PlanLimits& limits) const;

  Bottleneck bottleneck(const RentChoice& choice) const;
  /// Of a choice's step: by what was measured nearby, else as validated for what is known of its pool.
  PredictionError error_of(const RentChoice& choice) const;

 private:
  int nodes_of(const PlanChoice& choice) const;  ///< whose nodes are not counted yet
  struct Step {
    double compute_s = 0, energy_j = 0, memory_bytes = 0, global_s = 0;
    int accumulation = 1;
  };
  struct Timings;  ///< what was timed before: many choices have equal workers
  std::optional<Step> step_of(const sim::Device& device, const sim::Instance& instance, const RentChoice& choice,
                              Timings& timings) const;
  std::vector<int> counts(int pool, const PlanLimits& limits) const;
  RentChoice finished(const PlanJob& job, const PlanLimits& limits, RentChoice choice, const Step& step) const;

  const sim::Cluster& cluster_;
  const sim::CostRules& costs_;
  const std::vector<RentPool>& pools_;
  const RentModel& model_;
  const RentRules& rules_;
};

/// Indices of the choices that nothing beats in both expected money and expected time, by money.
std::vector<std::size_t> pareto_front(const std::vector<RentChoice>& choices);

/// Expected time and money of a training on spot nodes, by replaying draws: work between checkpoints is lost with a node, and all
/// wait for the next one. Means over when nodes go, at the predicted step; the quantiles, from 1 - confidence to confidence, and
/// the chance to miss the deadline are over the step's error too. With prices each draw begins at a date of its own in them.
struct SpotReplay {
  double time_s = 0, time_low_s = 0, time_high_s = 0;
  double cost_usd = 0, cost_low_usd = 0, cost_high_usd = 0;
  double miss_probability = 0;
};
SpotReplay replay_on_spot(const RentChoice& choice, const RentRules& rules, const PredictionError& error, double restart_s,
                          double deadline_s, std::uint64_t seed, int draws, const SpotPrices& prices = {});
/// The same without draws, at a price that stays: the mean over when nodes go, of the step as predicted, and at the quantiles of
/// its error. What is rented is chosen by it before the choices that matter are replayed.
SpotReplay expected_on_spot(const RentChoice& choice, const RentRules& rules, const PredictionError& error, double restart_s,
                            double deadline_s);
/// Young, A first order approximation to the optimum checkpoint interval, CACM 1974: sqrt(2 x checkpoint x mean time between
/// failures).
double young_interval_s(double checkpoint_s, double mean_up_s);

/// The pool whose ten-minute measurement is worth most: the expected saving on the chosen one's money when another pool's best
/// choice, which keeps the limits in expectation, turns out cheaper, its error being what is not known (the price of an option,
/// Black's formula). Nothing where nothing can be saved.
struct WorthMeasuring {
  int pool = 0;
  double usd = 0;
};
std::optional<WorthMeasuring> worth_measuring(const std::vector<RentChoice>& choices, const std::vector<RentPool>& pools,
                                              const RentChoice& chosen, const PlanLimits& limits);

}  // namespace rehearse::policies
