#include "workloads/power.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::workloads {
namespace {

constexpr int kHalvings = 30;  // of the interval of clocks: to 1e-9

double voltage(const sim::PowerLaw& law, double clock) {
  return std::max(law.voltage_floor, 1 - law.voltage_slope * (1 - clock));
}

}  // namespace

Run run_at(std::span<const TimedParts> operations, const sim::PowerLaw& law, double clock) {
  double time_s = 0, arithmetic_s = 0, memory_s = 0;
  for (const TimedParts& op : operations) {
    time_s += op.times * duration_s(op.parts, clock);
    arithmetic_s += op.times * op.parts.arithmetic_s;
    memory_s += op.times * op.parts.memory_s;
  }
  const double volts = voltage(law, clock), core_j = law.clock_w * clock * time_s + law.arithmetic_w * arithmetic_s;
  return {time_s, volts * volts * core_j + law.memory_w * memory_s};
}

double clock_under_limit(std::span<const TimedParts> operations, const sim::Device& device, const Conditions& conditions) {
  if (conditions.power_limit_w <= 0) return 1;
  const sim::PowerLaw law = sim::power_law(device);
  const auto keeps = [&](double clock) {
    const Run run = run_at(operations, law, clock);
    return conditions.power_factor * run.dynamic_energy_j <= (conditions.power_limit_w - law.running_w) * run.time_s;
  };
  if (keeps(1)) return 1;
  double low = law.lowest_clock, high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (keeps(middle) ? low : high) = middle;
  }
  return low;
}

double mean_power_w(double dynamic_energy_j, double step_s, const sim::Device& device) {
  return sim::power_law(device).running_w + dynamic_energy_j / step_s;
}

}  // namespace rehearse::workloads
