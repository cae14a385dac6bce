#include "policies/queue/partitions.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "policies/queue/elastic.hpp"
#include "policies/queue/finish_time_fairness.hpp"
#include "policies/queue/gavel.hpp"
#include "policies/queue/least_attained_service.hpp"
#include "policies/queue/line_orders.hpp"
#include "policies/queue/user_shares.hpp"
#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using namespace rehearse::policies;

namespace {

std::unique_ptr<Queue> any_queue(int kind) {
  switch (kind) {
    case 0:
      return std::make_unique<Fifo>();
    case 1:
      return std::make_unique<UserShares>(UserSharesParameters{});
    case 2:
      return std::make_unique<Gavel>(GavelParameters{.round_s = 20});
    case 3:
      return std::make_unique<Elastic>(ElasticParameters{.round_s = 15, .switch_s = 5});
    default:
      return std::make_unique<FinishTimeFairness>(FinishTimeFairnessParameters{.lease_s = 20});
  }
}

/// Asserts before every answer that no partition holds more than its quota.
class Audited final : public Queue, public Quotas {
 public:
  Audited(std::vector<Partition> partitions, int kind)
      : partitions_(partitions), inner_(std::move(partitions), [kind] { return any_queue(kind); }) {}
  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const JobSlot slot : view.queued) active_.insert(slot);
    for (const JobSlot slot : view.ended) active_.erase(slot);
    std::map<std::pair<bool, std::string>, int> held;  // by partition and pool
    for (const JobSlot slot : active_) {
      const QueueJob& job = view.jobs[slot];
      if (job.service.entry < 0) continue;
      for (const Group& group : job.menu.ranked[static_cast<std::size_t>(job.service.entry)].configuration.groups)
        held[{job.job.user < "c", view.cluster->pools[static_cast<std::size_t>(group.pool)].name}] += group.workers;
    }
    for (const auto& [where, devices] : held) {
      const auto& [first, pool] = where;
      const Partition& partition = partitions_[first ? 0 : 1];
      const auto quota = partition.quota.find(pool);
      const int nodes = quota == partition.quota.end() ? 0 : quota->second;
      for (std::size_t p = 0; p < view.nodes.size(); ++p)
        if (view.cluster->pools[p].name == pool) RC_ASSERT(devices <= nodes * view.nodes[p].devices_per_node());
    }
    inner_.decide(view, answer);
  }
  bool has_room(JobSlot slot, const Configuration& configuration) const override { return inner_.has_room(slot, configuration); }
  void take(JobSlot slot, const Configuration& configuration) override { inner_.take(slot, configuration); }

 private:
  std::vector<Partition> partitions_;
  Partitioned inner_;
  std::set<JobSlot> active_;
};

/// The job's menu again after each epoch, another entry first.
class EntriesByTurns final : public Configurator {
 public:
  explicit EntriesByTurns(MenuOfJob& menus) : menus_(menus) {}
  Menu configure(const Job& job, double) override { return until(menus_.menus.at(job.name), 1); }
  Menu configure_again(const Job& job, std::span<const StageSeen> seen, double) override {
    Menu& menu = menus_.menus.at(job.name);
    std::rotate(menu.ranked.begin(), menu.ranked.begin() + 1, menu.ranked.end());
    return until(menu, seen.back().epochs + 1);
  }

 private:
  static Menu until(Menu menu, double epochs) {
    for (Choice& choice : menu.ranked) choice.until_epochs = epochs;
    return menu;
  }
  MenuOfJob& menus_;
};

}  // namespace

TEST_CASE("partitions: each user's jobs stay within the quota, and nothing is borrowed") {
  // Two nodes of 2. a has one node, all others the other one. a's second job waits for the first, though two devices are free
  // until b comes at 1; a job of 3 devices fits the pool, but neither partition.
  World world{.cluster = cluster({{2, 2}})};
  Partitioned queue({{.name = "a's", .users = {"a"}, .quota = {{"pool0", 1}}}, {.name = "rest", .quota = {{"pool0", 1}}}},
                    [] { return std::make_unique<Fifo>(); });
  world.run({job_of("a", rigid("a1", 0, 2, 10)), job_of("a", rigid("a2", 0, 2, 10)), job_of("b", rigid("b", 1, 2, 10)),
             job_of("c", rigid("c", 2, 1, 10)), job_of("a", rigid("large", 3, 3, 10))},
            queue);
  CHECK(world.keeper.of("a2").start_s == 10);
  CHECK(world.keeper.of("b").start_s == 1);
  CHECK(world.keeper.of("c").start_s == 11);
  CHECK(world.keeper.of("large").reason == FailureReason::rejected);
}

TEST_CASE("partitions: users of none are rejected; quotas of more than the pool go in order") {
  World world{.cluster = cluster({{1, 2}})};
  Partitioned queue(
      {{.name = "a's", .users = {"a"}, .quota = {{"pool0", 1}}}, {.name = "b's", .users = {"b"}, .quota = {{"pool0", 1}}}},
      [] { return std::make_unique<Fifo>(); });
  world.run({job_of("b", rigid("b1", 0, 2, 10)), job_of("b", rigid("b2", 1, 2, 10)), job_of("a", rigid("a", 2, 2, 10)),
             job_of("c", rigid("c", 2, 1, 1))},
            queue);
  CHECK(world.keeper.of("a").start_s == 10);
  CHECK(world.keeper.of("b2").start_s == 20);
  CHECK(world.keeper.of("c").reason == FailureReason::rejected);
}

TEST_CASE("partitions: a job that needs a part of a GPU has it for itself, and lets go of all of it when it is preempted") {
  // One GPU. half runs from 0; at 5 it has attained 2.5 GPU-seconds and is in the second level: whole takes the GPU until 6, its
  // own second level, and goes on by arrival only after half, which ends at 16.
  World world{.cluster = cluster({{1, 1}})};
  Partitioned queue({{.name = "all", .quota = {{"pool0", 1}}}}, [] {
    return std::make_unique<LeastAttainedService>(LeastAttainedServiceParameters{.threshold_device_s = 1});
  });
  Job half = job_of("a", rigid("half", 0, 1, 15));
  half.gpu_fraction = 0.5;
  world.run({half, job_of("b", rigid("whole", 5, 1, 10))}, queue);
  CHECK(world.keeper.of("half").preemptions == 1);
  CHECK(world.keeper.of("whole").start_s == 5);
  CHECK(world.keeper.of("half").end_s == 16);
  CHECK(world.keeper.of("whole").end_s == 25);
}

TEST_CASE("partitions: the date at which a discipline may start somebody is waited for beside its rounds") {
  // Starts the job at 30,000 s, after more rounds of a second than a queue is given that names no date.
  struct Late final : Queue {
    std::vector<JobSlot> waiting;
    void decide(const QueueView& view, QueueAnswer& answer) override {
      waiting.insert(waiting.end(), view.queued.begin(), view.queued.end());
      if (waiting.empty()) return;
      if (view.now_s < 30'000) {
        answer.acts_at_s = 30'000;
        answer.wake_at_s = view.now_s + 1;
        return;
      }
      for (const JobSlot slot : std::exchange(waiting, {})) answer.starts.push_back({.job = slot});
    }
  };
  World world{.cluster = cluster({{1, 1}})};
  Partitioned queue({{.name = "all", .quota = {{"pool0", 1}}}}, [] { return std::make_unique<Late>(); });
  world.run({job_of("a", rigid("job", 0, 1, 10))}, queue);
  CHECK(world.keeper.of("job").start_s == 30'000);
}

TEST_CASE("partitions: what was given away counts before the next decision, when a job goes on to its next stage") {
  // Pool 0 has two nodes, of which the partition has one. a is in pool 1 until 5, and then would rather be in pool 0: b has been
  // there since 3, and nothing is decided in between.
  class Moving final : public Configurator {
   public:
    Menu configure(const Job&, double) override {
      Menu menu{.ranked = {choice(1, 1, 100)}};
      menu.ranked.front().until_epochs = 4;
      return menu;
    }
    Menu configure_again(const Job&, std::span<const StageSeen>, double) override {
      return {.ranked = {choice(0, 1, 100), choice(1, 1, 100)}};
    }
  } stages;
  static const Profile profile{.model = "toy", .dataset = "toy"};
  World world{.cluster = cluster({{2, 1}, {1, 1}})};
  Partitioned queue({{.name = "all", .quota = {{"pool0", 1}, {"pool1", 1}}}}, [] { return std::make_unique<Fifo>(); });
  world.run({{.name = "a", .profile = &profile, .work = Work::train, .epochs = 12}, rigid("b", 3, 1, 10)}, queue, &stages);
  CHECK(world.keeper.of("b").start_s == 3);
  CHECK(world.keeper.of("a").pool == 1);
  CHECK(world.keeper.of("a").end_s == Approx(15));
}

TEST_CASE("partitions: quotas are kept by every discipline, and every job ends") {
  rc::prop("two partitions", [](std::uint64_t seed) {
    RandomJobs made = random_jobs(seed, {.mixed_menus = *rc::gen::arbitrary<bool>()});
    Partition few{.name = "few", .users = {"a", "b"}}, rest{.name = "rest"};
    for (const Pool& pool : made.machines.pools) {
      few.quota[pool.name] = *rc::gen::inRange(0, pool.nodes + 1);
      rest.quota[pool.name] = *rc::gen::inRange(0, pool.nodes + 1);
    }
    const int kind = *rc::gen::inRange(0, 5);
    RandomJobs again = made;
    Audited queue({few, rest}, kind);
    run_random(made, queue);
    Audited of_stages({few, rest}, kind);
    EntriesByTurns menus(again.menus);
    World world{.cluster = again.machines, .costs = {.start_s = 3, .checkpoint_s = 2}};
    const ReplayTotals totals = world.run(again.jobs, of_stages, &menus);
    RC_ASSERT(totals.finished + totals.failed == again.jobs.size());
  });
}
