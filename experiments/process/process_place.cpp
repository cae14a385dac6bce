#include "experiments/process/process_place.hpp"

#include "sim/replay/validate.hpp"
#include "workloads/steps/placed_step.hpp"

namespace rehearse::scenarios {

sim::StepPlan ProcessPlace::place(const sim::PlaceView& view) {
  if (!policies::has_something_to_place(view)) return {.replicas = view.workers_on_node};
  const sim::Group& group = view.configuration->groups[static_cast<std::size_t>(view.group)];
  const double batch = static_cast<double>(group.batch_per_worker) * view.workers_on_node;
  const std::tuple key{view.graph, group.pool, view.workers_on_node, batch, view.configuration->power_limit_w};
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, asked(view, group, batch)).first->second;
}

sim::StepPlan ProcessPlace::asked(const sim::PlaceView& view, const sim::Group& group, double batch) {
  const workloads::ReplicaSetting setting =
      workloads::setting_of({.profile = view.job->profile->index,
                             .pool = group.pool,
                             .gpus = view.workers_on_node,
                             .batch = batch,
                             .power_limit_w = view.configuration->power_limit_w},
                            belief_.profiles().of(*view.job->profile), belief_.cluster(), view.job->profile->precision);
  const sim::StepGraph timed = workloads::replica_graph(setting);
  sim::StepPlan plan{.replicas = view.workers_on_node};
  process_.ask(
      [&](JsonLine& out) {
        graphs_.write(*view.graph, out);
        out.key("pool").text(belief_.cluster().pools[static_cast<std::size_t>(group.pool)].name);
        out.key("gpus").number(view.workers_on_node).key("batch").number(batch);
        out.key("op_seconds").open('[');
        for (int op = 0; op < timed.ops(); ++op) out.number(sim::seconds_of(timed.duration(op, 0)));
        out.close(']');
      },
      [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
        if (!in.has("device_of_op")) return;
        plan.replicas = 1;
        for (const sim::JsonValue device : in.list("device_of_op"))
          plan.device_of_op.push_back(
              static_cast<int>(sim::read_integer(device, sim::between(0, view.workers_on_node - 1), mistakes)));
        if (plan.device_of_op.empty()) in.child("device_of_op")->refuse("a device for each operation", mistakes);
        mistakes.throw_if_any();
        sim::validate_step_plan(*view.graph, view.workers_on_node, plan);
      });
  return plan;
}

}  // namespace rehearse::scenarios
