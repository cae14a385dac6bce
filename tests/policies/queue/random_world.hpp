// Random jobs in the toy world for property tests of queues: any users, rigid and training jobs, menus of several pools.
#pragma once

#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "tests/sim/replay/toy.hpp"

namespace toy {

/// A menu for each job, by name.
class MenuOfJob final : public Configurator {
 public:
  std::map<std::string, Menu> menus;
  Menu configure(const Job& job, double) override { return menus.at(job.name); }
};

inline const Profile& toy_profile() {
  static const Profile profile{.model = "toy", .dataset = "tenths"};
  return profile;
}

/// Seconds that `epochs` take in the toy world: ceil(100 / batch) steps of 1 s, ceil(40 / batch) evaluations of 0.25 s.
inline double toy_seconds(const Configuration& c, double epochs) {
  return epochs * (std::ceil(100 / c.batch_size()) + 0.25 * std::ceil(40 / c.batch_size()));
}

/// A choice whose prediction is right but for `error`.
inline Choice predicted_choice(int pool, int workers, int batch, double epochs, double error = 1) {
  Choice c = choice(pool, workers, batch);
  c.predicted.time_s = toy_seconds(c.configuration, epochs) * error;
  c.predicted.epochs = epochs;
  return c;
}

inline Job job_of(std::string user, Job job) {
  job.user = std::move(user);
  return job;
}

struct RandomJobs {
  Cluster machines;
  std::vector<Job> jobs;
  MenuOfJob menus;
};

struct RandomJobsOptions {
  int jobs = 30;
  int pools = 3;
  bool only_rigid = false;
  bool mixed_menus = false;  ///< with entries of two pools, and with some that are expected to break limits
};

inline RandomJobs random_jobs(std::uint64_t seed, const RandomJobsOptions& options = {}) {
  rehearse::sim::Random random(seed);
  const auto below = [&random](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
  RandomJobs made;
  std::vector<std::pair<int, int>> pools;
  for (int p = 1 + below(options.pools); p > 0; --p) pools.emplace_back(1 + below(3), 1 + below(4));
  made.machines = cluster(pools);
  double submit_s = 0;
  for (int i = 0; i < options.jobs; ++i) {
    submit_s += below(3) == 0 ? 0 : std::round(random.exponential(4) * 4) / 4;
    Job job = rigid(std::to_string(i), submit_s, 1 + below(6), 1 + below(40));
    job.user = std::string(1, static_cast<char>('a' + below(5)));
    job.priority = below(3);
    if (below(3) == 0) job.deadline_s = 20 + below(100);
    if (options.only_rigid || below(2) == 0) {
      job.pool = below(static_cast<int>(pools.size()));
    } else {
      job.profile = &toy_profile();
      job.work = Work::train;
      job.epochs = 1 + below(6);
      Menu& menu = made.menus.menus[job.name];
      for (int e = 1 + below(5); e > 0; --e) {
        const int pool = below(static_cast<int>(pools.size()));
        const auto [nodes, gpus] = pools[static_cast<std::size_t>(pool)];
        menu.ranked.push_back(
            predicted_choice(pool, 1 + below(nodes * gpus + 1), 5 + below(40), job.epochs, random.uniform(0.5, 2)));
        if (below(8) == 0) menu.ranked.back().predicted.time_s = kUnset;
        if (!options.mixed_menus) continue;
        menu.ranked.back().predicted.feasible = below(2) == 0;
        if (below(3) == 0 && made.machines.pools.size() > 1) {
          const int other = (pool + 1) % static_cast<int>(pools.size());
          menu.ranked.back().configuration.groups.push_back({.pool = other, .workers = 1, .batch_per_worker = 5 + below(40)});
        }
      }
    }
    made.jobs.push_back(job);
  }
  return made;
}

/// Runs them; the replay validates every answer and checks that money, energy and states balance.
inline ReplayTotals run_random(RandomJobs& made, Queue& queue, Keeper* keeper = nullptr, double checkpoint_s = 2) {
  World world{.cluster = made.machines, .costs = {.start_s = 3, .checkpoint_s = checkpoint_s}};
  if (keeper != nullptr) world.recorder = keeper;
  const ReplayTotals totals = world.run(made.jobs, queue, &made.menus);
  rehearse::sim::check(totals.finished + totals.failed == made.jobs.size(), "every job ends");
  return totals;
}

}  // namespace toy
