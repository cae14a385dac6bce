// What stopping and starting again takes rigid jobs, and how busy the cluster is while work waits.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <map>

#include "policies/queue/line_orders.hpp"
#include "sim/base/random.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;
using rehearse::policies::Fifo;
using rehearse::policies::Priority;

namespace {

/// One GPU at 0.001 dollars a second; 30 s to start, 10 s to write a checkpoint.
World one_gpu(bool rigid_jobs_switch) {
  return {.cluster = cluster({{1, 1}}), .costs = {.rigid_jobs_switch = rigid_jobs_switch, .start_s = 30, .checkpoint_s = 10}};
}

/// Greedy, which also writes down what it is told remains of the first job.
class Asking final : public Queue {
 public:
  Greedy greedy;
  std::map<double, double> remaining_s;  ///< by date, NaN until it has come
  void decide(const QueueView& view, QueueAnswer& answer) override {
    greedy.decide(view, answer);
    for (auto& [date_s, left_s] : remaining_s) {
      if (date_s == view.now_s) left_s = view.jobs[0].predicted_remaining_s(0, view.now_s);
      if (date_s > view.now_s) answer.wake_at_s = std::min(answer.wake_at_s, date_s);
    }
  }
};

}  // namespace

TEST_CASE("a rigid job that is preempted writes a checkpoint, starts again and reads it") {
  // Runs 0 to 40, writes to 50, starts up and reads (30 + 10) to 90, runs the other 60 to 150.
  World world = one_gpu(true);
  Asking queue;
  queue.greedy.preempts = {{40, {"a"}}};
  queue.remaining_s = {{20, kUnset}, {60, kUnset}, {100, kUnset}};
  world.run({rigid("a", 0, 1, 100)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == Approx(150));
  CHECK(a.time.train_s == Approx(100));
  CHECK(a.time.switch_s == Approx(50));
  CHECK(a.time.lost_s == Approx(0).margin(1e-5));
  CHECK(a.preemption_s == Approx(50));
  CHECK(a.devices.train_device_s == Approx(100));
  CHECK(a.cost.total() == Approx(0.15));
  CHECK(a.cost.switch_usd == Approx(0.05));
  CHECK(queue.remaining_s[20] == Approx(80));
  CHECK(queue.remaining_s[60] == Approx(30 + 60));  // 30 s of the start are left, then its work
  CHECK(queue.remaining_s[100] == Approx(50));
}

TEST_CASE("unless the rules say so, preempting a rigid job costs nothing; its first start is in its duration either way") {
  World free = one_gpu(false);
  Greedy queue;
  queue.preempts = {{40, {"a"}}};
  free.run({rigid("a", 0, 1, 100)}, queue);
  CHECK(free.keeper.of("a").end_s == Approx(100));
  CHECK(free.keeper.of("a").preemptions == 1);
  CHECK(free.keeper.of("a").preemption_s == 0);
  World undisturbed = one_gpu(true);
  Greedy fifo;
  undisturbed.run({rigid("a", 0, 1, 100)}, fifo);
  CHECK(undisturbed.keeper.of("a").end_s == Approx(100));
}

TEST_CASE("a preemption that loses work costs that work") {
  // All 40 s are lost; the measured duration is done again, its start in it.
  World world = one_gpu(true);
  world.checkpoints.preemption = Preemption::lose;
  Greedy queue;
  queue.preempts = {{40, {"a"}}};
  world.run({rigid("a", 0, 1, 100)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == Approx(140));
  CHECK(a.time.lost_s == Approx(40));
  CHECK(a.preemption_s == Approx(40));
  CHECK(a.devices.lost_device_s == Approx(40));
}

TEST_CASE("what preemptions cost a modelled job leaves out its first start") {
  // Starts to 30, 40 steps to 70, writes to 80, starts again to 110 (its checkpoint is empty), 60 steps to 170.
  World world = one_gpu(false);
  world.menus.menu.ranked = {choice(0, 1, 10)};
  Greedy queue;
  queue.preempts = {{70, {"s"}}};
  world.run({stepping("s", 0, 100)}, queue);
  CHECK(world.keeper.of("s").end_s == Approx(170));
  CHECK(world.keeper.of("s").time.switch_s == Approx(30 + 10 + 30));
  CHECK(world.keeper.of("s").preemption_s == Approx(10 + 30));
}

TEST_CASE("periodic checkpoints have device-seconds and money of their own") {
  // 2 GPUs of one node, 100 s of work, a checkpoint of 5 s after each 40 s: at 40 and 80 s. 0.001 dollars a second.
  World world{.cluster = cluster({{1, 2}})};
  world.checkpoints = {.interval_s = 40, .write_s = 5};
  Fifo fifo;
  world.run({rigid("a", 0, 2, 100)}, fifo);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == Approx(110));
  CHECK(a.devices.train_device_s == Approx(200));
  CHECK(a.devices.checkpoint_device_s == Approx(20));
  CHECK(a.checkpoint_usd == Approx(0.01));
  CHECK(a.preemption_s == 0);
}

TEST_CASE("how busy the cluster is while work waits, by hand") {
  // 2 GPUs at 0.0005 dollars a second each. "a" has one from 0 to 100; "b" comes at 50 and wants both: it waits 50 s, in which
  // one of two computes. Before and after nobody waits.
  World world{.cluster = cluster({{1, 2}})};
  Fifo fifo;
  const ReplayTotals totals = world.run({rigid("a", 0, 1, 100), rigid("b", 50, 2, 100)}, fifo);
  CHECK(totals.pools[0].waiting_busy_usd == Approx(50 * 0.0005));
  CHECK(totals.pools[0].waiting_pool_usd == Approx(50 * 0.001));
  World nobody_waits{.cluster = cluster({{1, 2}})};
  Fifo again;
  CHECK(nobody_waits.run({rigid("a", 0, 1, 100)}, again).pools[0].waiting_pool_usd == 0);
}

TEST_CASE("use while work waits is what summing over the samples of the pools gives") {
  int waited = 0;
  rc::prop("", [&](std::uint64_t seed) {
    Random random(seed);
    std::vector<Job> jobs;
    double submit_s = 0;
    for (int i = 0; i < 40; ++i) {
      submit_s += static_cast<double>(random.below(8));
      jobs.push_back(rigid(std::to_string(i), submit_s, 1 + static_cast<int>(random.below(4)), random.uniform(0.5, 20)));
      jobs.back().priority = static_cast<double>(random.below(3));
      jobs.back().pool = static_cast<int>(random.below(2));
    }
    World world{.cluster = cluster({{2, 2}, {1, 4}}),
                .costs = {.rigid_jobs_switch = random.below(2) == 0, .start_s = 3, .checkpoint_s = 2},
                .samples = true};
    Priority queue({.preempt = true});
    const ReplayTotals totals = world.run(jobs, queue);
    for (std::size_t p = 0; p < totals.pools.size(); ++p) {
      const double usd_per_s = p == 0 ? 0.0005 : 0.00025;
      double busy_usd = 0, pool_usd = 0;
      const PoolSample* last = nullptr;
      for (const PoolSample& sample : world.keeper.samples) {
        if (sample.pool != static_cast<PoolId>(p)) continue;
        if (last != nullptr && last->queued_jobs > 0) {
          busy_usd += last->busy_devices * usd_per_s * (sample.time_s - last->time_s);
          pool_usd += 4 * usd_per_s * (sample.time_s - last->time_s);
        }
        last = &sample;
      }
      waited += pool_usd > 0;
      RC_ASSERT(std::abs(totals.pools[p].waiting_busy_usd - busy_usd) < 1e-9);
      RC_ASSERT(std::abs(totals.pools[p].waiting_pool_usd - pool_usd) < 1e-9);
    }
  });
  CHECK(waited > 50);
}
