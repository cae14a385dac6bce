#include "workloads/step_model.hpp"

#include <algorithm>

#include "sim/base/units.hpp"
#include "workloads/layer_cost.hpp"
#include "workloads/power.hpp"

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
  std::vector<TimedParts> operations;
  for (const Class& c : classes_)
    operations.push_back(
        {op_parts(c.work, device, conditions), static_cast<double>(c.forward + c.backward + c.update)});
  ComputeTime result{.clock = clock_under_limit(operations, device, conditions)};
  for (std::size_t i = 0; i < classes_.size(); ++i) {  // multiples of the grid: the sums are exact
    const double one_s = sim::on_step_grid(conditions.time_factor * duration_s(operations[i].parts, result.clock));
    result.forward_s += classes_[i].forward * one_s;
    result.backward_s += classes_[i].backward * one_s;
    result.update_s += classes_[i].update * one_s;
  }
  const Run run = run_at(operations, sim::power_law(device), result.clock);
  if (run.time_s > 0)
    result.dynamic_energy_j = conditions.power_factor * run.dynamic_energy_j / run.time_s * result.total_s();
  result.host_s = operations_ * device.efficiency.host_s_per_op;
  return result;
}

double StepModel::gradient_bytes(sim::Precision precision) const {
  return parameters_ * (precision == sim::Precision::fp16 ? kBytesPerNumber / 2 : kBytesPerNumber);
}

double StepModel::input_s(double batch, double storage_bytes_per_s) const {
  return storage_bytes_per_s > 0 ? input_bytes_.at(batch) / storage_bytes_per_s : 0;
}

}  // namespace rehearse::workloads
