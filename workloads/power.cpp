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

Run run_at(const OpParts& op, const sim::PowerLaw& law, double clock, const Conditions& conditions) {
  const double time_s = conditions.time_factor * duration_s(op, clock), volts = voltage(law, clock);
  const double core_j = law.clock_w * clock * (time_s - conditions.time_factor * op.fixed_s) + law.arithmetic_w * op.peak_s;
  return {time_s, conditions.power_factor * (volts * volts * core_j + law.memory_w * op.memory_s)};
}

double clock_under_limit(const OpParts& op, const sim::PowerLaw& law, const Conditions& conditions) {
  if (conditions.power_limit_w <= 0) return 1;
  const auto keeps = [&](double clock) {
    const Run run = run_at(op, law, clock, conditions);
    return run.dynamic_energy_j <= (conditions.power_limit_w - law.running_w) * (run.time_s - conditions.time_factor * op.fixed_s);
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
