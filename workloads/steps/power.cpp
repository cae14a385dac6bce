#include "workloads/steps/power.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::workloads {
namespace {

constexpr double kTolerance = 1e-9;  // of the limit
constexpr int kMostSteps = 100;

double voltage(const sim::PowerLaw& law, double clock) {
  return std::max(law.voltage_floor, 1 - law.voltage_slope * (1 - clock));
}

}  // namespace

Run run_at(const OpParts& op, const sim::PowerLaw& law, double clock, const Conditions& conditions) {
  const double time_s = conditions.time_factor * duration_s(op, clock), launch_s = conditions.time_factor * op.fixed_s;
  const double clocked_j = clock * (law.clock_w * (time_s - launch_s) + law.launch_w * launch_s);
  const double core_j = clocked_j + law.arithmetic_w * op.peak_s, volts = voltage(law, clock);
  return {time_s, conditions.power_factor * (volts * volts * core_j + law.memory_w * (op.memory_s + op.transform_s))};
}

double clock_under_limit(const OpParts& op, const sim::PowerLaw& law, const Conditions& conditions) {
  if (conditions.power_limit_w <= 0) return 1;
  OpParts computing = op;  // launches are over before a clock could change for them
  computing.fixed_s = 0;
  const auto over_w = [&](double clock) {
    const Run run = run_at(computing, law, clock, conditions);
    return run.dynamic_energy_j / run.time_s + law.running_w - conditions.power_limit_w;
  };
  double low = law.lowest_clock, high = 1, below = over_w(low), above = over_w(high);
  if (!(above > 0)) return 1;
  if (!(below < 0)) return low;
  // The Illinois algorithm (Dowell and Jarratt, BIT 11, 1971): the chord's root; an end that stays loses half of its weight.
  for (int i = 0, stayed = 0; i < kMostSteps; ++i) {
    const double middle = (low * above - high * below) / (above - below), there = over_w(middle);
    if (std::abs(there) <= kTolerance * conditions.power_limit_w) return middle;
    if (there > 0) {
      high = middle;
      above = there;
      if (stayed == -1) below /= 2;
      stayed = -1;
    } else {
      low = middle;
      below = there;
      if (stayed == 1) above /= 2;
      stayed = 1;
    }
  }
  return low;
}

double mean_power_w(double dynamic_energy_j, double step_s, const sim::Device& device) {
  return sim::power_law(device).running_w + dynamic_energy_j / step_s;
}

}  // namespace rehearse::workloads
