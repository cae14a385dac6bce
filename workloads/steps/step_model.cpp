#include "workloads/steps/step_model.hpp"

#include <algorithm>

#include "sim/base/units.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/steps/power.hpp"

namespace rehearse::workloads {

StepModel::StepModel(const sim::OpGraph& graph) : parameters_(graph.parameters), input_bytes_(graph.input_bytes) {
  for (const sim::Op& op : graph.ops) {
    const OpWork work = work_of(op);
    auto same = std::find_if(classes_.begin(), classes_.end(), [&](const Class& c) { return c.work == work; });
    if (same == classes_.end()) same = classes_.insert(same, {work});
    switch (op.phase) {
      case sim::Phase::forward:
        ++same->forward;
        break;
      case sim::Phase::backward:
        ++same->backward;
        break;
      case sim::Phase::update:
        ++same->update;
        break;
    }
    operations_ += op.repeats;
  }
}

ComputeTime StepModel::compute_time(const sim::Device& device, const Conditions& conditions) const {
  ComputeTime result;
  const sim::PowerLaw law = sim::power_law(device);
  Run all;
  for (const Class& c : classes_) {  // multiples of the grid: the sums are exact
    const OpParts parts = op_parts(c.work, device, conditions);
    const Run one = run_at(parts, law, clock_under_limit(parts, law, conditions), conditions);
    const double one_s = sim::on_step_grid(one.time_s);
    result.forward_s += c.forward * one_s;
    result.backward_s += c.backward * one_s;
    result.update_s += c.update * one_s;
    const int times = c.forward + c.backward + c.update;
    all.time_s += times * one.time_s;
    all.dynamic_energy_j += times * one.dynamic_energy_j;
  }
  if (all.time_s > 0) result.dynamic_energy_j = all.dynamic_energy_j / all.time_s * result.total_s();
  result.host_s = operations_ * device.efficiency.host_s_per_op;
  return result;
}

double StepModel::gradient_bytes(sim::Precision precision) const {
  return parameters_ * (precision == sim::Precision::fp16 ? kBytesPerNumber / 2 : kBytesPerNumber);
}

double StepModel::input_bytes(double batch) const { return input_bytes_.at(batch); }

double StepModel::input_s(double batch, double storage_bytes_per_s) const {
  return storage_bytes_per_s > 0 ? input_bytes_.at(batch) / storage_bytes_per_s : 0;
}

}  // namespace rehearse::workloads
