#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/place/data_parallel.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "sim/replay/alone.hpp"
#include "tests/workloads/real_world.hpp"
#include "workloads/steps/step_model.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
using rehearse::tests::configuration;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

sim::Job trained_job(const sim::Profile& profile) { return {.name = "job", .profile = &profile, .work = sim::Work::train}; }

sim::StepTiming timing(const RealWorld& real, const sim::Job& job, const sim::Configuration& c, const sim::Layout& layout) {
  const std::vector<sim::Plans> plans(c.groups.size(), {.threads = {.intra_op = 68}});
  return real.belief->models().step_times->timing(job, c, layout, plans);
}

sim::StepTiming timing(const RealWorld& real, const sim::Job& job, const sim::Configuration& c) {
  return timing(real, job, c, sim::empty_cluster_layout(real.cluster, c));
}

}  // namespace

TEST_CASE("a step's timing is what its parts say", "[world]") {
  // ResNet-50 on 2 nodes of 2 V100, 32 samples each: 10 GB/s inside, 1.25 GB/s between, 1 GB/s of storage for both GPUs.
  const RealWorld real(real_cluster({{"fast", "v100", 2, 2, 6}}), {{"resnet50", "imagenet"}});
  const ProfileModel& model = real.models.of(real.profile());
  const sim::Instance& instance = real.cluster.instances[0];
  const ComputeTime compute = model.step.compute_time(real.cluster.devices[1], {.batch = 32});
  const double worker_s = std::max({compute.total_s(), compute.host_s, model.step.input_s(32, 0.5e9)});
  const double straggler_s = worker_s * 0.01 * expected_normal_maximum(4);
  const double bytes = 4 * model.step.parameters();
  // Inside: 2 x 1/2 S/10 GB/s + 2 x 10 us. Between: two rings of S/2 share a NIC: 2 x 1/2 (S/2)/0.625 GB/s + 2 x 30 us.
  const double exchange_s = bytes / 10e9 + 20e-6 + bytes / 2 / 0.625e9 + 60e-6;
  CHECK(hierarchical_all_reduce_s(bytes, {2, 2, instance.inside, instance.network}) == Approx(exchange_s));
  const double backward_s = compute.backward_s;
  const double exposed_s = std::pow(std::pow(backward_s, 4) + std::pow(exchange_s, 4), 0.25) - backward_s;
  const sim::StepTiming t = timing(real, trained_job(real.profile()), configuration(0, 4, 32));
  CHECK(t.step_s == Approx(worker_s + straggler_s + exposed_s).epsilon(1e-9));
  CHECK(t.forward_s == std::max(compute.forward_s, model.step.input_s(32, 0.5e9)));
  CHECK(t.busy_fraction == Approx(compute.total_s() / t.step_s).epsilon(1e-9));
  CHECK(t.memory_bytes == model.memory.bytes(32));
  CHECK(t.fits);
}

TEST_CASE("asynchronous servers: the mean time between pushes of all workers", "[world]") {
  const RealWorld real(real_cluster({{"fast", "v100", 2, 2, 6}}), {{"resnet50", "imagenet"}});
  const ProfileModel& model = real.models.of(real.profile());
  const ComputeTime compute = model.step.compute_time(real.cluster.devices[1], {.batch = 32});
  const double worker_s = std::max({compute.total_s(), compute.host_s, model.step.input_s(32, 0.5e9)});
  const double bytes = 4 * model.step.parameters();
  // A push moves S up and down at 1.25 GB/s with 30 us each way, and is applied at 5 GB/s; 2 servers, 4 workers.
  const double push = 2 * (bytes / 1.25e9 + 30e-6) + bytes / 5e9;
  sim::Configuration c = configuration(0, 4, 32);
  c.sync = {.kind = sim::SyncKind::servers_async, .servers = 2};
  const double expected_s = std::pow(std::pow(worker_s / 4, 4) + std::pow(push / 2, 4), 0.25);
  CHECK(timing(real, trained_job(real.profile()), c).step_s == Approx(expected_s).epsilon(1e-9));
}

TEST_CASE("the same workers on more nodes are slower", "[world]") {
  const RealWorld real(real_cluster({{"fast", "v100", 8, 8, 24}}), {{"resnet50", "imagenet"}});
  const sim::Job j = trained_job(real.profile());
  const auto spread_over = [&](std::vector<sim::NodeShare> nodes) {
    return timing(real, j, configuration(0, 8, 32), {std::move(nodes)}).step_s;
  };
  const double one = spread_over({{0, 8}}), two = spread_over({{0, 4}, {1, 4}});
  CHECK(one < two);
  CHECK(timing(real, j, configuration(0, 1, 32)).step_s < one);
}

TEST_CASE("several groups: the slowest counts, and all must fit", "[world]") {
  const RealWorld real(real_cluster({{"slow", "k80", 4, 1, 1}, {"fast", "v100", 2, 4, 12}}), {{"resnet50", "imagenet"}});
  const sim::Job j = trained_job(real.profile());
  sim::Configuration mixed = configuration(0, 2, 32);
  mixed.groups.push_back({.pool = 1, .workers = 4, .batch_per_worker = 32});
  CHECK(mixed.batch_size() == 6 * 32);
  const sim::StepTiming t = timing(real, j, mixed);
  CHECK(t.step_s >= timing(real, j, configuration(0, 2, 32)).step_s);  // K80s, over one node more
  CHECK(t.fits);
  const int largest = real.models.of(real.profile()).memory.largest_batch(real.cluster.devices[0]);
  CHECK(timing(real, j, configuration(0, 1, largest)).fits);
  CHECK_FALSE(timing(real, j, configuration(0, 1, largest + 1)).fits);
  mixed.groups[0].batch_per_worker = largest + 1;
  CHECK_FALSE(timing(real, j, mixed).fits);
}

TEST_CASE("a power limit slows arithmetic", "[world]") {
  // 50 W idle, 250 W busy. At 75 W an eighth of the dynamic power is left; at half of the clock the voltage is at its floor of
  // 0.5, so that exactly 0.5 x 0.5^2 is drawn.
  const RealWorld real(real_cluster({{"fast", "v100", 1, 1, 3}}), {{"resnet50", "imagenet"}});
  const ProfileModel& model = real.models.of(real.profile());
  const sim::Job j = trained_job(real.profile());
  sim::Configuration c = configuration(0, 1, 64);
  const double free_s = timing(real, j, c).step_s;
  c.power_limit_w = 75;
  const sim::StepTiming limited = timing(real, j, c);
  sim::Device half = real.cluster.devices[1];
  for (double* peak : {&half.peak_fp32_flops, &half.peak_fp16_flops}) *peak /= 2;
  CHECK(limited.step_s == Approx(model.step.compute_time(half, {.batch = 64}).total_s()).epsilon(1e-6));
  CHECK(limited.power_fraction == Approx((75.0 - 50) / 200 * limited.busy_fraction).epsilon(1e-6));
  CHECK(timing(real, j, configuration(0, 1, 64)).power_fraction ==
        Approx(timing(real, j, configuration(0, 1, 64)).busy_fraction));
  CHECK(limited.step_s > free_s);
  CHECK(limited.step_s < 2 * free_s);  // memory is as fast as before
  c.power_limit_w = 250;
  CHECK(timing(real, j, c).step_s == free_s);
}

TEST_CASE("a device for each operation: a step timer's makespan at the batch of the node", "[world]") {
  const RealWorld real(real_cluster({{"fast", "v100", 1, 2, 3}}), {{"resnet18", "cifar10"}});
  const ProfileModel& model = real.models.of(real.profile());
  const sim::Configuration c = configuration(0, 2, 8);
  std::vector<sim::Plans> split(1);
  split[0].step = {.replicas = 1};
  // The second half of the operations, gradients and updates, on the other GPU.
  for (std::size_t op = 0; op < model.graph.ops.size(); ++op)
    split[0].step.device_of_op.push_back(op < model.graph.ops.size() / 2 ? 0 : 1);
  const sim::StepTiming t =
      real.belief->models().step_times->timing(trained_job(real.profile()), c, sim::empty_cluster_layout(real.cluster, c), split);
  const ReplicaSetting setting{.model = &model, .cluster = &real.cluster, .pool = 0, .gpus = 2, .conditions = {.batch = 16}};
  const ReplicaTime time = time_replica(setting, split[0].step.device_of_op, sim::make_fast_timer);
  const ComputeTime compute = model.step.compute_time(real.cluster.devices[1], {.batch = 16});
  CHECK(sim::seconds_of(time.makespan) > compute.total_s());  // one after the other, and transfers
  CHECK(t.step_s == Approx(std::max({sim::seconds_of(time.makespan), compute.host_s, model.step.input_s(16, 1e9)})));
  CHECK(time.busy_fraction == Approx(compute.total_s() / sim::seconds_of(time.makespan) / 2));
  CHECK(t.memory_bytes == time.memory_bytes);
}

TEST_CASE("believed time on the trace's GPUs is the measured duration", "[world]") {
  const RealWorld real(real_cluster({{"cpu", "knl7250", 8, 0, 2}, {"fast", "v100", 4, 4, 12}, {"slow", "k80", 16, 1, 1}}),
                       {{"resnet18", "cifar10"}, {"vgg16", "imagenet"}, {"bert", "squad"}});
  rehearse::policies::DataParallel place;
  rehearse::policies::RecommendedThreads threads;
  const sim::CostRules costs;
  sim::AloneRunner runner(real.cluster, costs, real.belief->models(), {.name = "p", .place = &place, .threads = &threads});
  rc::prop("in every pool", [&](std::uint64_t seed) {
    sim::Random random(seed);
    const int gpus = 1 + static_cast<int>(random.below(8)), share = 1 + static_cast<int>(random.below(4));
    sim::Job j{.name = "trace",
               .profile = &real.profile(random.below(3)),
               .work = sim::Work::steps,
               .gpus = gpus,
               .duration_s = random.uniform(10, 1e5),
               .steps = 1 + static_cast<double>(random.below(100'000)),
               .batch_size = static_cast<double>(gpus * share)};
    j.pool = static_cast<int>(random.below(4)) - 1;
    const int pool = j.pool < 0 ? 1 : j.pool;  // none named: the first pool with GPUs
    const sim::AloneOutcome outcome = runner.run(j, {.configuration = configuration(pool, gpus, share)});
    RC_ASSERT(outcome.fits);
    RC_ASSERT(std::abs(outcome.time_s - costs.start_s - j.duration_s) <= 1e-9 * j.duration_s);
  });
}

TEST_CASE("the world is as far off on the trace's GPUs as elsewhere", "[world]") {
  const RealWorld real(real_cluster({{"fast", "v100", 4, 4, 12}}), {{"resnet18", "cifar10"}});
  const World world = real.world({.step_noise = 0});
  const auto step_s = [&](const sim::Models& models, const sim::Job& j) {
    const sim::Configuration c = configuration(0, 2, 64);
    return models.step_times->timing(j, c, sim::empty_cluster_layout(real.cluster, c), std::vector<sim::Plans>(1)).step_s;
  };
  sim::Job scaled{.name = "s", .profile = &real.profile(), .work = sim::Work::steps, .gpus = 2, .steps = 500, .batch_size = 128};
  const double plain = step_s(world.models(), scaled) / step_s(real.belief->models(), scaled);
  scaled.duration_s = 1234;
  CHECK(step_s(world.models(), scaled) / step_s(real.belief->models(), scaled) == Approx(plain).epsilon(1e-12));
  CHECK(plain != 1);
}

TEST_CASE("profiles are found by their index", "[world]") {
  const RealWorld real(real_cluster({{"fast", "v100", 1, 1, 3}}), {{"resnet18", "cifar10"}, {"vgg16", "imagenet"}});
  REQUIRE(real.models.size() == 2);
  CHECK(real.models.of(real.profile(1)).graph.parameters == zoo_graph("vgg16").parameters);
  CHECK(real.models.of(real.profile(0)).training_samples == 50'000);
  CHECK(real.models.of(real.profile(0)).publication_batch == 128);
  CHECK(real.belief->models().convergence->default_epoch_cap(real.profile(0)) == 300);
  CHECK(&real.belief->profiles() == &real.models);
}
