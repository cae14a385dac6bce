// Max-min rates of capped flows by SimGrid's own network model: the reference for MaxMin.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rehearse::sim {

struct CappedFlow {
  std::vector<std::int32_t> links;  ///< each once
  double cap = 0;                   ///< finite
};

/// A process beside this one that works out rates, each time on an engine of its own: an engine of this process is left alone.
/// Make it before that engine.
class SimGridRates {
 public:
  SimGridRates();
  ~SimGridRates();
  SimGridRates(const SimGridRates&) = delete;
  SimGridRates& operator=(const SimGridRates&) = delete;

  /// Of each flow. A flow is a Comm over its links and one more of bandwidth `cap`.
  std::vector<double> solve(std::span<const double> capacities, std::span<const CappedFlow> flows);

 private:
  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace rehearse::sim
