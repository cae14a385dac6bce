// Jobs and worlds of schedules that are worked by hand.
#pragma once

#include <string>
#include <utility>

#include "tests/sim/replay/toy.hpp"

namespace toy {

inline Job with_priority(Job job, double priority) {
  job.priority = priority;
  return job;
}

inline Job with_deadline(Job job, double deadline_s) {
  job.deadline_s = deadline_s;
  return job;
}

inline Job with_walltime(Job job, double walltime_s) {
  job.walltime_s = walltime_s;
  return job;
}

inline World one_node(int gpus) { return World{.cluster = cluster({{1, gpus}})}; }

/// Of an epoch on a GPU of each of two pools: a step of 1 s, an evaluation of 0.25 s.
inline Job on_two_pools(std::string name, double submit_s) {
  static const Profile profile{.model = "toy", .dataset = "tenths"};
  return {.name = std::move(name), .profile = &profile, .submit_s = submit_s, .work = Work::train, .epochs = 1};
}
inline World two_pools(int gpus_of_first) {
  World world{.cluster = cluster({{1, gpus_of_first}, {1, 1}})};
  world.menus.menu.ranked = {choice(0, 1, 50)};
  world.menus.menu.ranked.front().configuration.groups.push_back({.pool = 1, .workers = 1, .batch_per_worker = 50});
  world.menus.menu.ranked.front().predicted.time_s = 1.25;
  world.menus.menu.ranked.front().predicted.epochs = 1;
  return world;
}
inline Job in_pool(Job job, int pool) {
  job.pool = pool;
  return job;
}

}  // namespace toy
