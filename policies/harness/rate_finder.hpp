// The learning-rate finder: a training whose rate rises exponentially, step by step, shows where it learns best (L. Smith,
// Cyclical Learning Rates for Training Neural Networks, WACV 2017, section 3.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/training/convergence.hpp"

namespace rehearse::policies {

/// One reading of the ramp, rates rising by the same factor; `value` is better when larger: an accuracy, or minus a loss.
struct RampPoint {
  double rate = 0, value = 0;
};

struct FoundRate {
  double low = 0, high = 0;  ///< the interval in which the curve rises at half of its steepest and more
  double rate = 0;           ///< its middle
  double rise = 0;           ///< of the logarithm's fit over the interval: gain for each factor e of the rate; above 0
};

/// A polynomial of the logarithm of the rate through the readings says how steep the curve is; a logarithm through those of the
/// interval, that it rises by more than chance. With a rate e* of best use, steps are worth 2x - x^2 at x = e/e*: at least half
/// of the most from 0.29 to 1.71, so that the middle is e*. None: too few readings (under 12), or no rise.
std::optional<FoundRate> find_rate(std::span<const RampPoint> ramp);

struct RampSettings {
  double batch = 0;  ///< global
  double first_rate = 1e-4, last_rate = 10;
  int readings = 100;
  double noise = 0.003;  ///< standard deviation of a reading
  double share = 1;      ///< of the first phase's scale (AccuracyPhase), that the ramp would progress at the best rate
  std::uint64_t random_key = 1;
};

/// The ramp of a simulated training from its start. Ends where the training has diverged.
std::vector<RampPoint> simulated_ramp(const workloads::ConvergenceParameters& convergence, const RampSettings& settings);

}  // namespace rehearse::policies
