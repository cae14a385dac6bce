#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <functional>

#include "policies/queue/line_orders.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/nodes/nodes.hpp"
#include "tests/sim/replay/toy.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;
using rehearse::policies::Fifo;

namespace {

Profile profile{.model = "toy", .dataset = "tenths"};

Job training(std::string name, double submit_s) {
  return {.name = std::move(name), .profile = &profile, .submit_s = submit_s, .work = Work::train};
}

/// Preempts, resizes and starts at random, but only what the rules allow.
class Restless final : public Queue {
 public:
  explicit Restless(std::uint64_t seed) : random_(seed) {}
  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const JobSlot slot : view.ended) std::erase(running_, slot), std::erase(starting_, slot), std::erase(waiting_, slot);
    for (const JobSlot slot : view.queued) std::erase(running_, slot), waiting_.push_back(slot);
    std::vector<int> free(view.free_devices.begin(), view.free_devices.end());
    if (rounds_left_ > 0 && !running_.empty() && random_.below(3) == 0) {
      --rounds_left_;
      const JobSlot victim = running_[random_.below(running_.size())];
      std::erase(running_, victim);
      if (random_.below(2) == 0 || view.jobs[victim].menu.ranked.size() < 2) {
        answer.preempts.push_back(victim);
      } else {
        answer.resizes.push_back({.job = victim, .entry = static_cast<int>(random_.below(view.jobs[victim].menu.ranked.size()))});
      }
    }
    std::erase_if(waiting_, [&](JobSlot slot) {
      const Menu& menu = view.jobs[slot].menu;
      const auto entry = random_.below(menu.ranked.size());
      const Group& group = menu.ranked[entry].configuration.groups.front();
      int& left = free[static_cast<std::size_t>(group.pool)];
      if (left < group.workers) return false;
      left -= group.workers;
      answer.starts.push_back({.job = slot, .entry = static_cast<int>(entry)});
      return true;
    });
    answer.wake_at_s = view.now_s + 7;
    if (waiting_.empty() && running_.empty() && answer.starts.empty()) answer.wake_at_s = kNever;
    for (const Start& start : answer.starts) starting_.push_back(start.job);
    if (++calls_ % 2 == 0) {  // jobs that started a call ago run by now: nothing in this world takes time to start
      running_.insert(running_.end(), starting_.begin(), starting_.end());
      starting_.clear();
    }
  }

 private:
  Random random_;
  int rounds_left_ = 30;
  int calls_ = 0;
  std::vector<JobSlot> waiting_, running_, starting_;
};

/// Answers what a test gives it, once, for the first job.
class Scripted final : public Queue {
 public:
  std::function<void(const QueueView&, QueueAnswer&)> script;
  void decide(const QueueView& view, QueueAnswer& answer) override { script(view, answer); }
};

class TwoReplicas final : public Place {
 public:
  StepPlan place(const PlaceView&) override { return {.replicas = 2}; }
};

}  // namespace

TEST_CASE("first come, first served: nobody overtakes") {
  // 4 GPUs on one node. a: 3 GPUs 0..10. b: 2 GPUs waits for a: 10..15. c: 1 GPU would fit at once, but waits behind b: 10..12.
  World world{.cluster = cluster({{1, 4}})};
  Fifo fifo;
  const ReplayTotals totals = world.run({rigid("a", 0, 3, 10), rigid("b", 1, 2, 5), rigid("c", 2, 1, 2)}, fifo);
  CHECK(world.keeper.of("a").end_s == 10);
  CHECK(world.keeper.of("b").start_s == 10);
  CHECK(world.keeper.of("b").end_s == 15);
  CHECK(world.keeper.of("c").start_s == 10);
  CHECK(world.keeper.of("c").end_s == 12);
  // 0.001 dollars a node-second over 4 GPUs: a 3 x 10, b 2 x 5, c 1 x 2 device-seconds; the pool has 4 x 15.
  CHECK(world.keeper.of("a").cost.total() == Approx(30 * 0.00025));
  CHECK(totals.pools[0].pool_device_s == 60);
  CHECK(totals.pools[0].idle_device_s == 60 - 30 - 10 - 2);
  // Energy: 42 device-seconds at 300 W, 18 at 100 W.
  CHECK(totals.pools[0].pool_energy_j == Approx(42 * 300 + 18 * 100));
  CHECK(totals.finished == 3);
}

TEST_CASE("one line for all pools, or one a pool") {
  std::vector<Job> jobs{rigid("a", 0, 2, 10), rigid("b", 1, 2, 10), rigid("c", 2, 1, 1)};
  jobs[2].pool = 1;
  World one{.cluster = cluster({{1, 2}, {1, 1}})};
  Fifo single;
  one.run(jobs, single);
  CHECK(one.keeper.of("c").start_s == 10);  // behind b, which waits for a's pool
  World many{.cluster = cluster({{1, 2}, {1, 1}})};
  Fifo per_pool({.per_pool = true});
  many.run(jobs, per_pool);
  CHECK(many.keeper.of("c").start_s == 2);
}

TEST_CASE("a completion at a date frees its devices for an arrival at that date") {
  World world{.cluster = cluster({{1, 1}})};
  Fifo fifo;
  world.run({rigid("a", 0, 1, 10), rigid("b", 10, 1, 5)}, fifo);
  CHECK(world.keeper.of("b").start_s == 10);
}

TEST_CASE("what can never fit fails at once and holds up nobody") {
  World world{.cluster = cluster({{2, 4}})};
  Fifo fifo;
  const ReplayTotals totals = world.run({rigid("big", 0, 9, 10), rigid("ok", 1, 8, 10)}, fifo);
  CHECK(world.keeper.of("big").state == JobState::failed);
  CHECK(world.keeper.of("big").reason == FailureReason::does_not_fit);
  CHECK(world.keeper.of("ok").end_s == 11);
  CHECK(totals.failed == 1);
}

TEST_CASE("a training job pays for start-up, epochs and evaluations, and stops after the first epoch that reaches its target") {
  // 2 workers x 25 samples: 2 steps of 1 s an epoch; evaluation ceil(40 / 50) = 1 batch of 0.25 s. 0.3 is reached after 3 epochs.
  // 30 s start + 3 x 2.25 s = 36.75 s; 2 of 4 GPUs: 0.0005 dollars a second. Energy: 2 x (100 W x 30 s + 200 W x 6.75 s).
  World world{.cluster = cluster({{1, 4}}), .costs = {.start_s = 30}};
  world.menus.menu.ranked = {choice(0, 2, 25)};
  Fifo fifo;
  Job job = training("t", 0);
  job.target_accuracy = 0.3;
  world.run({job}, fifo);
  const JobRecord& record = world.keeper.of("t");
  CHECK(record.end_s == Approx(36.75));
  CHECK(record.epochs == 3);
  CHECK(record.accuracy == Approx(0.3));
  CHECK(record.cost.total() == Approx(36.75 * 0.0005));
  CHECK(record.cost.switch_usd == Approx(30 * 0.0005));
  CHECK(record.energy_j == Approx(2 * (100 * 30 + 200 * 6.75)));
  CHECK(world.keeper.events == std::vector<std::string>{"t submitted", "t started", "t running", "t finished"});
}

TEST_CASE("more than a million epochs, or none, are trained for nobody") {
  World world{.cluster = cluster({{1, 1}})};
  world.menus.menu.ranked = {choice(0, 1, 50)};
  world.menus.menu.ranked[0].predicted.epochs = 0;
  Fifo fifo;
  Job long_one = training("long", 0), budget = training("budget", 0);
  long_one.epochs = 1'000'001;
  budget.target_accuracy = 0.9;
  budget.stop = Stop::budget;
  for (const Job& job : {long_one, budget})
    CHECK_THROWS_WITH(world.run({job}, fifo), Catch::Matchers::Contains("the number of epochs to train must lie in (0, 1e6]"));
}

TEST_CASE("caps: the job's epochs, the default, or the policy's budget") {
  World world{.cluster = cluster({{1, 1}})};
  world.menus.menu.ranked = {choice(0, 1, 50)};
  world.menus.menu.ranked[0].predicted.epochs = 2;
  Fifo fifo;
  Job never = training("never", 0), exact = training("exact", 0), budget = training("budget", 0);
  never.target_accuracy = 1.5;
  exact.epochs = 5;
  budget.target_accuracy = 0.9;
  budget.stop = Stop::budget;
  world.run({never, exact, budget}, fifo);
  CHECK(world.keeper.of("never").epochs == 12);
  CHECK(world.keeper.of("never").state == JobState::finished);
  CHECK(world.keeper.of("exact").epochs == 5);
  CHECK(world.keeper.of("budget").epochs == 2);
  CHECK(world.keeper.of("budget").accuracy == Approx(0.2));
}

TEST_CASE("a job that is out of memory has paid for its start-up, and starts up again with half of the batch") {
  struct Told final : Configurator {
    Menu menu;
    std::vector<double> too_large;
    Menu configure(const Job&, double) override { return menu; }
    void on_out_of_memory(const Job&, const Configuration& c) override { too_large.push_back(c.batch_size()); }
  } told;
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 10, .checkpoint_s = 0}};
  Fifo fifo;
  told.menu.ranked = {choice(0, 1, 3000)};  // 1000 samples fit: of 3000, 1500 and 750 the third
  Job job = training("halved", 0);
  job.epochs = 1;
  world.run({job}, fifo, &told);
  const JobRecord& halved = world.keeper.of("halved");
  CHECK(halved.state == JobState::finished);
  CHECK(halved.batch_size == 750);
  CHECK(told.too_large == std::vector<double>{3000, 1500});
  CHECK(halved.time.switch_s == Approx(3 * 10));
  CHECK(halved.cost.switch_usd == Approx(3 * 10 * 0.001));

  Fifo second;
  world.run({stepping("fixed", 0, 10)}, second, &told);  // the batch is the job's: nothing to halve
  CHECK(world.keeper.of("fixed").reason == FailureReason::out_of_memory);
  CHECK(world.keeper.of("fixed").cost.switch_usd == Approx(10 * 0.001));
}

TEST_CASE("out of memory, divergence, deadline stop and rejection are final states with their reasons") {
  World world{.cluster = cluster({{1, 1}})};
  Fifo fifo;
  world.menus.menu.ranked = {choice(0, 1, 2000)};
  world.run({stepping("memory", 0, 10)}, fifo);
  CHECK(world.keeper.of("memory").reason == FailureReason::out_of_memory);

  world.menus.menu.ranked = {choice(0, 1, 50)};
  world.menus.menu.ranked[0].configuration.learning_rate = 9;
  Fifo second;
  world.run({training("diverges", 0)}, second);
  CHECK(world.keeper.of("diverges").reason == FailureReason::cannot_converge);
  CHECK(world.keeper.of("diverges").cost.lost_usd == Approx(3 * 2 * 0.001));  // three epochs of 2 steps
  CHECK(world.keeper.of("diverges").cost.compute_usd == Approx(0).margin(1e-12));

  // Stopped at 3 s, in the middle of the second epoch (2.2 s each: evaluation 40/100 -> 1 batch).
  world.menus.menu.ranked = {choice(0, 1, 100)};
  Job late = training("late", 0), queued = training("queued", 0), patient = rigid("patient", 0, 1, 1);
  late.deadline_s = queued.deadline_s = 3;
  late.on_deadline = queued.on_deadline = OnDeadline::stop;
  Fifo third;
  world.run({late, queued, patient}, third);
  CHECK(world.keeper.of("late").reason == FailureReason::deadline_stop);
  CHECK(world.keeper.of("late").end_s == 3);
  CHECK(world.keeper.of("queued").reason == FailureReason::deadline_stop);
  CHECK(world.keeper.of("queued").cost.total() == 0);
  CHECK(world.keeper.of("patient").start_s == 3);

  world.infeasible = Infeasible::reject;
  world.menus.menu.feasible = false;
  Fifo fourth;
  world.run({training("refused", 0)}, fourth);
  CHECK(world.keeper.of("refused").reason == FailureReason::rejected);
}

TEST_CASE("a preempted job keeps its work and pays for the checkpoint") {
  // Rigid work of 10 s is cut at 4 s; the rest runs from 4 s (nothing else waits): the end stays 10 s.
  World world{.cluster = cluster({{1, 1}})};
  Scripted queue;
  bool cut = false;
  queue.script = [&](const QueueView& view, QueueAnswer& answer) {
    for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot, .entry = 0});
    if (view.now_s == 0) answer.wake_at_s = 4;
    if (view.now_s == 4 && !cut) answer.preempts.push_back(0), cut = true;
  };
  world.run({rigid("a", 0, 1, 10)}, queue);
  CHECK(world.keeper.of("a").end_s == 10);
  CHECK(world.keeper.of("a").preemptions == 1);
  CHECK(world.keeper.stage_costs.size() == 2);
  CHECK(world.keeper.stage_costs[0] == Approx(0.004));

  // Training: start 5 s, epochs of 1 step + 0.25 s, preempted at 7.5 s, that is in the middle of the second epoch (begun at
  // 6.25 s, at 1.25 of 1.25... the second ends at 7.5 s): two epochs are done. Checkpoint to 9.5 s, start to 14.5 s, 3 epochs
  // more.
  World second{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  second.menus.menu.ranked = {choice(0, 1, 100)};
  Scripted again;
  bool done = false;
  again.script = [&](const QueueView& view, QueueAnswer& answer) {
    for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot, .entry = 0});
    if (view.now_s == 0) answer.wake_at_s = 7.5;
    if (view.now_s == 7.5 && !done) answer.preempts.push_back(0), done = true;
  };
  Job job = training("t", 0);
  job.epochs = 5;
  second.run({job}, again);
  CHECK(second.keeper.of("t").end_s == Approx(14.5 + 3 * 1.25));
  CHECK(second.keeper.of("t").accuracy == Approx(0.5));
  CHECK(second.keeper.of("t").cost.switch_usd == Approx((5 + 2 + 5) * 0.001));
}

TEST_CASE("a job resized to more devices of a pool than are free waits in the queue like any other") {
  // "holder" keeps 1 of 4 GPUs; "t" lets go of 1 and wants two groups of 2: each alone would fit into the 3 that are free.
  // Resized at 2.5 s, after 2 epochs of 1.25 s; the queue starts it again at once in its old shape, for 3 more: 2.5 + 3.75.
  World world{.cluster = cluster({{1, 4}})};
  world.menus.menu.ranked = {choice(0, 1, 100), choice(0, 2, 100)};
  std::vector<Group>& groups = world.menus.menu.ranked[1].configuration.groups;
  groups.push_back(groups.front());
  Scripted queue;
  bool resized = false;
  queue.script = [&](const QueueView& view, QueueAnswer& answer) {
    for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot, .entry = 0});
    if (view.now_s == 0) answer.wake_at_s = 2.5;
    if (view.now_s == 2.5 && !resized) answer.resizes.push_back({.job = 0, .entry = 1}), resized = true;
  };
  Job job = training("t", 0);
  job.epochs = 5;
  world.run({job, rigid("holder", 0, 1, 100)}, queue);
  CHECK(world.keeper.of("t").end_s == Approx(6.25));
  CHECK(world.keeper.of("t").reconfigurations == 1);
  CHECK(world.keeper.of("t").workers == 1);
}

TEST_CASE("pool billing shares idle money out, and jobs pay for the whole pool") {
  // 2 GPUs on a node for 10 s: 0.01 dollars. Both jobs use 5 + 10 device-seconds of 20: 0.0075, idle 0.0025 shared 1 : 2.
  World world{.cluster = cluster({{1, 2}}), .costs = {.billing = Billing::pool}};
  Fifo fifo;
  const ReplayTotals totals = world.run({rigid("a", 0, 1, 5), rigid("b", 0, 1, 10)}, fifo);
  CHECK(world.keeper.of("a").cost.total() == Approx(0.0025 + 0.0025 / 3));
  CHECK(world.keeper.of("b").cost.total() == Approx(0.005 + 0.0025 * 2 / 3));
  CHECK(totals.shared_idle_usd == Approx(0.0025));
}

TEST_CASE("bad answers of a policy name policy, job and time") {
  World world{.cluster = cluster({{1, 2}})};
  Fifo fifo;
  const auto complains = [&](const std::string& what, Queue& queue) {
    CHECK_THROWS_WITH(world.run({training("j", 1)}, queue), Catch::Matchers::Contains("policy \"toy\"") &&
                                                                Catch::Matchers::Contains("at 1.000000 s") &&
                                                                Catch::Matchers::Contains(what));
  };
  world.menus.menu = {};
  complains("a menu without any choice", fifo);
  world.menus.menu.ranked = {choice(0, 0, 1)};
  complains("0 workers", fifo);
  world.menus.menu.ranked = {choice(3, 1, 1)};
  complains("a pool that does not exist", fifo);
  world.menus.menu.ranked = {choice(0, 1, 0)};
  complains("a batch of 0 samples", fifo);
  world.menus.menu.ranked = {choice(0, 1, 1)};
  world.menus.menu.ranked[0].configuration.learning_rate = kUnset;
  complains("a learning rate of nan", fifo);
  world.menus.menu.ranked = {choice(0, 1, 1)};
  world.menus.menu.ranked[0].predicted.time_s = -1;
  complains("a prediction of -1", fifo);
  world.menus.menu.ranked = {choice(0, 1, 1)};
  Scripted queue;
  queue.script = [](const QueueView& view, QueueAnswer& answer) {
    answer.starts.push_back({.job = view.queued.front(), .entry = 4});
  };
  complains("an entry that its menu does not have", queue);
  queue.script = [](const QueueView&, QueueAnswer& answer) { answer.starts.push_back({.job = 99, .entry = 0}); };
  complains("starts a job that is not in the queue", queue);
  queue.script = [](const QueueView& view, QueueAnswer& answer) { answer.preempts.push_back(view.queued.front()); };
  complains("preempts a job that is not running", queue);
  queue.script = [](const QueueView& view, QueueAnswer& answer) {
    answer.starts.push_back({.job = view.queued.front(), .entry = 0, .nodes = {{{.node = 5, .devices = 1}}}});
  };
  complains("node 5 of 1", queue);
  queue.script = [](const QueueView&, QueueAnswer& answer) { answer.wake_at_s = 0.5; };
  complains("woken in the past", queue);
  queue.script = [](const QueueView&, QueueAnswer&) {};
  complains("1 jobs waiting forever", queue);
  queue.script = [](const QueueView&, QueueAnswer&) { throw std::runtime_error("lost its way"); };
  complains("lost its way", queue);
  TwoReplicas places;
  world.places = &places;
  Fifo starts;
  complains("2 replicas for the 1 workers of a node", starts);
}

TEST_CASE("whatever a queue does, jobs end once, work is conserved and the books balance") {
  rc::prop("conservation", [](std::uint64_t seed) {
    Random random(seed);
    World world{.cluster = cluster({{2, 2}, {3, 1}}), .samples = true};
    world.menus.menu.ranked = {choice(0, 1, 10), choice(0, 3, 5), choice(1, 2, 20)};
    std::vector<Job> jobs;
    double submit_s = 0;
    for (int i = 0; i < 25; ++i) {
      submit_s += static_cast<double>(random.below(12)) / 4;
      Job job = random.below(2) == 0
                    ? rigid("", submit_s, 1 + static_cast<int>(random.below(3)), 1 + static_cast<double>(random.below(30)))
                    : training("", submit_s);
      job.name = std::to_string(i);
      if (random.below(4) == 0) job.deadline_s = 10, job.on_deadline = OnDeadline::stop;
      if (job.work == Work::train) job.epochs = 1 + static_cast<double>(random.below(6));
      jobs.push_back(job);
    }
    Restless queue(seed + 1);
    const ReplayTotals totals = world.run(jobs, queue);  // checks its balance itself
    RC_ASSERT(totals.jobs == 25u);
    RC_ASSERT(world.keeper.jobs.size() == 25u);
    double device_s = 0;
    for (const Keeper::Row& row : world.keeper.jobs) {
      device_s += row.record.device_s;
      const Job& job = jobs[static_cast<std::size_t>(std::stoi(row.name))];
      if (row.record.state != JobState::finished) continue;
      // Rigid work done is the work asked for: device-seconds never less than GPUs x duration.
      if (job.work == Work::rigid) RC_ASSERT(row.record.device_s >= job.gpus * job.duration_s * (1 - 1e-9));
      if (job.work == Work::train) RC_ASSERT(row.record.accuracy >= job.epochs / 10 - 1e-9);
    }
    double pools = 0;
    for (const PoolTotals& pool : totals.pools) pools += pool.jobs_device_s;
    RC_ASSERT(std::abs(device_s - pools) <= 1e-9 * std::max(1.0, pools));
    for (const PoolSample& sample : world.keeper.samples) RC_ASSERT(sample.allocated_devices <= (sample.pool == 0 ? 4 : 3));
  });
}

TEST_CASE("consolidated placement uses the fewest nodes") {
  rc::prop("fewest nodes", [](std::uint64_t seed) {
    Random random(seed);
    const int per_node = 1 + static_cast<int>(random.below(8)), count = 1 + static_cast<int>(random.below(70));
    Nodes nodes(count, per_node);
    std::vector<int> free(static_cast<std::size_t>(count), per_node);
    for (int i = 0; i < 40; ++i) {
      const int node = static_cast<int>(random.below(static_cast<std::uint64_t>(count)));
      if (free[static_cast<std::size_t>(node)] == 0) continue;
      const NodeShare share{node, 1};
      nodes.take(std::span(&share, 1));
      --free[static_cast<std::size_t>(node)];
    }
    if (nodes.free_devices() == 0) return;
    const int wanted = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(nodes.free_devices())));
    // Brute force: taking the emptiest nodes first needs the fewest.
    std::vector<int> sorted = free;
    std::sort(sorted.rbegin(), sorted.rend());
    std::size_t fewest = 0;
    for (int left = wanted; left > 0; left -= sorted[fewest++]) {
    }
    std::vector<NodeShare> taken;
    nodes.take_consolidated(wanted, taken);
    RC_ASSERT(taken.size() == fewest);
    int sum = 0;
    for (const NodeShare& share : taken) {
      RC_ASSERT(share.devices <= free[static_cast<std::size_t>(share.node)]);
      sum += share.devices;
    }
    RC_ASSERT(sum == wanted);
    const int before = nodes.free_devices();
    nodes.give_back(taken);
    RC_ASSERT(nodes.free_devices() == before + wanted);
  });
}
