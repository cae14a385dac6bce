// The decision `place` of a replay, by a placement method: one model-parallel replica on the GPUs of a node, or data-parallel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "policies/place/placement.hpp"
#include "sim/money/costs.hpp"
#include "sim/replay/decisions.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

struct NetworkState;

/// What a place strategy is made with. The pointers must outlive it.
struct PlaceInputs {
  const workloads::Belief* belief = nullptr;
  std::uint64_t seed = 0;                 ///< of searches: the scenario's
  std::uint64_t repetition = 0;           ///< each searches by itself
  const sim::CostRules* costs = nullptr;  ///< null: the defaults
  double reuse_jobs = 1;                  ///< that share the price of a search
  const NetworkState* network = nullptr;  ///< of a method with a trained network; null: an untrained one
};

/// How a method is used in replays.
struct PlacedOptions {
  std::string name;       ///< of the strategy, and its parameters: of its random numbers
  int groups = 64;        ///< of co-located operations, at most
  bool alone = false;     ///< a method that does not search answers its own placement, also where data-parallel is faster
  bool tries_others = false;  ///< a method that does not search is compared with the constructing ones as well
  bool searches = false;      ///< otherwise the method constructs its placement
  bool measures = false;  ///< a search tries its placements on the devices, and pays for it
  std::int64_t evaluations = 1;   ///< of a searching method
  double reinitialisation_s = 0;  ///< before each of them
};

/// One replica on the view's devices of a node, with so many samples, as the belief has it.
workloads::ReplicaSetting replica_of(const sim::PlaceView& view, double batch, const workloads::Belief& belief);

/// Dollars a second of a search, which holds so many GPUs of a node of the configuration's first group.
double search_usd_per_s(const sim::Cluster& cluster, const sim::CostRules& costs, const sim::Configuration& configuration,
                        int gpus);

/// Whether there are several GPUs of one node, all of a synchronous replica's: elsewhere data-parallel is all there is.
bool has_something_to_place(const sim::PlaceView& view);

/// The replica has the samples of all workers on the node. Data-parallel where there is nothing to place: on CPUs, on one GPU of
/// a node, with unequal numbers of GPUs on nodes, and with asynchronous servers, where each worker pushes by itself.
///
/// A plan is kept for each (network, node type, GPUs of a node, samples, power limit). The answer is the faster of it and
/// data-parallel, by the belief. A searching method's plan is the best constructed one (single device, HEFT, m-ETF) until it has
/// searched. It searches only for a configuration that a job gets, and only if the search is expected to pay.
class PlannedPlacement final : public sim::Place {
 public:
  using MakeMethod = std::function<std::unique_ptr<PlacementMethod>()>;
  /// Each plan is made by a method of its own, so that none depends on the plans before it.
  PlannedPlacement(MakeMethod make, PlacedOptions options, const PlaceInputs& inputs)
      : make_(std::move(make)), options_(std::move(options)), inputs_(inputs) {}
  /// An answer with `evaluations` asks for the search, which the asker charges; the same plan is answered without them from then
  /// on. Throws InputError when the method cannot place the graph.
  sim::StepPlan place(const sim::PlaceView& view) override;
  bool searches() const override { return options_.searches; }
  std::uint64_t changes() const override { return searches_; }

 private:
  /// By (graph, instance, GPUs of a node, samples, power limit).
  using Key = std::tuple<const sim::OpGraph*, int, int, double, double>;
  struct Plan {
    std::string by;  ///< the method that made it
    std::vector<sim::DeviceIndex> device_of_op;
  };
  struct Known {
    Plan constructed;
    double least_share = 0;     ///< of its makespan: no replica's is shorter
    std::optional<Plan> found;  ///< by the search on believed times
    bool searched = false;      ///< also on the devices: `found` may be used
  };
  /// A plan with what it takes.
  struct Timed {
    sim::StepPlan plan;
    std::string by;
    sim::StepTiming timing;
    double pace_s = 0;  ///< of a step, with its share of the evaluations
    auto rank() const { return std::pair(!timing.fits, pace_s); }
  };
  /// What searches of a network on a node type have left of the step's time, over the best constructed plan.
  struct Gains {
    double shares = 0;
    int searches = 0;
    void add(double share) {
      shares += share;
      ++searches;
    }
    double mean() const { return shares / searches; }
  };

  std::pair<const sim::OpGraph*, int> network_on(const sim::PlaceView& view) const;
  Known& known(const sim::PlaceView& view);
  Timed timed(const sim::PlaceView& view, sim::StepPlan plan, std::string by) const;
  Timed best(const sim::PlaceView& view, const Known& known) const;
  /// `plan` after a search, with what the search takes.
  Timed searched(const sim::PlaceView& view, sim::StepPlan plan) const;
  /// Searches if that pays; else `now`.
  Timed decided(const sim::PlaceView& view, Known& known, Timed now);
  /// Adds to the estimate `now` what a search is expected to take and to gain, by earlier ones, if it would pay.
  void expect(const sim::PlaceView& view, Timed& now) const;
  bool could_pay(const sim::PlaceView& view, const Known& known, const Timed& now) const;
  /// Whether a search of so many seconds that shortens each step by `gain_s` pays for itself and keeps the deadline.
  bool pays(const sim::PlaceView& view, double search_s, double gain_s) const;
  std::string note(const sim::PlaceView& view, const Timed& answer, const Known& known) const;

  MakeMethod make_;
  PlacedOptions options_;
  PlaceInputs inputs_;
  std::map<Key, Known> known_;
  std::map<std::pair<const sim::OpGraph*, int>, Gains> gains_;
  std::uint64_t searches_ = 0;
};

}  // namespace rehearse::policies
