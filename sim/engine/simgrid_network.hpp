// SimGrid's network of flows: each is a Comm between two hosts, whose route is the flow's way. The reference for FluidNetwork.
#pragma once

#include "sim/engine/flow_network.hpp"

namespace rehearse::sim {

class SimGridNetwork final : public FlowNetwork {
 public:
  explicit SimGridNetwork(const Ways& ways) : ways_(ways) {}
  /// At most one call of this or run_with_simgrid in a process.
  void run(FlowClient& client) override;

 private:
  const Ways& ways_;
};

}  // namespace rehearse::sim
