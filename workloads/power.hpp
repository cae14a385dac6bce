// What a device draws, and at which clock it keeps a power limit (docs/model.md, "Power and energy").
#pragma once

#include <span>

#include "workloads/op_time.hpp"

namespace rehearse::workloads {

struct TimedParts {
  OpParts parts;
  double times = 1;  ///< how often it runs
};

struct Run {
  double time_s = 0;
  double dynamic_energy_j = 0;  ///< above PowerLaw::running_w
};

/// Of all of them at a relative clock f: E = V^2 (clock_w f t + arithmetic_w t_a) + memory_w t_m, with t_a and t_m the seconds that
/// their arithmetic and memory traffic alone would take at full clock, and the voltage V = max(floor, 1 - slope (1 - f)).
Run run_at(std::span<const TimedParts> operations, const sim::PowerLaw& law, double clock);

/// The highest clock, from PowerLaw::lowest_clock to 1, at which the mean power over the operations is at most the limit: 1
/// without one, and where they draw less anyway.
double clock_under_limit(std::span<const TimedParts> operations, const sim::Device& device, const Conditions& conditions);

/// Watts, the mean over a step of `step_s` in which the device runs these operations and otherwise waits, ready.
double mean_power_w(double dynamic_energy_j, double step_s, const sim::Device& device);

}  // namespace rehearse::workloads
