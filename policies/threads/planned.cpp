#include "policies/threads/planned.hpp"

#include <fmt/format.h>

namespace rehearse::policies {

sim::ThreadPlan PlannedThreads::plan(const sim::OpGraph& graph, const sim::Device& cpu, double batch) {
  const std::tuple key{&graph, &cpu, batch};
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, made(graph, cpu, batch)).first->second;
}

sim::ThreadPlan PlannedThreads::made(const sim::OpGraph& graph, const sim::Device& cpu, double batch) const {
  const workloads::CpuStepModel model = workloads::cpu_step_model(graph, cpu, batch);
  const std::string entity = fmt::format("{}/{}/{}", graph.name, cpu.name, batch);
  StepBench bench(model, cpu, batch, {.deviation = noise_.deviation, .key = sim::stream_key(noise_.key, 0, "threads", entity)});
  sim::CpuPlan plan = planner_->plan(bench);
  sim::ThreadPlan answer = RecommendedThreads().plan(graph, cpu, batch);
  answer.profiling_steps = bench.profiled_s() / workloads::recommended_step_s(model);
  answer.schedule = std::make_shared<const sim::CpuPlan>(std::move(plan));
  return answer;
}

}  // namespace rehearse::policies
