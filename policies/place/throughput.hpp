// A pipeline's throughput instead of one step's time: samples follow each other, each device works on another one, and the
// busiest device sets the pace (Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators", NeurIPS
// 2020, section 3).
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

/// What a device that is no CPU pays for a tensor: alone on the way from the first CPU to it, and back. A CPU pays nothing.
class HostTransfers {
 public:
  explicit HostTransfers(const sim::Machine& machine);
  sim::Tick in(std::int64_t bytes, std::int32_t device) const;
  sim::Tick out(std::int64_t bytes, std::int32_t device) const;

 private:
  bool free_of_charge(std::int64_t bytes, std::int32_t device) const;
  const sim::Machine& machine_;
  std::int32_t host_ = 0;
};

/// Ticks of each device on a sample: its operations, a transfer in for each tensor that it reads and does not make, a transfer
/// out for each that it makes and another one reads, whatever the number of readers.
std::vector<sim::Tick> device_loads(const PlacementView& view, std::span<const std::int32_t> device_of_op);

/// The load of the busiest device as the makespan; memory: what lies on devices all the time.
StepScore throughput_score(const PlacementView& view, std::span<const std::int32_t> device_of_op);

/// Scores by throughput_score. Keeps a reference.
class ThroughputScorer final : public PlacementScorer {
 public:
  explicit ThroughputScorer(const PlacementView& view) : view_(view) {}
  void score(std::span<const DeviceOfGroup> placements, std::span<StepScore> scores) override;

 private:
  const PlacementView& view_;
};

}  // namespace rehearse::policies
