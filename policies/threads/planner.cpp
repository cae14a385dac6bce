#include "policies/threads/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/threads/type_counts.hpp"

namespace rehearse::policies {

namespace {

constexpr int kMostInterOp = 8;
constexpr int kTrialSteps = 3;  // with each combination of strategies
/// How much slower than its quickest an operation may be for fewer threads, in list schedules.
constexpr double kSlack[] = {0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8};

/// The longest believed way from each operation's start to the end of the step.
std::vector<double> bottom_levels(const sim::CpuGraph& graph, const sim::CpuBelief& belief,
                                  const std::vector<std::int32_t>& threads) {
  std::vector<double> level(threads.size(), 0);
  for (std::size_t op = threads.size(); op-- > 0;) {
    for (std::int32_t i = graph.first_successor[op]; i < graph.first_successor[op + 1]; ++i)
      level[op] = std::max(level[op], level[static_cast<std::size_t>(graph.successors[static_cast<std::size_t>(i)])]);
    level[op] += belief.alone(graph.class_of[op], threads[op]);
  }
  return level;
}

int most_inter_op(const sim::CpuMachine& machine) { return std::min(kMostInterOp, machine.logical_cores()); }

/// On as many threads each as fill the hardware threads.
workloads::UniformSetting filling(const sim::CpuMachine& machine, int inter_op) {
  return {.intra_op = std::clamp(machine.logical_cores() / inter_op, 1, machine.cores), .inter_op = inter_op};
}

std::vector<int> threads_of_classes(const sim::CpuMachine& machine, const sim::CpuGraph& graph,
                                    const workloads::OpClasses& classes, const sim::CpuBelief& belief,
                                    const ThreadStrategies& strategies) {
  std::vector<int> threads(classes.works.size(), machine.cores);
  if (strategies.type_counts) {
    const std::vector<int> of_type = type_counts(machine, graph, classes, belief);
    for (std::size_t c = 0; c < threads.size(); ++c) threads[c] = of_type[static_cast<std::size_t>(classes.type_of[c])];
  } else if (strategies.own_counts) {
    for (std::size_t c = 0; c < threads.size(); ++c) threads[c] = belief.best(static_cast<int>(c), machine.cores);
  }
  return threads;
}

}  // namespace

sim::CpuPlan RecommendedPlanner::plan(StepBench& bench) const {
  return workloads::uniform_plan(bench.graph(), {.intra_op = bench.machine().cores, .inter_op = bench.machine().sockets});
}

sim::CpuPlan DefaultPlanner::plan(StepBench& bench) const {
  const int threads = bench.machine().logical_cores();
  return workloads::uniform_plan(bench.graph(), {.intra_op = threads, .inter_op = threads});
}

sim::CpuPlan ManualBestPlanner::plan(StepBench& bench) const {
  const sim::CpuMachine& machine = bench.machine();
  sim::CpuPlan best;
  double least_s = std::numeric_limits<double>::infinity();
  for (int inter_op = 1; inter_op <= std::min(kMostInterOp, machine.cores); ++inter_op)
    for (int intra_op = 1; intra_op <= machine.logical_cores(); intra_op += intra_op < machine.cores ? 1 : machine.cores) {
      sim::CpuPlan plan = workloads::uniform_plan(bench.graph(), {.intra_op = intra_op, .inter_op = inter_op});
      if (const double step_s = bench.step_s(plan); step_s < least_s) {
        least_s = step_s;
        best = std::move(plan);
      }
    }
  return best;
}

std::string to_string(const ThreadStrategies& s) {
  std::string text;
  const auto add = [&text](bool on, const char* name) {
    if (on) text += (text.empty() ? "" : "+") + std::string(name);
  };
  add(s.own_counts && !s.type_counts, "S1");
  add(s.type_counts, "S2");
  add(s.co_run, "S3");
  add(s.spare_threads, "S4");
  return text.empty() ? "recommended" : text;
}

std::vector<ThreadStrategies> all_thread_strategies() {
  std::vector<ThreadStrategies> all;
  for (const int beside : {0, 1, 2, 3})
    for (const int counts : {0, 1, 2})
      if (beside + counts > 0)
        all.push_back({.own_counts = counts == 1,
                       .type_counts = counts == 2,
                       .co_run = (beside & 1) != 0,
                       .spare_threads = (beside & 2) != 0});
  return all;
}

namespace {

bool includes(const ThreadStrategies& all, const ThreadStrategies& some) {
  return (all.own_counts || !some.own_counts) && (all.type_counts || !some.type_counts) && (all.co_run || !some.co_run) &&
         (all.spare_threads || !some.spare_threads);
}

}  // namespace

sim::CpuPlan strategy_plan(const sim::CpuMachine& machine, const sim::CpuGraph& graph, const workloads::OpClasses& classes,
                           std::shared_ptr<const sim::CpuBelief> belief, const ThreadStrategies& strategies) {
  sim::CpuPlan plan = serial_plan(graph, threads_of_classes(machine, graph, classes, *belief, strategies));
  plan.co_run = strategies.co_run;
  plan.spare_threads = strategies.spare_threads;
  if (plan.co_run || plan.spare_threads) plan.priority = bottom_levels(graph, *belief, plan.threads);
  plan.belief = std::move(belief);
  return plan;
}

sim::CpuPlan StrategyPlanner::plan(StepBench& bench) const {
  const auto belief = std::make_shared<const sim::CpuBelief>(estimator_->estimate(bench));
  const auto with = [&](const ThreadStrategies& strategies) {
    return strategy_plan(bench.machine(), bench.graph(), bench.classes(), belief, strategies);
  };
  if (use_ == Use::as_given) return with(strategies_);
  sim::CpuPlan best;
  double least_s = std::numeric_limits<double>::infinity();
  const auto quicker = [&](sim::CpuPlan plan) {
    const double step_s = bench.step_s(plan, kTrialSteps);
    if (step_s >= least_s) return false;
    least_s = step_s;
    best = std::move(plan);
    return true;
  };
  quicker(RecommendedPlanner().plan(bench));
  if (use_ == Use::or_uniform) {
    int inter_op = bench.machine().sockets + 1;
    while (inter_op <= most_inter_op(bench.machine()) &&
           quicker(workloads::uniform_plan(bench.graph(), filling(bench.machine(), inter_op))))
      ++inter_op;
  }
  for (const ThreadStrategies& some : all_thread_strategies())
    if (includes(strategies_, some)) quicker(with(some));
  return best;
}

std::shared_ptr<const sim::CpuBelief> exact_belief(const workloads::CpuStepModel& model) {
  std::vector<double> alone_s;
  for (int c = 0; c < model.costs->classes(); ++c)
    for (int k = 1; k <= model.machine.cores; ++k) alone_s.push_back(model.alone_s(c, k));
  return std::make_shared<const sim::CpuBelief>(sim::CpuBelief::of(model.machine.cores, std::move(alone_s)));
}

sim::CpuPlan list_schedule(const workloads::CpuStepModel& model) {
  const auto belief = exact_belief(model);
  const int cores = model.machine.cores;
  sim::CpuPlan best;
  sim::Tick least = std::numeric_limits<sim::Tick>::max();
  const auto consider = [&](sim::CpuPlan plan) {
    const sim::Tick makespan = sim::time_cpu_step(model.graph, *model.costs, model.machine, plan).makespan;
    if (makespan >= least) return;
    least = makespan;
    best = std::move(plan);
  };
  for (const double slack : kSlack) {
    std::vector<int> threads;
    for (int c = 0; c < model.costs->classes(); ++c) {
      int k = 1;
      while (belief->alone(c, k) > (1 + slack) * belief->alone(c, belief->best(c, cores))) ++k;
      threads.push_back(k);
    }
    sim::CpuPlan plan = serial_plan(model.graph, threads);
    plan.dispatch = sim::Dispatch::list;
    plan.priority = bottom_levels(model.graph, *belief, plan.threads);
    plan.belief = belief;
    consider(plan);
    plan.dispatch = sim::Dispatch::strategies;
    plan.spare_threads = true;
    consider(std::move(plan));
  }
  for (int inter_op = 1; inter_op <= most_inter_op(model.machine); ++inter_op)
    consider(workloads::uniform_plan(model.graph, filling(model.machine, inter_op)));
  for (const ThreadStrategies& strategies : all_thread_strategies())
    consider(strategy_plan(model.machine, model.graph, model.classes, belief, strategies));
  return best;
}

double thread_lower_bound_s(const workloads::CpuStepModel& model) {
  const auto belief = exact_belief(model);
  const int cores = model.machine.cores;
  std::vector<std::int32_t> quickest;
  double arithmetic_s = 0, bytes = 0;  // arithmetic of one core, at the least
  for (const std::int32_t c : model.graph.class_of) {
    quickest.push_back(belief->best(c, cores));
    double least_s = std::numeric_limits<double>::infinity();
    for (int k = 1; k <= cores; ++k) least_s = std::min(least_s, k * model.costs->cost(c, k).arithmetic_s);
    arithmetic_s += least_s;
    bytes += model.costs->cost(c, 1).bytes;
  }
  const std::vector<double> levels = bottom_levels(model.graph, *belief, quickest);
  const double yield = *std::max_element(model.machine.smt_yield.begin(), model.machine.smt_yield.end());
  return std::max({*std::max_element(levels.begin(), levels.end()), arithmetic_s / cores / yield,
                   bytes / model.machine.bandwidth_bytes_per_s});
}

sim::ThreadPlan PlannedThreads::plan(const sim::OpGraph& graph, const sim::Device& cpu, double batch) {
  const std::tuple key{&graph, &cpu, batch};
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, made(graph, cpu, batch)).first->second;
}

sim::ThreadPlan PlannedThreads::made(const sim::OpGraph& graph, const sim::Device& cpu, double batch) const {
  const workloads::CpuStepModel model = workloads::cpu_step_model(graph, cpu, batch);
  const std::string entity = fmt::format("{}/{}/{}", graph.name, cpu.name, batch);
  StepBench bench(model, cpu, batch,
                  {.deviation = noise_.deviation,
                   .counter_deviation = noise_.counter_deviation,
                   .key = sim::stream_key(noise_.key, 0, "threads", entity)});
  sim::CpuPlan plan = planner_->plan(bench);
  sim::ThreadPlan answer = RecommendedThreads().plan(graph, cpu, batch);
  answer.profiling_steps = bench.profiled_s() / workloads::recommended_step_s(model);
  answer.schedule = std::make_shared<const sim::CpuPlan>(std::move(plan));
  return answer;
}

}  // namespace rehearse::policies
