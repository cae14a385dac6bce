// The decision `place` of a replay, by a placement method: one model-parallel replica on the GPUs of a node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "policies/place/placement.hpp"
#include "sim/replay/decisions.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

/// What a place strategy is made with. The belief must outlive it.
struct PlaceInputs {
  const workloads::Belief* belief = nullptr;
  std::uint64_t seed = 0;        ///< of searches: the scenario's
  std::uint64_t repetition = 0;  ///< each searches by itself
};

/// How a method is used in replays.
struct PlacedOptions {
  std::string name;  ///< of the strategy, and its parameters: of its random numbers
  int groups = 64;   ///< of co-located operations, at most
  bool searches = false;
  bool measures = false;          ///< tries its placements on the devices, and pays for it
  std::int64_t evaluations = 1;   ///< of a searching method
  double reinitialisation_s = 0;  ///< before each of them
};

/// One replica on the view's devices of a node, with so many samples, as the belief has it.
workloads::ReplicaSetting replica_of(const sim::PlaceView& view, double batch, const workloads::Belief& belief);

/// Whether there are several GPUs of one node, all of a synchronous replica's: elsewhere data-parallel is all there is.
bool has_something_to_place(const sim::PlaceView& view);

/// The replica has the samples of all workers on the node. Data-parallel where there is nothing to place: on CPUs, on one GPU of
/// a node, with unequal numbers of GPUs on nodes, and with asynchronous servers, where each worker pushes by itself.
class PlannedPlacement final : public sim::Place {
 public:
  PlannedPlacement(std::unique_ptr<PlacementMethod> method, PlacedOptions options, const PlaceInputs& inputs)
      : method_(std::move(method)), options_(std::move(options)), inputs_(inputs) {}
  /// A plan is found once for each (model, GPU, GPUs of a node, samples, power limit), on believed times, and kept. A searching
  /// method's is held against data-parallel in each configuration, and the faster one answered. Throws InputError when the
  /// method cannot place the graph.
  sim::StepPlan place(const sim::PlaceView& view) override;

 private:
  using Key = std::tuple<const sim::OpGraph*, int, int, double, double>;
  sim::StepPlan found(const sim::PlaceView& view, double batch) const;
  sim::StepTiming believed(const sim::PlaceView& view, const sim::StepPlan& plan) const;
  std::string note(const sim::StepPlan& placed, const sim::StepTiming& timing, const sim::StepTiming& parallel) const;

  std::unique_ptr<PlacementMethod> method_;
  PlacedOptions options_;
  PlaceInputs inputs_;
  std::map<Key, sim::StepPlan> known_;
};

}  // namespace rehearse::policies
