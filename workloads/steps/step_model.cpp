#include "workloads/steps/step_model.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/units.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/steps/op_time.hpp"

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

ComputeTime StepModel::compute_time(const sim::Device& device, const Conditions& conditions, Tilings* tilings) const {
  ComputeTime result;
  const sim::PowerLaw law = sim::power_law(device);
  Run all;
  for (const Class& c : classes_) {  // multiples of the grid: the sums are exact
    const OpParts parts = op_parts(c.work, device, conditions, tilings);
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
  result.overhead_s = device.efficiency.step_overhead_s;
  result.loading_s = conditions.loader_s * conditions.batch;
  return result;
}

double StepModel::gradient_bytes(sim::Precision precision) const {
  return parameters_ * (is_half(precision) ? kBytesPerNumber / 2 : kBytesPerNumber);
}

double StepModel::input_bytes(double batch) const { return input_bytes_.at(batch); }

double StepModel::input_s(double batch, double storage_bytes_per_s) const {
  return storage_bytes_per_s > 0 ? input_bytes_.at(batch) / storage_bytes_per_s : 0;
}

double ring_all_reduce_s(double bytes, int ranks, const sim::Link& link) {
  if (ranks <= 1) return 0;
  sim::check(link.bandwidth_bytes_per_s > 0, "a ring needs bandwidth");
  const double n = ranks;
  const double alone_s = 2 * (n - 1) / n * bytes / link.bandwidth_bytes_per_s + 2 * (n - 1) * link.latency_s;
  return link.contention == 0 ? alone_s : alone_s * std::pow(n / 2, link.contention);
}

double hierarchical_all_reduce_s(double bytes, const RingPlan& plan) {
  const double share = plan.workers_per_node;
  const sim::Link network{plan.network.bandwidth_bytes_per_s / share, plan.network.latency_s};
  return ring_all_reduce_s(bytes, plan.workers_per_node, plan.inside) + ring_all_reduce_s(bytes / share, plan.nodes, network);
}

double push_s(double bytes, const ParameterServers& ps) {
  sim::check(ps.network.bandwidth_bytes_per_s > 0, "a parameter server needs bandwidth");
  return 2 * (bytes / ps.network.bandwidth_bytes_per_s + ps.network.latency_s) + ps.apply_s;
}

double overlapped(double a, double b, double g) {
  a = std::max(0.0, a);
  const double larger = std::max(a, b), smaller = std::min(a, b);
  if (larger == 0) return 0;
  return larger * std::pow(1 + std::pow(smaller / larger, g), 1 / g);  // scaled: powers of small times would vanish
}

double asynchronous_pushes_per_s(double worker_s, int workers, double push, const ParameterServers& ps) {
  return 1 / overlapped(worker_s / workers, push / ps.servers, ps.overlap);
}

double saturation_workers(double worker_s, double push, const ParameterServers& ps) { return worker_s * ps.servers / push; }

/// Integral over x >= 0 of (1 - F(x)^n) - F(-x)^n, F the normal distribution function, by Simpson's rule.
double expected_normal_maximum(int n) {
  if (n <= 1) return 0;
  constexpr int kSteps = 240;
  constexpr double kEnd = 12, kWidth = kEnd / kSteps;
  const auto f = [n](double x) {
    const double above = sim::normal_share_below(-x);  // 1 - F(x) = F(-x)
    return -std::expm1(n * std::log1p(-above)) - std::pow(above, n);
  };
  double sum = f(0) + f(kEnd);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(i * kWidth);
  return sum * kWidth / 3;
}

StepTime step_time(const StepInputs& in) {
  const ComputeTime& compute = in.compute;
  const int workers = in.ring.workers();
  sim::check(workers >= 1 && in.passes >= 1 && in.overlap >= 1,
             "a step needs workers, passes, and an overlap exponent of at least 1");
  StepTime result;
  const double pass_s = compute.worker_s(in.input_s, in.ring.workers_per_node);
  result.worker_s = pass_s + (in.passes - 1) * (pass_s - compute.update_s);
  if (in.exchange == Exchange::parameter_servers_asynchronous) {
    const double push = in.exchange_factor * push_s(in.gradient_bytes, in.servers);
    ParameterServers servers = in.servers;
    if (in.join == Join::root_of_squares) servers.overlap = 2;
    result.steps_per_s = asynchronous_pushes_per_s(result.worker_s, workers, push, servers);
    result.step_s = workers / result.steps_per_s;
    result.exposed_synchronisation_s = result.step_s - result.worker_s;
    return result;
  }
  const bool ring = in.exchange == Exchange::ring;
  const double exchange_s = in.exchange_factor * (ring ? hierarchical_all_reduce_s(in.gradient_bytes, in.ring)
                                                       : push_s(in.gradient_bytes, in.servers) * workers / in.servers.servers);
  result.straggler_s = result.worker_s * in.straggling;
  const double ready_s = result.worker_s + result.straggler_s;
  if (in.join == Join::root_of_squares)
    result.exposed_synchronisation_s = std::hypot(ready_s, exchange_s) - ready_s;
  else if (exchange_s > 0)
    result.exposed_synchronisation_s = overlapped(compute.backward_s, exchange_s, in.overlap) - std::max(0.0, compute.backward_s);
  result.step_s = ready_s + result.exposed_synchronisation_s;
  result.steps_per_s = 1 / result.step_s;
  return result;
}

}  // namespace rehearse::workloads
