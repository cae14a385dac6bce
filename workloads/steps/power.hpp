// What a device draws, and at which clock it keeps a power limit (docs/explain/model.md, "Power and energy").
#pragma once

#include "workloads/steps/op_time.hpp"

namespace rehearse::workloads {

struct Run {
  double time_s = 0;
  double dynamic_energy_j = 0;  ///< above PowerLaw::running_w
};

/// Of an operation at a relative clock f: E = V^2 (clock_w f (t - t_l) + launch_w f t_l + arithmetic_w t_a) + memory_w t_m. It
/// takes t, of which t_l are OpParts::fixed_s; t_a are the seconds that its arithmetic would take at the device's peak, t_m those
/// of its memory traffic alone; V = max(floor, 1 - slope (1 - f)).
Run run_at(const OpParts& operation, const sim::PowerLaw& law, double clock, const Conditions& conditions);

/// The highest clock, from PowerLaw::lowest_clock to 1, at which the operation draws at most the limit, its launch aside: 1
/// without a limit, and where it draws less anyway.
double clock_under_limit(const OpParts& operation, const sim::PowerLaw& law, const Conditions& conditions);

/// Watts, the mean over a step of `step_s` in which the device runs operations of that energy and otherwise waits, ready.
double mean_power_w(double dynamic_energy_j, double step_s, const sim::Device& device);

}  // namespace rehearse::workloads
