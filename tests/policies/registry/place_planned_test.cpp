#include "policies/registry/place_planned.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "policies/registry/registry.hpp"
#include "sim/base/errors.hpp"
#include "sim/replay/alone.hpp"
#include "sim/replay/decisions.hpp"
#include "tests/workloads/real_world.hpp"
#include "workloads/steps/step_model.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::configuration;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

/// Two nodes with four K80s; `link` joins the GPUs of a node.
sim::Cluster k80_nodes(double link_bytes_per_s = 10e9) {
  sim::Cluster cluster = real_cluster({{"slow", "k80", 2, 4, 3.6}, {"host", "knl7250", 1, 0, 1}});
  cluster.instances[0].inside.bandwidth_bytes_per_s = link_bytes_per_s;
  return cluster;
}

const RealWorld& small() {
  static const RealWorld real(k80_nodes(), {{"resnet18", "cifar10"}});
  return real;
}

std::unique_ptr<sim::Place> strategy(const RealWorld& real, const std::string& name,
                                     std::map<std::string, ParameterValue> given = {}, std::uint64_t seed = 5) {
  const PlaceEntry* entry = find_strategy(place_strategies(), name);
  REQUIRE(entry != nullptr);
  if (name == "rl" || name == "rl-refined" || name == "annealing") given.try_emplace("evaluations", 64.0);
  return entry->make(Parameters(entry->parameters, given), {.belief = real.belief.get(), .seed = seed});
}

struct Asked {
  sim::Job job;
  sim::Configuration configuration;
  sim::Layout layout;
  std::vector<sim::Plans> plans;
};

Asked asked(const RealWorld& real, sim::Place& place, sim::Configuration c, sim::Layout layout = {}) {
  Asked a{.job = {.name = "job", .profile = &real.profile(), .work = sim::Work::train}, .configuration = std::move(c)};
  a.layout = layout.empty() ? sim::empty_cluster_layout(real.cluster, a.configuration) : std::move(layout);
  class None final : public sim::Threads {
    sim::ThreadPlan plan(const sim::OpGraph&, const sim::Device&, double) override { return {.intra_op = 68}; }
  } threads;
  a.plans = sim::ask_plans({.name = "p", .place = &place, .threads = &threads}, *real.belief->models().step_times, real.cluster,
                           a.job, a.configuration, a.layout);
  return a;
}

sim::StepTiming timing(const RealWorld& real, const Asked& a) {
  return real.belief->models().step_times->timing(a.job, a.configuration, a.layout, a.plans);
}

}  // namespace

TEST_CASE("every strategy of place answers a valid plan for a node, and the same again", "[place]") {
  const sim::OpGraph& graph = small().models.of(small().profile()).graph;
  for (const PlaceEntry& entry : place_strategies()) {
    INFO(entry.name);
    const auto place = strategy(
        small(), entry.name,
        entry.name == "exact" ? std::map<std::string, ParameterValue>{{"groups", 4.0}} : std::map<std::string, ParameterValue>{});
    const Asked a = asked(small(), *place, configuration(0, 4, 16));
    CHECK_NOTHROW(sim::validate_step_plan(graph, 4, a.plans[0].step));
    CHECK(asked(small(), *place, configuration(0, 4, 16)).plans[0].step == a.plans[0].step);
    CHECK(asked(small(),
                *strategy(small(), entry.name,
                          entry.name == "exact" ? std::map<std::string, ParameterValue>{{"groups", 4.0}}
                                                : std::map<std::string, ParameterValue>{}),
                configuration(0, 4, 16))
              .plans[0]
              .step == a.plans[0].step);
    CHECK(a.plans[0].step.note.empty() == (entry.name == "data-parallel"));
    const sim::StepTiming t = timing(small(), a);
    CHECK(t.step_s > 0);
    CHECK((t.busy_fraction > 0 && t.busy_fraction <= 1));
    CHECK((t.profiling_s > 0) == (entry.name == "annealing" || entry.name == "rl" || entry.name == "rl-refined"));
  }
}

TEST_CASE("all on one GPU of four: the closed form at four times the batch, a quarter busy", "[place]") {
  const auto place = strategy(small(), "single-device");
  // Four GPUs with 16 samples each: one replica with 64, which exchanges nothing and reads at the whole node's rate.
  const Asked a = asked(small(), *place, configuration(0, 4, 16));
  const workloads::ProfileModel& model = small().models.of(small().profile());
  const workloads::ComputeTime compute = model.step.compute_time(small().cluster.devices[0], {.batch = 64});
  const double worker_s = std::max({compute.total_s(), compute.host_s, model.step.input_s(64, 1e9)});
  const sim::StepTiming t = timing(small(), a);
  CHECK(t.step_s == Approx(worker_s).epsilon(1e-9));
  CHECK(t.forward_s == Approx(std::max(compute.forward_s, model.step.input_s(64, 1e9))).epsilon(1e-9));
  CHECK(t.busy_fraction == Approx(compute.total_s() / worker_s / 4).epsilon(1e-9));
  CHECK(t.profiling_s == 0);

  // Over two nodes: two replicas, that exchange gradients over a NIC each has for itself.
  const sim::StepTiming two = timing(small(), asked(small(), *place, configuration(0, 8, 16)));
  const double exchange_s = workloads::ring_all_reduce_s(4 * model.step.parameters(), 2, small().cluster.instances[0].network);
  const double exposed_s =
      workloads::overlapped(compute.backward_s, exchange_s, small().cluster.instances[0].overlap) - compute.backward_s;
  CHECK(two.step_s == Approx(worker_s * (1 + workloads::straggling(2)) + exposed_s).epsilon(1e-9));
}

TEST_CASE("where there is nothing to place the answer is data-parallel", "[place]") {
  const auto place = strategy(small(), "round-robin");
  const auto plan = [&](const sim::Configuration& c, sim::Layout layout = {}) {
    return asked(small(), *place, c, std::move(layout)).plans[0].step;
  };
  CHECK(plan(configuration(0, 1, 16)) == sim::StepPlan{.replicas = 1});
  CHECK(plan(configuration(1, 1, 16)) == sim::StepPlan{.replicas = 1});                      // a CPU
  CHECK(plan(configuration(0, 5, 16), {{{0, 3}, {1, 2}}}) == sim::StepPlan{.replicas = 3});  // unequal nodes
  CHECK_FALSE(plan(configuration(0, 4, 16), {{{0, 2}, {1, 2}}}).device_of_op.empty());
  sim::Configuration pushes = configuration(0, 4, 16);
  pushes.sync = {.kind = sim::SyncKind::servers_async, .servers = 1};
  CHECK(plan(pushes) == sim::StepPlan{.replicas = 4});
}

TEST_CASE("a searching strategy takes data-parallel when it is faster, and pays for the search either way", "[place]") {
  // Over 10 GB/s four replicas of ResNet-18 win; over 0.02 GB/s the exchange of 45 MB takes 3.4 s, which one replica on a GPU
  // saves.
  const RealWorld slow_links(k80_nodes(2e7), {{"resnet18", "cifar10"}});
  for (const RealWorld* real : {&small(), &slow_links}) {
    const auto place = strategy(*real, "annealing", {{"evaluations", 50.0}, {"reinitialisation_s", 2.0}});
    const auto parallel = strategy(*real, "data-parallel");
    const Asked searched = asked(*real, *place, configuration(0, 4, 16)),
                plain = asked(*real, *parallel, configuration(0, 4, 16));
    const bool wins = real == &slow_links;
    CHECK(searched.plans[0].step.device_of_op.empty() == !wins);
    CHECK(searched.plans[0].step.evaluations == 50);
    const sim::StepTiming with = timing(*real, searched), without = timing(*real, plain);
    CHECK(without.profiling_s == 0);
    if (!wins) {
      CHECK(with.step_s == without.step_s);
      // 50 steps of a worker, each after 2 s.
      const workloads::ProfileModel& model = real->models.of(real->profile());
      const double worker_s = model.step.compute_time(real->cluster.devices[0], {.batch = 16}).total_s();
      CHECK(with.profiling_s == Approx(50 * (worker_s + 2)));
      CHECK_THAT(searched.plans[0].step.note, Catch::EndsWith("in vain"));
    } else {
      CHECK(with.step_s < without.step_s);
      CHECK(with.profiling_s > 100);
      CHECK_THAT(searched.plans[0].step.note, Catch::EndsWith(fmt::format("worth it from {:.0f} steps on",
                                                                          with.profiling_s / (without.step_s - with.step_s))));
    }
  }
}

TEST_CASE("a replica over all GPUs holds what none of them holds alone", "[place]") {
  // VGG-16 with Adam-like state fits a K80; on a GPU of 2 GB its 138 million parameters with gradients and momentum, 1.66 GB,
  // leave nothing for activations. Over four GPUs there is room.
  sim::Cluster cluster = k80_nodes();
  cluster.devices[0].memory_bytes = 2.6e9;
  const RealWorld real(std::move(cluster), {{"vgg16", "imagenet"}});
  const sim::Configuration c = configuration(0, 4, 1);
  CHECK_FALSE(timing(real, asked(real, *strategy(real, "data-parallel"), c)).fits);
  CHECK_FALSE(timing(real, asked(real, *strategy(real, "single-device"), c)).fits);
  const sim::StepTiming t = timing(real, asked(real, *strategy(real, "m-etf"), c));
  CHECK(t.fits);
  CHECK(t.memory_bytes <= 0.94 * 2.6e9);
  // A search prefers what fits to what is faster.
  CHECK(timing(real, asked(real, *strategy(real, "rl-refined"), c)).fits);
}

TEST_CASE("a placed step on the devices that the world times, and what the belief times, differ by the world's factor",
          "[place]") {
  const workloads::World world = small().world({.step_noise = 0});
  const Asked a = asked(small(), *strategy(small(), "heft"), configuration(0, 4, 16));
  const double true_s = world.models().step_times->timing(a.job, a.configuration, a.layout, a.plans).step_s;
  CHECK(true_s != timing(small(), a).step_s);
  REQUIRE(world.timed_replicas().size() == 1);
  const workloads::TimedReplica& timed = world.timed_replicas().front();
  CHECK(timed.device_of_op == a.plans[0].step.device_of_op);
  const workloads::ReplicaSetting setting =
      workloads::setting_of(timed, small().models.of(small().profile()), small().cluster, small().profile().precision);
  CHECK(time_replica(setting, timed.device_of_op, sim::make_reference_timer).makespan == timed.makespan);
}

TEST_CASE("a plan depends on the seed of searches, not on the world", "[place]") {
  const auto plan = [&](std::uint64_t seed) {
    return asked(small(), *strategy(small(), "random", {}, seed), configuration(0, 4, 16)).plans[0].step.device_of_op;
  };
  CHECK(plan(5) == plan(5));
  CHECK(plan(5) != plan(6));
}
