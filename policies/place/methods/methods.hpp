// The placement methods, each in a file of its own, which says what it does and by whom it is.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/place/list_schedule.hpp"
#include "policies/place/placement.hpp"

namespace rehearse::policies {

struct AnnealingOptions {
  double hottest = 0.1;    ///< first temperature, as a share of the makespan
  double coldest = 0.001;  ///< last temperature
};

class Annealing final : public PlacementMethod {
 public:
  explicit Annealing(AnnealingOptions options) : options_(options) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  AnnealingOptions options_;
};

/// Scores everything on each single device, one of each class and memory, as far as evaluations are left.
void score_single_devices(const PlacementView& view, PlacementEvaluator& evaluator);

/// Anneals on from a placement that has this score, with all evaluations that are left.
void anneal(const PlacementView& view, PlacementEvaluator& evaluator, DeviceOfGroup at, StepScore score,
            AnnealingOptions options);

/// When no contiguous parts fit into the devices' memory, as if they did.
class Dpl final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Anneals DPL's answer, by whatever the evaluator counts.
class DplAnnealed final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

inline constexpr int kMostExactGroups = 16;

class Exact final : public PlacementMethod {
 public:
  /// The best of all placements by StepScore; every placement counts as an evaluation that is timed, and there must be enough of
  /// them. Throws InputError: more than kMostExactGroups groups, or the evaluations did not suffice for the proof.
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// A group belongs to the layer of its first forward operation. Of a recurrent network every LSTM layer, attention (operations
/// named "attention...") and the first matrix product behind the last LSTM layer (the softmax's) begin a unit, all layers up to
/// the next belong to it, and U units share G GPUs as unit i on GPU floor(i G / U).
class Expert final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

class Heft final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// One schedule on all devices, without the timer.
ListSchedule heft_schedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity);

class MEtf final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// One schedule on the GPUs, without the timer. `favourite`: empty, or of each operation the successor that should follow it on
/// its device (m-SCT), -1 for none.
ListSchedule etf_schedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity,
                          std::span<const std::int32_t> favourite = {});

class MSct final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Of each operation its favourite successor, -1: none. No operation is the favourite of two.
std::vector<std::int32_t> favourite_successors(const PlacementView& view);

class MTopo final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

class Metis final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

class Scotch final : public PlacementMethod {
 public:
  explicit Scotch(bool with_cpu) : with_cpu_(with_cpu) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  bool with_cpu_;
};

/// Everything on the first CPU.
class SingleCpu final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Everything on the fastest GPU, of equal ones the one with the most memory. Throws InputError when there is no GPU.
class SingleGpu final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Groups in topological order on the GPUs in turn.
class RoundRobin final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Every group on any device, all equally likely: the best of `tries` such placements, or of as many as there are evaluations.
class RandomPlacement final : public PlacementMethod {
 public:
  explicit RandomPlacement(std::int64_t tries) : tries_(tries) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  std::int64_t tries_;  ///< 0: as many as there are evaluations
};

}  // namespace rehearse::policies
