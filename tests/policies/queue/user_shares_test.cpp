#include "policies/queue/user_shares.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using rehearse::policies::ShareMeasure;
using rehearse::policies::UserShares;

namespace {

/// What each user should have: the level to which all can be raised, at most what he asks for.
std::map<std::string, double> max_min(const std::map<std::string, int>& asked, double devices) {
  std::vector<double> demands;
  for (const auto& [user, demand] : asked) demands.push_back(demand);
  std::sort(demands.begin(), demands.end());
  double level = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    level = devices / static_cast<double>(demands.size() - i);
    if (demands[i] > level) break;
    level = demands[i];
    devices -= demands[i];
  }
  std::map<std::string, double> shares;
  for (const auto& [user, demand] : asked) shares[user] = std::min<double>(demand, level);
  return shares;
}

/// Asserts, whenever nothing is about to change, that no user who waits is more than a job behind.
class Watched final : public Queue {
 public:
  int settled = 0;
  void decide(const QueueView& view, QueueAnswer& answer) override {
    inner_.decide(view, answer);
    for (const JobSlot slot : view.queued) active_.insert(slot);
    for (const JobSlot slot : view.ended) active_.erase(slot);
    if (!answer.starts.empty() || !answer.preempts.empty()) return;
    std::map<std::string, int> held, asked;
    std::set<std::string> waits;
    int largest = 0;
    for (const JobSlot slot : active_) {
      const QueueJob& job = view.jobs[slot];
      if (job.service.state == JobState::checkpointing) return;
      held[job.job.user] += job.service.devices;
      asked[job.job.user] += job.job.gpus;
      largest = std::max(largest, job.job.gpus);
      if (job.service.state == JobState::queued) waits.insert(job.job.user);
    }
    ++settled;
    const auto shares = max_min(asked, view.nodes[0].capacity());
    for (const std::string& user : waits) RC_ASSERT(held[user] >= shares.at(user) - largest - 1e-9);
  }

 private:
  UserShares inner_{{}};
  std::set<JobSlot> active_;
};

}  // namespace

TEST_CASE("fair-share: who has least is served, by preemption of the last who started") {
  // 4 GPUs. a's four jobs of 10 s start at 0. b's of 2 GPUs, 5 s, comes at 2: a gives up a3 and a4, with 8 s left each, and keeps
  // 2/4 > 0. b runs 2..7; a1 and a2 end at 10; a3 and a4 run again 7..15.
  World world{.cluster = cluster({{1, 4}})};
  UserShares queue({});
  world.run({job_of("a", rigid("a1", 0, 1, 10)), job_of("a", rigid("a2", 0, 1, 10)), job_of("a", rigid("a3", 0, 1, 10)),
             job_of("a", rigid("a4", 0, 1, 10)), job_of("b", rigid("b", 2, 2, 5))},
            queue);
  CHECK(world.keeper.of("b").start_s == 2);
  CHECK(world.keeper.of("b").end_s == 7);
  CHECK(world.keeper.of("a2").end_s == 10);
  CHECK(world.keeper.of("a3").preemptions == 1);
  CHECK(world.keeper.of("a3").end_s == 15);
  CHECK(world.keeper.of("a4").end_s == 15);
}

TEST_CASE("fair-share: whose devices turn out not to be needed runs on") {
  // 8 GPUs, a has 4 + 2 + 1, one is free. b wants 3 at 2: a3, the last, gives one, which is not enough, and a2 two. With these
  // and the free one there is room without a3's.
  World world{.cluster = cluster({{1, 8}})};
  UserShares queue({});
  world.run({job_of("a", rigid("a1", 0, 4, 10)), job_of("a", rigid("a2", 0, 2, 10)), job_of("a", rigid("a3", 0, 1, 10)),
             job_of("b", rigid("b", 2, 3, 5))},
            queue);
  CHECK(world.keeper.of("b").start_s == 2);
  CHECK(world.keeper.of("a2").preemptions == 1);
  CHECK(world.keeper.of("a3").preemptions == 0);
  CHECK(world.keeper.of("a3").end_s == 10);
}

TEST_CASE("fair-share: weights, and nobody is preempted to become poorer than who asks") {
  // 3 GPUs, a has all. b of weight 1 takes one: a 2, b 1. b's second job would leave a 1 and b 2: a's 1 is not more than b's 1.
  // With weight 2, b has 1/2 and a's 1 is more: b gets it.
  for (const double weight : {1.0, 2.0}) {
    World world{.cluster = cluster({{1, 3}})};
    UserShares queue({.weights = {{"b", weight}}});
    world.run({job_of("a", rigid("a1", 0, 1, 10)), job_of("a", rigid("a2", 0, 1, 10)), job_of("a", rigid("a3", 0, 1, 10)),
               job_of("b", rigid("b1", 1, 1, 20)), job_of("b", rigid("b2", 1, 1, 20))},
              queue);
    CHECK(world.keeper.of("b1").start_s == 1);
    CHECK(world.keeper.of("b2").start_s == (weight == 1 ? 10 : 1));
  }
}

TEST_CASE("fair-share: devices that are let go wait for the job that they were taken for") {
  // 4 GPUs, checkpoints of 2 s, start-up of 0. a's training jobs, 10 epochs of 1 + 0.25 s each, hold all. b's job of 2 comes at
  // 1: a2 lets go at 3. c's job of 1 comes at 2: the 2 devices are b's, and without a1 user a would have nothing, not more than
  // c.
  World world{.cluster = cluster({{1, 4}}), .costs = {.start_s = 0, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 2, 50)};
  UserShares queue({});
  Job a1{.name = "a1", .user = "a", .profile = &toy_profile(), .submit_s = 0, .work = Work::train, .epochs = 10};
  Job a2 = a1;
  a2.name = "a2";
  world.run({a1, a2, job_of("b", rigid("b", 1, 2, 50)), job_of("c", rigid("c", 2, 1, 50))}, queue);
  CHECK(world.keeper.of("b").start_s == 3);
  // a1 ends at 12.5; a and c have nothing then, and a came first: a2 has done 1 s of its first epoch, 0.2 s of it, its evaluation
  // and 9 are left. c has its device at 12.5 + 0.2 + 0.25 + 9 x 1.25.
  CHECK(world.keeper.of("c").start_s == Approx(24.2));
}

TEST_CASE("drf: the paper's example, section 4.1 and table 1") {
  // 9 CPUs and 18 GB; a's tasks take 1 CPU and 4 GB, b's 3 CPUs and 1 GB. Shares rise b 3/9, a 4/18, a 8/18, b 6/9, a 12/18:
  // three tasks of a and two of b, dominant shares 2/3 each; the CPUs are full.
  World world{.cluster = cluster({{1, 9}, {1, 18}})};
  MenuOfJob menus;
  std::vector<Job> jobs;
  for (int i = 0; i < 6; ++i) {
    for (const char user : {'b', 'a'}) {
      Job job{.name = user + std::to_string(i),
              .user = std::string(1, user),
              .profile = &toy_profile(),
              .work = Work::train,
              .epochs = 1};
      Choice c = choice(0, user == 'a' ? 1 : 3, 50);
      c.configuration.groups.push_back({.pool = 1, .workers = user == 'a' ? 4 : 1, .batch_per_worker = 50});
      menus.menus[job.name].ranked = {c};
      jobs.push_back(job);
    }
  }
  UserShares queue({.measure = ShareMeasure::dominant, .preempt = false});
  world.run(jobs, queue, &menus);
  int started_of[2] = {};
  for (const Keeper::Row& row : world.keeper.jobs)
    if (row.record.start_s == 0) ++started_of[row.name[0] - 'a'];
  CHECK(started_of[0] == 3);
  CHECK(started_of[1] == 2);
}

TEST_CASE("fair-share: no user who waits is more than one job behind the max-min share") {
  rc::prop("one pool, rigid jobs, any arrivals", [](std::uint64_t seed) {
    RandomJobs made = random_jobs(seed, {.jobs = 40, .pools = 1, .only_rigid = true});
    Watched queue;
    run_random(made, queue);
    RC_ASSERT(queue.settled > 0);
  });
}

TEST_CASE("shares: every answer is valid, and every job ends") {
  rc::prop("rigid and training jobs, several pools, checkpoints", [](std::uint64_t seed, bool dominant, bool preempt) {
    RandomJobs made = random_jobs(seed, {.mixed_menus = *rc::gen::arbitrary<bool>()});
    UserShares queue(
        {.measure = dominant ? ShareMeasure::dominant : ShareMeasure::mean, .preempt = preempt, .weights = {{"a", 3}}});
    run_random(made, queue);
  });
}
