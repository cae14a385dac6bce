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
