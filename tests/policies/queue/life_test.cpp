// Every discipline, while nodes fail, go into maintenance and are taken away: its answers are valid, and the books balance.
#include <catch2/catch.hpp>
#include <map>

#include "policies/registry/registry.hpp"
#include "tests/sim/replay/auditor.hpp"

using namespace rehearse::policies;
using namespace toy;

namespace {

/// Rounds, leases and levels as short as the jobs are, so that disciplines preempt and resize.
std::unique_ptr<Queue> restless(const QueueEntry& entry, Random& random) {
  std::map<std::string, ParameterValue> given;
  for (const ParameterDeclaration& parameter : entry.parameters) {
    if (parameter.name == "threshold_device_s") given[parameter.name] = 3.0;
    if (parameter.name == "round_s" || parameter.name == "lease_s") given[parameter.name] = random.uniform(10, 30);
    if (parameter.name == "placement") given[parameter.name] = parameter.choices[random.below(parameter.choices.size())];
  }
  return entry.make(Parameters(entry.parameters, given));
}

/// Another menu at each question: of an arriving job, at the ends of stages, after pauses, and of who has lost its devices.
class MenusAtRandom final : public Configurator {
 public:
  explicit MenusAtRandom(std::uint64_t seed) : random_(seed) {}
  Menu configure(const Job& job, double) override { return answer(job, 0); }
  Menu configure_again(const Job& job, std::span<const StageSeen> seen, double) override {
    return answer(job, seen.back().epochs);
  }

 private:
  Menu answer(const Job& job, double epochs) {
    Menu menu{.asks_when_lost = random_.below(4) > 0};
    for (std::uint64_t entries = 1 + random_.below(4); entries > 0; --entries) {
      menu.ranked.push_back(choice(static_cast<int>(random_.below(2)), 1 + static_cast<int>(random_.below(4)), 10));
      menu.ranked.back().predicted.time_s = random_.uniform(1, 30);
    }
    const double stage = 1 + static_cast<double>(random_.below(3));
    if (job.work == Work::train)
      for (Choice& one : menu.ranked) one.until_epochs = epochs + stage;
    if (random_.below(5) == 0) menu.pause.wait_s = random_.uniform(0.1, 30);
    return menu;
  }
  Random random_;
};

}  // namespace

TEST_CASE("under every discipline and whatever happens to nodes, the books of an outsider balance") {
  rc::prop("all disciplines", [](std::uint64_t seed) {
    for (const QueueEntry& entry : queue_strategies()) {
      Random random(seed);
      World world = random_world(random);
      world.checkpoints.preemption = Preemption::resume;  // else rounds may take from jobs all that they train
      for (Choice& choice : world.menus.menu.ranked) choice.predicted.time_s = random.uniform(1, 30);
      Auditor auditor;
      world.recorder = &auditor;
      std::vector<Job> jobs = random_jobs(random);
      for (Job& job : jobs) {
        job.user = random.below(2) == 0 ? "a" : "b";
        job.priority = static_cast<double>(random.below(4));
      }
      try {
        const ReplayTotals totals = world.run(jobs, *restless(entry, random));
        check_books(auditor, world, jobs, totals);
      } catch (const std::exception& error) {
        throw std::runtime_error(entry.name + ": " + error.what());
      }
    }
  });
}

TEST_CASE("under every discipline, jobs that come back with another menu run what it says") {
  rc::prop("all disciplines", [](std::uint64_t seed) {
    for (const QueueEntry& entry : queue_strategies()) {
      Random random(seed);
      World world = random_world(random);
      world.checkpoints.preemption = Preemption::resume;
      Auditor auditor;
      world.recorder = &auditor;
      std::vector<Job> jobs = random_jobs(random);
      for (Job& job : jobs) job.gpu_fraction = 1;
      MenusAtRandom menus(seed);
      try {
        const ReplayTotals totals = world.run(jobs, *restless(entry, random), &menus);
        check_books(auditor, world, jobs, totals);
      } catch (const std::exception& error) {
        throw std::runtime_error(entry.name + ": " + error.what());
      }
    }
  });
}
