// Nobody is stopped who need not be: of those that any discipline preempts for the first of a line, none could run on.
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "policies/queue/least_attained_service.hpp"
#include "policies/queue/line_orders.hpp"
#include "policies/queue/user_shares.hpp"
#include "tests/policies/queue/jobs_by_hand.hpp"
#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using namespace rehearse::policies;

namespace {

std::unique_ptr<Queue> any_preempting(int kind) {
  switch (kind) {
    case 0:
      return std::make_unique<Priority>();
    case 1:
      return std::make_unique<ShortestJob>(ShortestJobParameters{.preempt = true});
    default:
      return std::make_unique<LeastAttainedService>(LeastAttainedServiceParameters{.threshold_device_s = 20});
  }
}

/// Looks at every answer, of rigid jobs in lines of one pool each.
class Audited final : public Queue {
 public:
  explicit Audited(std::unique_ptr<Queue> inner) : inner_(std::move(inner)) {}
  int preempted = 0;

  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const auto slots : {view.queued, view.started, view.changed}) active_.insert(slots.begin(), slots.end());
    for (const JobSlot slot : view.ended) active_.erase(slot);
    inner_->decide(view, answer);
    for (std::size_t pool = 0; pool < view.free_devices.size(); ++pool) audit(view, answer, static_cast<int>(pool));
  }

 private:
  static const Group& group_of(const QueueView& view, JobSlot slot) {
    const QueueJob& job = view.jobs[slot];
    return job.menu.ranked[static_cast<std::size_t>(job.first_fitting_entry)].configuration.groups.front();
  }

  void audit(const QueueView& view, const QueueAnswer& answer, int pool) {
    int free = view.free_devices[static_cast<std::size_t>(pool)], need = 0;
    for (const JobSlot slot : active_)
      if (view.jobs[slot].service.state == JobState::checkpointing && group_of(view, slot).pool == pool)
        free += group_of(view, slot).workers;
    for (const Start& start : answer.starts)
      if (group_of(view, start.job).pool == pool) free -= group_of(view, start.job).workers;
    for (const JobSlot slot : answer.heads)
      if (group_of(view, slot).pool == pool) need = group_of(view, slot).workers;
    std::vector<int> held;
    for (const JobSlot slot : answer.preempts)
      if (group_of(view, slot).pool == pool) held.push_back(group_of(view, slot).workers);
    for (const int devices : held) free += devices;
    preempted += static_cast<int>(held.size());
    if (held.empty()) return;
    RC_ASSERT(free >= need);
    for (const int devices : held) RC_ASSERT(free - devices < need);
  }

  std::unique_ptr<Queue> inner_;
  std::set<JobSlot> active_;
};

}  // namespace

TEST_CASE("of those that are preempted none could run on", "[queue]") {
  int preempted = 0;
  rc::prop("rigid jobs", [&](std::uint64_t seed) {
    RandomJobs made = random_jobs(seed, {.jobs = 60, .pools = 2, .only_rigid = true});
    Audited queue(any_preempting(*rc::gen::inRange(0, 3)));
    run_random(made, queue, nullptr, 0);
    preempted += queue.preempted;
  });
  CHECK(preempted > 100);
}

namespace {

using rehearse::policies::LineOptions;

/// Compares every answer with those that stop fewer of the same jobs. Rigid jobs, in lines of one pool each.
class AgainstFewerVictims final : public Queue {
 public:
  AgainstFewerVictims(bool shortest, bool strict) : shortest_(shortest), strict_(strict) {
    const LineOptions line{.overtaking = strict ? Overtaking::strict : Overtaking::fit_first, .claims_together = true};
    if (shortest)
      inner_ = std::make_unique<ShortestJob>(ShortestJobParameters{.preempt = true, .line = line});
    else
      inner_ = std::make_unique<Priority>(PriorityParameters{.line = line});
  }
  int several = 0;  ///< answers that stop more than one job of a pool

  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const auto slots : {view.queued, view.started, view.changed}) active_.insert(slots.begin(), slots.end());
    for (const JobSlot slot : view.ended) active_.erase(slot);
    inner_->decide(view, answer);
    for (std::size_t pool = 0; pool < view.free_devices.size(); ++pool) audit(view, answer, static_cast<int>(pool));
  }

 private:
  static const Group& group_of(const QueueView& view, JobSlot slot) {
    const QueueJob& job = view.jobs[slot];
    return job.menu.ranked[static_cast<std::size_t>(job.first_fitting_entry)].configuration.groups.front();
  }
  std::pair<double, std::uint64_t> place_of(const QueueView& view, JobSlot slot) const {
    const QueueJob& job = view.jobs[slot];
    return {shortest_ ? job.predicted_remaining_s(job.first_fitting_entry, view.now_s) : -job.job.priority, job.number};
  }
  /// Of the waiting jobs, in order, those that find room in so many devices.
  std::vector<JobSlot> served(const QueueView& view, const std::vector<JobSlot>& waiting, int devices) const {
    std::vector<JobSlot> found;
    for (const JobSlot slot : waiting) {
      const int need = group_of(view, slot).workers;
      if (need > devices && strict_) break;
      if (need > devices) continue;
      devices -= need;
      found.push_back(slot);
    }
    return found;
  }

  void audit(const QueueView& view, const QueueAnswer& answer, int pool) {
    int free = view.free_devices[static_cast<std::size_t>(pool)];
    std::vector<JobSlot> waiting, victims;
    std::set<JobSlot> started;
    for (const Start& start : answer.starts) {
      started.insert(start.job);
      if (group_of(view, start.job).pool == pool) free -= group_of(view, start.job).workers;
    }
    for (const JobSlot slot : active_) {
      if (group_of(view, slot).pool != pool || started.contains(slot)) continue;
      if (view.jobs[slot].service.state == JobState::checkpointing) free += group_of(view, slot).workers;
      if (view.jobs[slot].service.state == JobState::queued) waiting.push_back(slot);
    }
    std::sort(waiting.begin(), waiting.end(), [&](JobSlot a, JobSlot b) { return place_of(view, a) < place_of(view, b); });
    for (const JobSlot slot : answer.preempts)
      if (group_of(view, slot).pool == pool) victims.push_back(slot);
    if (victims.empty()) return;
    several += victims.size() > 1 ? 1 : 0;
    const auto devices_of = [&](std::size_t subset) {
      int devices = free;
      for (std::size_t v = 0; v < victims.size(); ++v)
        if ((subset >> v & 1) != 0) devices += group_of(view, victims[v]).workers;
      return devices;
    };
    const std::size_t all = (std::size_t{1} << victims.size()) - 1;
    const std::vector<JobSlot> wanted = served(view, waiting, devices_of(all));
    RC_ASSERT(!wanted.empty());
    for (std::size_t fewer = 0; fewer < all; ++fewer) RC_ASSERT(served(view, waiting, devices_of(fewer)) != wanted);
  }

  bool shortest_, strict_;
  std::unique_ptr<Queue> inner_;
  std::set<JobSlot> active_;
};

}  // namespace

TEST_CASE("no smaller set of victims serves the same jobs", "[queue]") {
  int several = 0;
  rc::prop("rigid jobs", [&](std::uint64_t seed) {
    RandomJobs made = random_jobs(seed, {.jobs = 60, .pools = 2, .only_rigid = true});
    AgainstFewerVictims queue(*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>());
    run_random(made, queue, nullptr, *rc::gen::element(0.0, 2.0));
    several += queue.several;
  });
  CHECK(several > 20);
}

TEST_CASE("a victim whose devices nobody took runs on", "[queue]") {
  // 10 GPUs: z (4), y (4) and x (1) run. At 100 A (2) and B (1) arrive: x alone would make room for A and y then for B, but y
  // alone makes room for both. x ends at 500; y has 400 s left and goes on when A and B end, at 400: 400 + 400.
  const auto strict = GENERATE(Overtaking::strict, Overtaking::fit_first);
  World world{.cluster = cluster({{10, 1}})};
  Priority queue({.line = {.overtaking = strict, .claims_together = true}});
  world.run(
      {with_priority(rigid("z", 0, 4, 1000), 9), with_priority(rigid("y", 0, 4, 500), 2), with_priority(rigid("x", 0, 1, 500), 1),
       with_priority(rigid("A", 100, 2, 300), 8), with_priority(rigid("B", 100, 1, 300), 7)},
      queue);
  CHECK(world.keeper.of("x").end_s == 500);
  CHECK(world.keeper.of("x").preemptions == 0);
  CHECK(world.keeper.of("y").end_s == 800);
  CHECK(world.keeper.of("A").start_s == 100);
  CHECK(world.keeper.of("B").start_s == 100);
}

TEST_CASE("published presets choose the victims of each job by itself", "[queue]") {
  // As above without the rule, whoever fits may start: A takes x's device, B takes y's. x goes on at once, on y's devices.
  World world{.cluster = cluster({{10, 1}})};
  Priority queue({.line = {.overtaking = Overtaking::fit_first}});
  world.run(
      {with_priority(rigid("z", 0, 4, 1000), 9), with_priority(rigid("y", 0, 4, 500), 2), with_priority(rigid("x", 0, 1, 500), 1),
       with_priority(rigid("A", 100, 2, 300), 8), with_priority(rigid("B", 100, 1, 300), 7)},
      queue);
  CHECK(world.keeper.of("x").preemptions == 1);
}

TEST_CASE("fair shares: of all victims of a date none could run on", "[queue]") {
  World world{.cluster = cluster({{1, 12}})};
  UserShares queue{UserSharesParameters{}};
  const auto of = [](std::string user, Job job) {
    job.user = std::move(user);
    return job;
  };
  // a holds all 12: jobs of 7, 4 and 1, in the order of their starts. b and c each want 1, at one date: the claim of b takes the
  // last job, of 1, and c's claim the one of 4, which alone makes room for both.
  world.run({of("a", rigid("seven", 0, 7, 1000)), of("a", rigid("four", 1, 4, 1000)), of("a", rigid("one", 2, 1, 1000)),
             of("b", rigid("b", 100, 1, 10)), of("c", rigid("c", 100, 1, 10))},
            queue);
  CHECK(world.keeper.of("four").preemptions == 1);
  CHECK(world.keeper.of("one").preemptions == 0);
  CHECK(world.keeper.of("b").start_s == 100);
  CHECK(world.keeper.of("c").start_s == 100);
}

TEST_CASE("fair shares: whoever need not let go runs on", "[queue]") {
  // 9 GPUs, all a's: jobs of 1, 7 and 1, in the order of their starts. b's job of 4 has a claim: the last 1 would go first, then
  // the 7, which alone suffice; a keeps 2 of 9.
  World world{.cluster = cluster({{1, 9}})};
  UserShares queue{UserSharesParameters{}};
  const auto of = [](std::string user, Job job) {
    job.user = std::move(user);
    return job;
  };
  world.run({of("a", rigid("first", 0, 1, 1000)), of("a", rigid("seven", 1, 7, 500)), of("a", rigid("one", 2, 1, 1000)),
             of("b", rigid("four", 100, 4, 10))},
            queue);
  CHECK(world.keeper.of("seven").preemptions == 1);
  CHECK(world.keeper.of("one").preemptions == 0);
  CHECK(world.keeper.of("four").start_s == 100);
  CHECK(world.keeper.of("four").preemptions == 0);
}
