// Our own network of flows: max-min rates, flat arrays, nothing allocated once the arrays have grown.
#pragma once

#include "sim/engine/flow_network.hpp"
#include "sim/engine/max_min.hpp"

namespace rehearse::sim {

/// Flows of one way have one rate, so that each way keeps count of the bytes that a flow of it has received since the way was
/// last idle, and its flows wait in the order of the count at which they end.
class FluidNetwork final : public FlowNetwork {
 public:
  explicit FluidNetwork(const Ways& ways);
  void run(FlowClient& client) override;

 private:
  struct Waiting {
    double served;  // bytes at which the flow ends
    std::int32_t flow;
    bool operator>(const Waiting& o) const { return served != o.served ? served > o.served : flow > o.flow; }
  };
  struct Way {
    double rate = 0;             // bytes a tick
    double served = 0;           // to each flow, at `updated`
    double updated = 0;          // ticks
    std::vector<Waiting> flows;  // a heap
  };
  void clear();
  void start(const FlowStart& flow);
  /// The next date, not after `own`; ends the flows that end until then.
  Tick settle(Tick own);
  void end_flows(double until);
  void share();
  void advance(Way& way) const;
  double first_end() const;

  MaxMin rates_;
  std::vector<Way> ways_;
  std::vector<std::int32_t> active_;    // ways with flows
  std::vector<double> ends_;            // of each of them: when its first flow ends, in ticks
  std::vector<std::int32_t> position_;  // of a way in active_
  std::vector<std::int32_t> ended_;
  double now_ = 0;  // ticks
};

}  // namespace rehearse::sim
