#include "experiments/process/process_threads.hpp"

#include "policies/threads/recommended.hpp"
#include "sim/replay/validate.hpp"
#include "sim/step/cpu_step.hpp"

namespace rehearse::scenarios {

sim::ThreadPlan ProcessThreads::plan(const sim::OpGraph& graph, const sim::Device& cpu, double batch) {
  const std::tuple key{&graph, &cpu, batch};
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, asked(graph, cpu, batch)).first->second;
}

sim::ThreadPlan ProcessThreads::asked(const sim::OpGraph& graph, const sim::Device& cpu, double batch) {
  sim::ThreadPlan plan = policies::RecommendedThreads().plan(graph, cpu, batch);
  const sim::NumberRange threads = sim::between(1, cpu.cores * cpu.threads_per_core);
  process_.ask(
      [&](JsonLine& out) {
        graphs_.write(graph, out);
        out.key("device").text(cpu.name).key("cores").number(cpu.cores).key("sockets").number(cpu.sockets);
        out.key("threads_per_core").number(cpu.threads_per_core).key("batch").number(batch);
      },
      [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
        plan.inter_op = static_cast<int>(in.integer("inter_op", threads, plan.inter_op));
        plan.intra_op = static_cast<int>(in.integer("intra_op", threads, plan.intra_op));
        if (in.has("threads_of_op")) {
          sim::CpuPlan schedule{.dispatch = sim::Dispatch::list};
          for (const sim::JsonValue of_one : in.list("threads_of_op"))
            schedule.threads.push_back(static_cast<int>(sim::read_integer(of_one, sim::between(1, cpu.cores), mistakes)));
          plan.schedule = std::make_shared<const sim::CpuPlan>(std::move(schedule));
        }
        mistakes.throw_if_any();
        sim::validate_thread_plan(graph, cpu, plan);
      });
  return plan;
}

}  // namespace rehearse::scenarios
