#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/commands.hpp"
#include "cli/network_words.hpp"
#include "cli/planned_files.hpp"
#include "cli/say.hpp"
#include "report/comparison.hpp"
#include "scenarios/read/plan_files.hpp"
#include "sim/base/errors.hpp"
#include "sim/money/costs.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::cli {

namespace {

using policies::Interval;
using policies::PlanChoice;

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string what(const PlanChoice& c, const sim::Cluster& cluster) {
  return fmt::format("{} x {} of {}, batch {}{}", c.workers, sim::worker_device(cluster, c.pool).name,
                     cluster.pools[static_cast<std::size_t>(c.pool)].name, c.batch,
                     c.power_limit_w > 0 ? fmt::format(", {:.0f} W", c.power_limit_w) : "");
}

/// "2 nodes of p3.8xlarge, all 8 GPUs", or what share of the devices that are rented works.
std::string rented(const PlanChoice& c, const sim::Cluster& cluster) {
  const int pool = cluster.pools[static_cast<std::size_t>(c.pool)].instance;
  const long devices = c.nodes * sim::workers_per_node(cluster, c.pool);
  std::string text =
      fmt::format("{} node{} of {}", c.nodes, c.nodes == 1 ? "" : "s", cluster.instances[static_cast<std::size_t>(pool)].name);
  if (!sim::has_gpus(cluster, c.pool)) return text;  // a worker is a node
  const char* const gpus = devices == 1 ? "GPU" : "GPUs";
  if (c.workers == devices)
    return text + (devices == 1 ? fmt::format(", its {}", gpus) : fmt::format(", all {} {}", devices, gpus));
  return text +
         fmt::format(", {} of {} {} work ({:.3g} %)", c.workers, devices, gpus, 100.0 * c.workers / static_cast<double>(devices));
}

/// Under node billing what is rented stands below.
struct Printed {
  const sim::Cluster& cluster;
  bool rents;
};

void print_choice(const char* label, const PlanChoice& c, const Printed& how) {
  const sim::Cluster& cluster = how.cluster;
  say("{:<13}{:<44}{:>10}{:>12.2f} kWh{:>11.2f} $\n", label, what(c, cluster), duration(c.time_s.expected),
      c.energy_j.expected / 3.6e6, c.cost_usd.expected);
  if (how.rents) say("{:<13}{}\n", "", rented(c, cluster));
}

void print_best(const PlanChoice& c) {
  say("\nof the recommended, with the range that holds 80 of 100 networks:\n");
  const auto line = [](const char* name, const Interval& i, double scale, const char* unit) {
    say("  {:<22}{:>10.4g}  ({:.4g} to {:.4g}) {}\n", name, i.expected * scale, i.low * scale, i.high * scale, unit);
  };
  say("  {:<22}{:>10.4g}\n", "epochs", c.epochs);
  line("a step", c.step_s, 1e3, "ms");
  line("all of it", c.time_s, 1 / 3600.0, "h");
  line("energy", c.energy_j, 1 / 3.6e6, "kWh");
  line("money", c.cost_usd, 1, "$");
  line("memory of a worker", c.memory_bytes, 1e-9, "GB");
  line("use of the peak", c.utilization, 100, "%");
}

void print_limits(const policies::Recommendation& r, policies::Goal goal, const Printed& how) {
  if (r.costs.empty()) {
    say("\nno limit costs anything\n");
    return;
  }
  say("\nwithout one limit, the others as they are:\n");
  for (const policies::LimitCost& cost : r.costs) {
    print_choice(("  " + cost.limit).c_str(), cost.without, how);
    if (r.best) say("{:<13}the limit costs {:.1f} % of it\n", "", 100 * (r.best->by(goal) / cost.without.by(goal) - 1));
  }
}

/// Estimators are fitted to other networks: one of much arithmetic in few operations may come out faster than the device.
void warn_of_peak(const PlanChoice& c, const workloads::StructureFeatures& features, double peak_flops) {
  constexpr double kPasses = 3;  // forward, and both gradients
  const double share = std::ceil(c.batch / c.workers);
  const double used = kPasses * share * features.flops() / (peak_flops * c.step_s.expected);
  if (used > 1)
    say("  warning: the predicted step would need {:.0f} % of the device's peak: the network is unlike those that the estimator "
        "is fitted to; where no convolution has a fast form, a step takes {:.4g} ms at least\n",
        100 * used, 1e3 * used * c.step_s.expected);
}

/// What the steps' software is taken to be.
std::string stack_words(const std::optional<sim::Stack>& stack, const std::string& precision) {
  if (!stack)
    return fmt::format("Software: none is named (--stack), steps are as the data sheets have them; precision {} (--precision).",
                       precision);
  return fmt::format("Software: {}, transferred to devices that nobody has measured ({}); precision {} (--precision).",
                     stack->name, stack->source, precision);
}

/// What would get there: the soonest and the cheapest that there is, and what they are.
void refuse(const scenarios::PlanRequest& request, const policies::Recommendation& r, const sim::Cluster& cluster,
            const std::string& file) {
  std::string expected = "limits that something keeps";
  const std::vector<int>& free = request.limits.free_devices;
  const int pool = request.limits.pool;
  const bool none_free = !free.empty() && (pool >= 0 ? free[static_cast<std::size_t>(pool)] == 0
                                                     : std::ranges::all_of(free, [](int n) { return n == 0; }));
  if (none_free)
    throw sim::InputError({.file = file,
                           .expected = "free devices (free_devices of the cluster's file) for the job",
                           .found = pool < 0 ? "none" : "none of " + cluster.pools[static_cast<std::size_t>(pool)].name});
  if (!r.soonest) {
    expected =
        "a network that fits the memory of the pool's devices at one of the batch sizes, on as many workers as are asked for";
  } else {
    if (std::isfinite(request.limits.deadline_s))
      expected += fmt::format("; the soonest is deadline_s {:.0f}, with {}", std::ceil(r.soonest->time_s.high),
                              what(*r.soonest, cluster));
    if (std::isfinite(request.limits.cost_usd))
      expected += fmt::format("; the least is cost_limit_usd {:.2f}, with {}", std::ceil(100 * r.cheapest->cost_usd.high) / 100,
                              what(*r.cheapest, cluster));
    for (const policies::LimitCost& cost : r.costs)
      if (cost.limit != "deadline" && cost.limit != "cost limit")
        expected += fmt::format("; without the limit on {} {} would do", cost.limit, what(cost.without, cluster));
  }
  std::string found = "nothing that keeps them";
  if (std::isfinite(request.limits.deadline_s)) found = fmt::format("deadline_s {}", request.limits.deadline_s);
  if (std::isfinite(request.limits.cost_usd)) found += fmt::format(", cost_limit_usd {}", request.limits.cost_usd);
  throw sim::InputError({.file = file, .expected = expected, .found = found});
}

}  // namespace

int plan_command(const PlanArguments& arguments) {
  const auto plan = scenarios::load_plan_cluster(arguments.cluster, arguments.stack);
  const sim::Cluster& cluster = plan->scenario.cluster;
  const scenarios::PlanRequest request = scenarios::load_plan_job(arguments.job, *plan);
  const std::optional<sim::Stack>& stack = plan->scenario.stack;
  const auto precisions = traces::precision_names();
  const sim::Precision precision =
      arguments.precision.empty()
          ? (stack ? stack->precision : sim::Precision::fp32)
          : static_cast<sim::Precision>(std::ranges::find(precisions, arguments.precision) - precisions.begin());
  const policies::EstimatorSet estimators(cluster, policies::sweep_for(request.job.features, precision));
  const policies::Recommender recommender(cluster, plan->scenario.costs, estimators);
  const policies::Recommendation r = recommender.recommend(request.job, request.limits, request.goal);
  if (!r.best) refuse(request, r, cluster, arguments.job);
  say("{}: {}{}\n\n", request.name, request.model, request.why.empty() ? "" : " (" + request.why + ")");
  say("{:<13}{:<44}{:>10}{:>16}{:>13}\n", "", "resources", "time", "energy", "money");
  const Printed how{cluster, plan->scenario.costs.billing == sim::Billing::node};
  print_choice("recommended", *r.best, how);
  for (const PlanChoice& other : r.alternatives) print_choice("or", other, how);
  print_best(*r.best);
  warn_of_peak(*r.best, request.job.features, policies::peak_flops_in(sim::worker_device(cluster, r.best->pool), precision));
  print_limits(r, request.goal, how);
  say("\n{}", predicted_words(account_of(request.network)));
  say("{}", wrapped(stack_words(stack, precisions[static_cast<std::size_t>(precision)])));
  say("{}\n", report::billing_line(plan->scenario.costs.billing, plan->scenario.costs.minimum_node_s));
  if (!arguments.export_to.empty())
    export_planned(arguments.export_to, request, *r.best, {.cluster = cluster, .framework = arguments.framework});
  return kOk;
}

}  // namespace rehearse::cli
