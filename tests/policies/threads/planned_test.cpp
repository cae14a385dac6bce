#include <catch2/catch.hpp>

#include "policies/place/data_parallel.hpp"
#include "policies/registry/registry.hpp"
#include "policies/threads/planner.hpp"
#include "policies/threads/regression.hpp"
#include "sim/base/errors.hpp"
#include "sim/replay/alone.hpp"
#include "sim/replay/decisions.hpp"
#include "tests/workloads/real_world.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::configuration;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

/// One node with a KNL and no errors.
const RealWorld& knl_node() {
  static const RealWorld real(real_cluster({{"cpu", "knl7250", 1, 0, 3.6}}), {{"resnet18", "cifar10"}});
  return real;
}
const sim::OpGraph& graph() { return knl_node().models.of(knl_node().profile()).graph; }
const sim::Device& cpu() { return knl_node().cluster.devices[2]; }

std::unique_ptr<sim::Threads> strategy(const std::string& name, std::map<std::string, ParameterValue> given = {}) {
  const ThreadsEntry* entry = find_strategy(threads_strategies(), name);
  return entry->make(Parameters(entry->parameters, given), 5);
}

sim::StepTiming timing(const sim::ThreadPlan& threads, int batch = 32) {
  const sim::Job job{.name = "job", .profile = &knl_node().profile(), .work = sim::Work::train};
  const sim::Configuration c = configuration(0, 1, batch);
  return knl_node().belief->models().step_times->timing(job, c, sim::empty_cluster_layout(knl_node().cluster, c),
                                                        std::vector<sim::Plans>{{.threads = threads}});
}

}  // namespace

TEST_CASE("a step with a schedule is the closed form's, scaled as the schedule is to recommended", "[threads]") {
  const sim::ThreadPlan recommended = strategy("recommended")->plan(graph(), cpu(), 32);
  const sim::StepTiming plain = timing(recommended);
  const workloads::CpuStepModel model = workloads::cpu_step_model(graph(), cpu(), 32);
  const auto with = [&](const workloads::UniformSetting& setting) {
    sim::ThreadPlan plan = recommended;
    plan.schedule = std::make_shared<const sim::CpuPlan>(workloads::uniform_plan(model.graph, setting));
    return plan;
  };
  // The recommended setting as a schedule: a factor of exactly 1.
  CHECK(timing(with({.intra_op = 68, .inter_op = 1})).step_s == plain.step_s);
  const sim::ThreadPlan four = with({.intra_op = 17, .inter_op = 4});
  const double share = sim::time_cpu_step(model.graph, *model.costs, model.machine, *four.schedule).makespan_s() /
                       workloads::recommended_step_s(model);
  CHECK(share != Approx(1).epsilon(0.01));
  // One worker exchanges nothing, and its samples are read in less time.
  CHECK(timing(four).step_s == Approx(share * plain.step_s));
  CHECK(timing(four).forward_s == Approx(share * plain.forward_s));
  CHECK(timing(four).power_fraction == Approx(plain.power_fraction));
}

TEST_CASE("profiling comes before the first step, in steps of the recommended setting", "[threads]") {
  class Profiled final : public sim::Threads {
   public:
    sim::ThreadPlan plan(const sim::OpGraph& of, const sim::Device& on, double batch) override {
      sim::ThreadPlan plan = RecommendedThreads().plan(of, on, batch);
      plan.profiling_steps = 250;
      return plan;
    }
  };
  DataParallel place;
  RecommendedThreads plain;
  Profiled profiled;
  const sim::CostRules costs;
  const sim::Job job{.name = "job", .profile = &knl_node().profile(), .work = sim::Work::steps, .steps = 1000, .batch_size = 32};
  const auto alone = [&](sim::Threads& threads) {
    return sim::AloneRunner(knl_node().cluster, costs, knl_node().belief->models(),
                            {.name = "p", .place = &place, .threads = &threads})
        .run(job, {.configuration = configuration(0, 1, 32)});
  };
  const sim::AloneOutcome without = alone(plain), with = alone(profiled);
  // 1000 steps and 30 s of start-up; 250 steps more.
  CHECK(with.time_s - without.time_s == Approx((without.time_s - costs.start_s) / 4));
  CHECK(with.cost_usd - without.cost_usd == Approx(0.001 * (with.time_s - without.time_s)));
}

TEST_CASE("planners in a replay: valid plans, each made once, quicker than recommended on a KNL", "[threads]") {
  const double plain_s = timing({.intra_op = 68}).step_s;
  for (const ThreadsEntry& entry : threads_strategies()) {
    INFO(entry.name);
    const auto threads = strategy(entry.name);
    const sim::ThreadPlan plan = threads->plan(graph(), cpu(), 32);
    CHECK_NOTHROW(sim::validate_thread_plan(graph(), cpu(), plan));
    CHECK(threads->plan(graph(), cpu(), 32) == plan);
    const double step_s = timing(plan).step_s;
    if (entry.name == "recommended") CHECK(step_s == plain_s);
    if (entry.name == "default") CHECK(step_s > plain_s);
    if (entry.name == "manual-best" || entry.name == "hill-climbing" || entry.name == "regression") CHECK(step_s < plain_s);
    // Some ten probes and three trial steps of eleven combinations, against a step for each of 568 uniform settings.
    if (entry.name == "hill-climbing") CHECK((plan.profiling_steps > 1 && plan.profiling_steps < 100));
    // Of three runs with counters one is on a single thread, some 68 steps. What the other networks cost is worked out below.
    if (entry.name == "regression") CHECK(plan.profiling_steps > 68);
    if (entry.name == "manual-best") CHECK(plan.profiling_steps > 400);
    if (entry.name == "recommended" || entry.name == "default") CHECK(plan.profiling_steps == 0);
  }
  const auto threads = strategy("hill-climbing");
  CHECK(threads->plan(graph(), cpu(), 64).schedule != threads->plan(graph(), cpu(), 32).schedule);
}

TEST_CASE("jobs share what profiling other networks costs a regression", "[threads]") {
  // Without noise, the plan is the same whoever pays; a fiftieth against all of it.
  const std::map<std::string, ParameterValue> exact{{"noise", 0.0}, {"counter_noise", 0.0}};
  auto alone = exact, shared = exact;
  alone["reuse_jobs"] = 1.0;
  shared["reuse_jobs"] = 1e12;
  const sim::ThreadPlan a = strategy("regression", alone)->plan(graph(), cpu(), 32),
                        b = strategy("regression", exact)->plan(graph(), cpu(), 32),
                        c = strategy("regression", shared)->plan(graph(), cpu(), 32);
  CHECK(a.schedule->threads == c.schedule->threads);
  CHECK(b.profiling_steps - c.profiling_steps == Approx((a.profiling_steps - c.profiling_steps) / 50));
  // Knots and counters: 12 + 3 steps of each network, in seconds.
  double profiled_s = 0;
  for (const std::string_view name : ZooRegression::networks()) {
    const workloads::CpuStepModel model =
        workloads::cpu_step_model(workloads::zoo_graph(name), cpu(), std::min(64, workloads::zoo_entry(name).global_batch));
    StepBench bench(model, cpu(), 1, {});
    const auto step = [&](int k) { bench.probe(std::vector<int>(static_cast<std::size_t>(bench.class_count()), k)); };
    for (const int k : {1, 2, 3, 5, 7, 10, 15, 22, 32, 46, 68, 68, 17, 1}) step(k);
    profiled_s += bench.profiled_s();
  }
  const double recommended_s = workloads::recommended_step_s(workloads::cpu_step_model(graph(), cpu(), 32));
  CHECK(a.profiling_steps - c.profiling_steps == Approx(profiled_s / recommended_s).epsilon(1e-9));
}

TEST_CASE("a regression does not learn from the job's own network", "[threads]") {
  // A network of the list: only the five others are paid for.
  const sim::OpGraph own = workloads::zoo_graph("dcgan");
  const auto paid = [&](const sim::OpGraph& of) {
    const auto steps = [&](double reuse) {
      return strategy("regression", {{"noise", 0.0}, {"counter_noise", 0.0}, {"reuse_jobs", reuse}})
          ->plan(of, cpu(), 32)
          .profiling_steps;
    };
    return (steps(1.0) - steps(1e12)) * workloads::recommended_step_s(workloads::cpu_step_model(of, cpu(), 32));
  };
  CHECK(paid(own) < paid(graph()));
}

TEST_CASE("a schedule that the CPU cannot run is refused", "[threads]") {
  const sim::ThreadPlan good = strategy("hill-climbing", {{"noise", 0.0}})->plan(graph(), cpu(), 32);
  const auto refused = [&](void (*spoil)(sim::CpuPlan&)) {
    sim::CpuPlan schedule = *good.schedule;
    spoil(schedule);
    sim::ThreadPlan bad = good;
    bad.schedule = std::make_shared<const sim::CpuPlan>(std::move(schedule));
    CHECK_THROWS_AS(sim::validate_thread_plan(graph(), cpu(), bad), sim::PolicyError);
  };
  refused([](sim::CpuPlan& p) { p.threads.pop_back(); });
  refused([](sim::CpuPlan& p) { p.threads.front() = 0; });
  refused([](sim::CpuPlan& p) { p.threads.front() = 69; });
  refused([](sim::CpuPlan& p) { p.slots = 0; });
  refused([](sim::CpuPlan& p) { p.priority.push_back(1); });
  refused([](sim::CpuPlan& p) {
    p.co_run = true;
    p.belief = nullptr;
  });
  sim::ThreadPlan unpaid = good;
  unpaid.profiling_steps = -1;
  CHECK_THROWS_AS(sim::validate_thread_plan(graph(), cpu(), unpaid), sim::PolicyError);
}
