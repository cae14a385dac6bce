// Nobody is stopped who need not be: of those that any discipline preempts for the first of a line, none could run on.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <set>

#include "policies/queue/least_attained_service.hpp"
#include "policies/queue/line_orders.hpp"
#include "policies/queue/user_shares.hpp"
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
