#include "sim/cluster/cluster.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

ModelCorrection correction_of(const Device& device, std::string_view model, std::string_view dataset) {
  const auto of_dataset = [&](std::string_view its) {
    return std::find_if(device.corrections.begin(), device.corrections.end(),
                        [&](const ModelCorrection& c) { return c.model == model && c.dataset == its; });
  };
  auto found = of_dataset(dataset);
  if (found == device.corrections.end()) found = of_dataset("");
  return found == device.corrections.end() ? ModelCorrection{.time_factor = device.efficiency.model_factor} : *found;
}

double batch_factor(const ModelCorrection& correction, double batch) {
  const std::vector<BatchFactor>& known = correction.batches;
  if (known.empty()) return 1;
  const auto apart = [](double low, double high) { return std::log2(high / low) / kBatchMemoryDoublings; };
  const auto next = std::ranges::lower_bound(known, batch, {}, &BatchFactor::batch);
  if (next == known.end()) return std::pow(known.back().factor, std::exp(-apart(known.back().batch, batch)));
  if (next->batch == batch) return next->factor;
  if (next == known.begin()) return std::pow(next->factor, std::exp(-apart(batch, next->batch)));
  const double below = apart((next - 1)->batch, batch), above = apart(batch, next->batch);
  return std::exp((std::sinh(above) * std::log((next - 1)->factor) + std::sinh(below) * std::log(next->factor)) /
                  std::sinh(below + above));
}

Device on_stack(Device device, const Stack& stack) {
  if (device.kind == DeviceKind::cpu || !device.stack.empty() || !device.corrections.empty()) return device;
  Efficiency& e = device.efficiency;
  e.model_factor *= stack.time_factor;
  e.launch_s = stack.launch_s;
  e.host_s_per_op = stack.host_s_per_op;
  e.step_overhead_s = stack.step_overhead_s;
  e.fast_forms = stack.fast_forms;
  return device;
}

PowerLaw power_law(const Device& device) {
  if (device.power) return *device.power;
  const double busy = device.busy_w - device.idle_w;
  return {.running_w = device.idle_w, .clock_w = busy, .launch_w = busy};
}

StepSeries::StepSeries(std::vector<Step> steps) : steps_(std::move(steps)) {
  check(!steps_.empty(), "a series has a step at least");
  double sum = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    before_.push_back(sum);
    if (i + 1 == steps_.size()) break;
    check(steps_[i].time_s < steps_[i + 1].time_s, "the times of a series increase");
    sum += steps_[i].value * (steps_[i + 1].time_s - steps_[i].time_s);
  }
}

std::size_t StepSeries::index_at(double time_s) const {
  const auto next =
      std::upper_bound(steps_.begin() + 1, steps_.end(), time_s, [](double t, const Step& step) { return t < step.time_s; });
  return static_cast<std::size_t>(next - steps_.begin()) - 1;
}

double StepSeries::at(double time_s) const { return steps_[index_at(time_s)].value; }

double StepSeries::integral(double from_s, double to_s) const {
  if (from_s > to_s) return -integral(to_s, from_s);
  const std::size_t first = index_at(from_s), last = index_at(to_s);
  if (first == last) return steps_[first].value * (to_s - from_s);
  return steps_[first].value * (steps_[first + 1].time_s - from_s) + (before_[last] - before_[first + 1]) +
         steps_[last].value * (to_s - steps_[last].time_s);
}

}  // namespace rehearse::sim
