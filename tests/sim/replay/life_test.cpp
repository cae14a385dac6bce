// Whatever happens to nodes and whatever a queue does: what a recorder sees from outside must balance.
#include <catch2/catch.hpp>

#include "sim/replay/free_devices.hpp"
#include "tests/sim/replay/auditor.hpp"

using namespace toy;

namespace {

/// Preempts and resizes running jobs, and starts waiting ones, at random.
class Chaos final : public Queue {
 public:
  Chaos(std::uint64_t seed, const Auditor& auditor) : random_(seed), auditor_(auditor) {}
  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const JobSlot slot : view.ended) std::erase(waiting_, slot), std::erase(started_, slot);
    for (const JobSlot slot : view.queued) std::erase(started_, slot), waiting_.push_back(slot);
    const auto runs = [&](JobSlot slot) {
      const auto books = auditor_.jobs.find(view.jobs[slot].job.name);
      return books != auditor_.jobs.end() && books->second.running;
    };
    for (const JobSlot slot : started_) {
      if (left_ == 0 || !runs(slot) || random_.below(6) > 0) continue;
      --left_;
      const Menu& menu = view.jobs[slot].menu;
      if (random_.below(2) == 0)
        answer.preempts.push_back(slot);
      else
        answer.resizes.push_back(
            {.job = slot, .entry = static_cast<int>(random_.below(menu.ranked.size())), .shares = random_.below(2) == 0});
    }
    QueueView seen = view;
    const bool shares = random_.below(8) > 0;
    if (!shares) seen.shares = {};
    FreeDevices free;
    free.reset(seen);
    const auto placement = static_cast<Placement>(random_.below(4));
    std::erase_if(waiting_, [&](JobSlot slot) {
      const Menu& menu = view.jobs[slot].menu;
      const auto entry = random_.below(menu.ranked.size());
      if (!free.take(menu.ranked[entry].configuration, placement)) return false;
      answer.starts.push_back({.job = slot, .entry = static_cast<int>(entry), .placement = placement, .shares = shares});
      started_.push_back(slot);
      return true;
    });
    if (!waiting_.empty() || !started_.empty()) answer.wake_at_s = view.now_s + 3;
  }

 private:
  Random random_;
  const Auditor& auditor_;
  int left_ = 25;
  std::vector<JobSlot> waiting_, started_;
};

}  // namespace

TEST_CASE("under failures, maintenance, preemptions and resizes the books of an outsider balance") {
  int interrupted = 0, revoked = 0, together = 0;
  rc::prop("conservation", [&](std::uint64_t seed) {
    Random random(seed);
    World world = random_world(random);
    Auditor auditor;
    world.recorder = &auditor;
    const std::vector<Job> jobs = random_jobs(random);
    Chaos queue(seed + 1, auditor);
    const ReplayTotals totals = world.run(jobs, queue);
    interrupted += auditor.interrupted;
    revoked += auditor.revoked;
    together += auditor.together;
    check_books(auditor, world, jobs, totals);
  });
  CHECK(revoked > 50);
  CHECK(interrupted > 50);  // the property was about something
  CHECK(together > 50);
}
