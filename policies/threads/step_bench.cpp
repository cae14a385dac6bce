#include "policies/threads/step_bench.hpp"

#include <cmath>

namespace rehearse::policies {

sim::CpuPlan serial_plan(const sim::CpuGraph& graph, const std::vector<int>& threads_of_class) {
  sim::CpuPlan plan;
  plan.threads.reserve(graph.class_of.size());
  for (const std::int32_t c : graph.class_of) plan.threads.push_back(threads_of_class[static_cast<std::size_t>(c)]);
  return plan;
}

sim::CpuTiming StepBench::charge(const sim::CpuPlan& plan, int steps) {
  sim::CpuTiming timing = sim::time_cpu_step(model_.graph, *model_.costs, model_.machine, plan);
  steps_ += steps;
  profiled_s_ += steps * timing.makespan_s();
  return timing;
}

std::vector<double> StepBench::probe(const std::vector<int>& threads) {
  charge(serial_plan(model_.graph, threads), 1);
  const auto classes = static_cast<std::size_t>(class_count());
  std::vector<double> sum(classes, 0), alone_s(classes), count(classes, 0);
  for (std::size_t c = 0; c < classes; ++c) alone_s[c] = model_.alone_s(static_cast<int>(c), threads[c]);
  for (const std::int32_t c : model_.graph.class_of) {
    sum[static_cast<std::size_t>(c)] += alone_s[static_cast<std::size_t>(c)] * random_.log_normal_factor(noise_.deviation);
    ++count[static_cast<std::size_t>(c)];
  }
  for (std::size_t c = 0; c < classes; ++c) sum[c] /= count[c];
  return sum;
}

std::vector<workloads::CpuCounters> StepBench::probe_counters(int threads) {
  const auto classes = static_cast<std::size_t>(class_count());
  charge(serial_plan(model_.graph, std::vector<int>(classes, threads)), 1);
  std::vector<workloads::CpuCounters> read(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    const double alone_s = model_.alone_s(static_cast<int>(c), threads);
    read[c] = workloads::noisy(workloads::cpu_counters(model_.classes.works[c], cpu_, batch_, threads, alone_s),
                               {.fixed = noise_.deviation, .multiplexed = noise_.counter_deviation}, random_);
  }
  return read;
}

double StepBench::step_s(const sim::CpuPlan& plan, int steps) {
  const sim::CpuTiming timing = charge(plan, steps);
  // Independent noise of operations averages out over a step.
  double squares = 0, sum = 0;
  for (const sim::Tick ticks : timing.duration_of_op) {
    sum += sim::seconds_of(ticks);
    squares += sim::seconds_of(ticks) * sim::seconds_of(ticks);
  }
  double factors = 0;
  for (int step = 0; step < steps; ++step) factors += random_.log_normal_factor(noise_.deviation * std::sqrt(squares) / sum);
  return timing.makespan_s() * factors / steps;
}

}  // namespace rehearse::policies
