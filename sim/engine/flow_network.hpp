// Transfers of data over shared links, and the loop that lets them and a client's own events happen in the order of their dates.
// Two networks of one meaning (docs/explain/step.md, "Step level"): FluidNetwork, our own, and SimGrid's.
//
// A flow begins at a date of the step grid and ends at any time t; its end is seen at date ceil(t - 1/4) (times in ticks), so
// that rounding cannot move an end that falls on the grid. A date at which something happens anyway takes with it the flows that
// at their rates would end within the next quarter of a tick: all of them at once, then again at the rates of those that are
// left. Where it is such an end that makes the date, its time, up to a quarter of a tick later, is when new flows begin.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/engine/max_min.hpp"

namespace rehearse::sim {

inline constexpr Tick kNeverTick = std::numeric_limits<Tick>::max();
inline constexpr double kSeenEarly = 0.25;           ///< of a tick
inline constexpr double kSameTime = 1e-13 * 0x1p30;  ///< in ticks: 1e-13 s

/// The links' bandwidths, and the ways between endpoints: that from a to b has number a x endpoints + b. An endpoint's way to
/// itself has no links; no flow takes it.
struct Ways {
  int endpoints = 0;
  std::vector<double> bandwidths_bytes_per_s;
  std::vector<std::vector<std::int32_t>> links;  ///< of each way
};

struct FlowStart {
  std::int32_t flow = 0;  ///< a number of the client's
  std::int32_t way = 0;
  std::int64_t bytes = 0;  ///< above 0
};

class FlowClient {
 public:
  virtual ~FlowClient() = default;
  /// Of its next own event, kNeverTick when there is none; not before the last date.
  virtual Tick next_date() = 0;
  /// What happens at a date, when these flows have ended. Returns the flows that begin then; good until the next call.
  virtual std::span<const FlowStart> at(Tick date, std::span<const std::int32_t> ended) = 0;
};

class FlowNetwork {
 public:
  virtual ~FlowNetwork() = default;
  /// From date 0, without flows, until nothing is left to happen.
  virtual void run(FlowClient& client) = 0;
};

// Our own network of flows: max-min rates, flat arrays, nothing allocated once the arrays have grown.

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

// SimGrid's network of flows: each is a Comm between two hosts, whose route is the flow's way. The reference for FluidNetwork.

class SimGridNetwork final : public FlowNetwork {
 public:
  explicit SimGridNetwork(const Ways& ways) : ways_(ways) {}
  /// At most one call of this or run_with_simgrid in a process.
  void run(FlowClient& client) override;

 private:
  const Ways& ways_;
};

}  // namespace rehearse::sim
