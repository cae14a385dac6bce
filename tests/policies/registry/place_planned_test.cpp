#include "policies/registry/place_planned.hpp"

#include <fmt/format.h>

#include <algorithm>
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

using Given = std::map<std::string, ParameterValue>;

std::unique_ptr<sim::Place> strategy(const RealWorld& real, const std::string& name, Given given = {}, std::uint64_t seed = 5) {
  const PlaceEntry* entry = find_strategy(place_strategies(), name);
  REQUIRE(entry != nullptr);
  if (name == "rl-transfer" || name == "rl-refined" || name == "annealing") given.try_emplace("evaluations", 64.0);
  if (name == "exact") given.try_emplace("groups", 4.0);
  return entry->make(Parameters(entry->parameters, given), {.belief = real.belief.get(), .seed = seed});
}

/// A method's own plan.
std::unique_ptr<sim::Place> alone(const RealWorld& real, const std::string& name, std::uint64_t seed = 5) {
  return strategy(real, name, {{"alone", true}}, seed);
}

struct Asked {
  sim::Job job;
  sim::Configuration configuration;
  sim::Layout layout;
  std::vector<sim::Plans> plans;
};

/// Of the configuration that a job gets; how many steps it will train is not known.
constexpr sim::PlacePurpose kStarts{.decides = true};
/// Any search pays.
constexpr sim::PlacePurpose kEndless{.decides = true, .steps = 1e9, .time_s = 1e10};

Asked asked(const RealWorld& real, sim::Place& place, sim::Configuration c, sim::Layout layout = {},
            const sim::PlacePurpose& purpose = kStarts) {
  Asked a{.job = {.name = "job", .profile = &real.profile(), .work = sim::Work::train}, .configuration = std::move(c)};
  a.layout = layout.empty() ? sim::empty_cluster_layout(real.cluster, a.configuration) : std::move(layout);
  class None final : public sim::Threads {
    sim::ThreadPlan plan(const sim::OpGraph&, const sim::Device&, double) override { return {.intra_op = 68}; }
  } threads;
  a.plans = sim::ask_plans({.name = "p", .place = &place, .threads = &threads}, *real.belief->models().step_times, real.cluster,
                           a.job, a.configuration, a.layout, purpose);
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
    const auto place = strategy(small(), entry.name);
    const Asked a = asked(small(), *place, configuration(0, 4, 16));
    CHECK_NOTHROW(sim::validate_step_plan(graph, 4, a.plans[0].step));
    CHECK(asked(small(), *place, configuration(0, 4, 16)).plans[0].step == a.plans[0].step);
    CHECK(asked(small(), *strategy(small(), entry.name), configuration(0, 4, 16)).plans[0].step == a.plans[0].step);
    CHECK(a.plans[0].step.note.empty() == (entry.name == "data-parallel"));
    const sim::StepTiming t = timing(small(), a);
    CHECK(t.step_s > 0);
    CHECK((t.busy_fraction > 0 && t.busy_fraction <= 1));
    CHECK(t.profiling_s == 0);
  }
}

TEST_CASE("no strategy of place answers a plan that is slower than data-parallel, unless it is to stand alone", "[place]") {
  const double parallel_s = timing(small(), asked(small(), *strategy(small(), "data-parallel"), configuration(0, 4, 16))).step_s;
  for (const PlaceEntry& entry : place_strategies()) {
    INFO(entry.name);
    CHECK(timing(small(), asked(small(), *strategy(small(), entry.name), configuration(0, 4, 16))).step_s <= parallel_s);
    const auto is_alone = [](const ParameterDeclaration& declared) { return declared.name == "alone"; };
    if (std::ranges::none_of(entry.parameters, is_alone)) continue;
    const Asked own = asked(small(), *alone(small(), entry.name), configuration(0, 4, 16));
    CHECK_FALSE(own.plans[0].step.device_of_op.empty());
    CHECK(timing(small(), own).step_s > parallel_s);
    CHECK_THAT(asked(small(), *strategy(small(), entry.name), configuration(0, 4, 16)).plans[0].step.note,
               Catch::EndsWith("; data-parallel runs"));
  }
}

TEST_CASE("all on one GPU of four: the closed form at four times the batch, a quarter busy", "[place]") {
  const auto place = alone(small(), "single-device");
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
  const auto place = alone(small(), "round-robin");
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

namespace {

/// AlexNet's 61 million parameters and few samples: what data-parallel exchanges takes longer than what it computes.
const RealWorld& wide_layers() {
  static const RealWorld real(k80_nodes(), {{"alexnet", "imagenet"}});
  return real;
}

struct Decision {
  sim::StepPlan plan;
  double step_s = 0, profiling_s = 0;
};

Decision decided(const RealWorld& real, sim::Place& place, const sim::PlacePurpose& purpose) {
  const Asked a = asked(real, place, configuration(0, 4, 2), {}, purpose);
  const sim::StepTiming t = timing(real, a);
  return {a.plans[0].step, t.step_s, t.profiling_s};
}

}  // namespace

TEST_CASE("a search is made from that number of steps on from which it pays for itself", "[place]") {
  // The job holds the four GPUs of the replica, so a second of the search costs what a second of the job does: the search pays
  // where 40 (T_w + 2 s) < steps x gain.
  const Given given{{"evaluations", 40.0}, {"reinitialisation_s", 2.0}};
  const RealWorld& real = wide_layers();
  const Decision before = decided(real, *strategy(real, "annealing", given), kStarts),
                 searched = decided(real, *strategy(real, "annealing", given), kEndless);
  REQUIRE(searched.plan.evaluations == 40);
  REQUIRE(searched.step_s < before.step_s);
  CHECK(before.plan.evaluations == 0);
  CHECK_THAT(before.plan.note, Catch::Contains("; no search"));
  CHECK_THAT(searched.plan.note, Catch::Contains("; search of 40 steps"));
  // T_w is the step without the exchange, of which a single node's replica has none.
  CHECK(searched.profiling_s == Approx(40 * (searched.step_s + 2)).epsilon(0.05));
  const double from_steps = searched.profiling_s / (before.step_s - searched.step_s);
  for (const double share : {0.9, 1.1}) {
    INFO(share);
    const double steps = share * from_steps;
    const Decision at = decided(real, *strategy(real, "annealing", given),
                                {.decides = true, .steps = steps, .time_s = steps * before.step_s});
    CHECK((at.plan.evaluations > 0) == (share > 1));
  }
}

TEST_CASE("candidates are estimated without a search, and a plan that was searched for costs nothing more", "[place]") {
  const RealWorld& real = wide_layers();
  const auto place = strategy(real, "annealing");
  const sim::PlacePurpose estimate{.steps = 1e9, .time_s = 1e10};
  CHECK(place->searches());
  const Decision candidate = decided(real, *place, estimate);
  CHECK(candidate.profiling_s == 0);
  CHECK(place->changes() == 0);
  const Decision first = decided(real, *place, kEndless);
  CHECK(first.profiling_s > 0);
  CHECK(place->changes() == 1);
  for (const sim::PlacePurpose& again : {kEndless, kStarts, estimate, sim::PlacePurpose{}}) {
    const Decision kept = decided(real, *place, again);
    CHECK(kept.plan.device_of_op == first.plan.device_of_op);
    CHECK(kept.profiling_s == 0);
  }
  CHECK(place->changes() == 1);
}

TEST_CASE("a search that finds nothing faster is not made", "[place]") {
  // Over 10 GB/s four replicas of ResNet-18 exchange their gradients behind the backward pass.
  const auto place = strategy(small(), "annealing", {{"evaluations", 50.0}});
  const Asked a = asked(small(), *place, configuration(0, 4, 16), {}, kEndless);
  CHECK(a.plans[0].step.device_of_op.empty());
  CHECK(a.plans[0].step.evaluations == 0);
  CHECK(place->changes() == 0);
}

TEST_CASE("a deadline leaves room for a search only within the share that a careful user plans with", "[place]") {
  const RealWorld& real = wide_layers();
  const Given given{{"evaluations", 40.0}, {"reinitialisation_s", 2.0}};
  const PlaceEntry* entry = find_strategy(place_strategies(), "annealing");
  // A thousand jobs share the price, so that it always pays; the time is this job's alone.
  const auto evaluations = [&](double steps, double deadline_s, sim::Objective objective = sim::Objective::min_cost) {
    const auto place =
        entry->make(Parameters(entry->parameters, given), {.belief = real.belief.get(), .seed = 5, .reuse_jobs = 1000});
    Asked a = asked(real, *place, configuration(0, 4, 2), {}, sim::PlacePurpose{});
    a.job.deadline_s = deadline_s;
    a.job.objective = objective;
    const double time_s = steps * timing(real, a).step_s;
    class None final : public sim::Threads {
      sim::ThreadPlan plan(const sim::OpGraph&, const sim::Device&, double) override { return {}; }
    } threads;
    return sim::ask_plans({.name = "p", .place = place.get(), .threads = &threads}, *real.belief->models().step_times, real.cluster,
                          a.job, a.configuration, a.layout, {.decides = true, .steps = steps, .time_s = time_s})[0]
        .step.evaluations;
  };
  const Decision before = decided(real, *strategy(real, "annealing", given), kStarts),
                 searched = decided(real, *strategy(real, "annealing", given), kEndless);
  const double steps = 0.5 * searched.profiling_s / (before.step_s - searched.step_s);  // half of what saves the search's time
  const double ends_s = steps * searched.step_s + searched.profiling_s;
  CHECK(evaluations(steps, 1.01 * ends_s / 0.8) == 40);
  CHECK(evaluations(steps, 0.99 * ends_s / 0.8) == 0);
  CHECK(evaluations(steps, sim::kNever, sim::Objective::min_time) == 0);
  // Twice as many steps and a little: the job ends no later with the search, whatever its deadline.
  CHECK(evaluations(2.1 * steps, 1) == 40);
  CHECK(evaluations(2.1 * steps, sim::kNever, sim::Objective::min_time) == 40);
}

TEST_CASE("estimates are corrected by what searches have gained, once there were some", "[place]") {
  const RealWorld& real = wide_layers();
  const auto place = strategy(real, "annealing");
  const auto share = [&](double steps) {
    const Asked a = asked(real, *place, configuration(0, 2, 2), {}, {.steps = steps, .time_s = steps});
    return a.plans[0].step.expected_share;
  };
  CHECK(share(1e9) == 1);
  const Decision before = decided(real, *place, {});
  const Decision first = decided(real, *place, kEndless);
  CHECK(share(1e9) == Approx(first.step_s / before.step_s).epsilon(0.02));
  CHECK(share(1) == 1);  // no search would pay
}

TEST_CASE("a replica over all GPUs holds what none of them holds alone", "[place]") {
  // VGG-16 with Adam-like state fits a K80; on a GPU of 2 GB its 138 million parameters with gradients and momentum, 1.66 GB,
  // leave nothing for activations. Over four GPUs there is room.
  sim::Cluster cluster = k80_nodes();
  cluster.devices[0].memory_bytes = 2.6e9;
  const RealWorld real(std::move(cluster), {{"vgg16", "imagenet"}});
  const sim::Configuration c = configuration(0, 4, 1);
  CHECK_FALSE(timing(real, asked(real, *strategy(real, "data-parallel"), c)).fits);
  CHECK_FALSE(timing(real, asked(real, *alone(real, "single-device"), c)).fits);
  const sim::StepTiming t = timing(real, asked(real, *strategy(real, "m-etf"), c));
  CHECK(t.fits);
  CHECK(t.memory_bytes <= 0.94 * 2.6e9);
  // A search prefers what fits to what is faster.
  CHECK(timing(real, asked(real, *strategy(real, "rl-refined"), c)).fits);
}

TEST_CASE("a placed step on the devices that the world times, and what the belief times, differ by the world's factor",
          "[place]") {
  const workloads::World world = small().world({.step_noise = 0});
  const Asked a = asked(small(), *alone(small(), "heft"), configuration(0, 4, 16));
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
    return asked(small(), *alone(small(), "random", seed), configuration(0, 4, 16)).plans[0].step.device_of_op;
  };
  CHECK(plan(5) == plan(5));
  CHECK(plan(5) != plan(6));
}
