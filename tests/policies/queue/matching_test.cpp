#include "policies/queue/matching.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using rehearse::policies::least_completion_sum;
using rehearse::policies::MatchedDevice;
using rehearse::policies::MatchedPlace;
using rehearse::policies::Matching;

namespace {

using Seconds = std::vector<std::vector<double>>;  // by job and pool

/// Of these places.
double completion_sum(const Seconds& seconds, const std::vector<MatchedDevice>& devices,
                      const std::vector<MatchedPlace>& places) {
  double sum = 0;
  for (std::size_t job = 0; job < places.size(); ++job) {
    const MatchedDevice& device = devices[places[job].device];
    sum += device.free_in_s;
    for (std::size_t other = 0; other < places.size(); ++other)
      if (places[other].device == places[job].device && places[other].before <= places[job].before)
        sum += seconds[other][device.pool];
  }
  return sum;
}

/// Of all orders of the jobs and all devices of each.
double least_of_all(const Seconds& seconds, const std::vector<MatchedDevice>& devices) {
  double least = kNever;
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    std::vector<std::size_t> on(order.size(), 0);
    for (bool more = true; more;) {
      std::vector<double> busy_s;
      for (const MatchedDevice& device : devices) busy_s.push_back(device.free_in_s);
      double sum = 0;
      for (const std::size_t job : order) sum += busy_s[on[job]] += seconds[job][devices[on[job]].pool];
      least = std::min(least, sum);
      more = false;
      for (std::size_t& device : on) {  // the next number of as many digits
        if (++device < devices.size()) {
          more = true;
          break;
        }
        device = 0;
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

Job epochs_of(std::string name, double submit_s, double epochs) {
  Job job{.name = std::move(name), .profile = &toy_profile(), .work = Work::train, .epochs = epochs};
  job.submit_s = submit_s;
  return job;
}

}  // namespace

TEST_CASE("matching: places of the least sum of completion times, by hand") {
  // Seconds on pools A and B: 2 and 10, 3 and 4, 6 and 5; a device of each. A: first, second, B: third: 2 + 5 + 5 = 12. First on
  // A, the others on B is 2 + 4 + 9 = 15, first and third on A 2 + 8 + 4 = 14.
  const Seconds seconds{{2, 10}, {3, 4}, {6, 5}};
  const std::vector<MatchedDevice> both_free{{.pool = 0}, {.pool = 1}};
  const std::vector<MatchedPlace> places = least_completion_sum(seconds, both_free);
  CHECK(completion_sum(seconds, both_free, places) == 12);
  CHECK(places[1].before == 1);
  // A free in 4 s: first on A, the others on B: 6 + 4 + 9 = 19; two on A would be 6 + 9 + 5 = 20.
  const std::vector<MatchedDevice> a_later{{.pool = 0, .free_in_s = 4}, {.pool = 1}};
  const std::vector<MatchedPlace> moved = least_completion_sum(seconds, a_later);
  CHECK(completion_sum(seconds, a_later, moved) == 19);
  CHECK(moved[0].device == 0);
  CHECK(moved[2].before == 1);
}

TEST_CASE("matching: no order and no devices have a smaller sum of completion times") {
  rc::prop("least_completion_sum is the least of all", [] {
    const auto pools = *rc::gen::inRange<std::size_t>(1, 4);
    const auto jobs = *rc::gen::inRange<std::size_t>(1, 6);
    std::vector<MatchedDevice> devices;
    for (std::size_t d = *rc::gen::inRange<std::size_t>(1, 4); d > 0; --d)
      devices.push_back({.pool = *rc::gen::inRange<std::size_t>(0, pools), .free_in_s = *rc::gen::inRange(0, 20) / 4.0});
    Seconds seconds;
    for (std::size_t job = 0; job < jobs; ++job) {
      std::vector<double>& of = seconds.emplace_back();
      for (std::size_t pool = 0; pool < pools; ++pool)
        of.push_back(*rc::gen::inRange(0, 5) == 0 ? kNever : *rc::gen::inRange(1, 40));
      of[devices[*rc::gen::inRange<std::size_t>(0, devices.size())].pool] = *rc::gen::inRange(1, 40);
    }
    const std::vector<MatchedPlace> places = least_completion_sum(seconds, devices);
    RC_ASSERT(completion_sum(seconds, devices, places) == least_of_all(seconds, devices));
    // Each place is one job's, and those before it are taken.
    for (std::size_t device = 0; device < devices.size(); ++device) {
      std::vector<int> before;
      for (const MatchedPlace& place : places)
        if (place.device == device) before.push_back(place.before);
      std::sort(before.begin(), before.end());
      for (std::size_t i = 0; i < before.size(); ++i) RC_ASSERT(before[i] == static_cast<int>(i));
    }
  });
}

TEST_CASE("matching: jobs that are there at once are replayed with the least sum of completion times") {
  rc::prop("as the best of all schedules", [] {
    const int jobs = *rc::gen::inRange(1, 6);
    World world{.cluster = cluster({{1, 1}, {1, 2}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
    MenuOfJob menus;
    std::vector<Job> all;
    Seconds seconds;
    for (int i = 0; i < jobs; ++i) {
      const int epochs = *rc::gen::inRange(1, 20);
      const std::string name = std::to_string(i);
      menus.menus[name].ranked = {predicted_choice(0, 1, *rc::gen::element(25, 50, 100), epochs),
                                  predicted_choice(1, 1, *rc::gen::element(25, 50, 100), epochs)};
      seconds.push_back({menus.menus[name].ranked[0].predicted.time_s, menus.menus[name].ranked[1].predicted.time_s});
      all.push_back(epochs_of(name, 0, epochs));
    }
    Matching queue({});
    world.run(all, queue, &menus);
    double sum = 0;
    for (const Job& job : all) sum += world.keeper.of(job.name).end_s;
    RC_ASSERT(std::abs(sum - least_of_all(seconds, {{.pool = 0}, {.pool = 1}, {.pool = 1}})) < 1e-9);
  });
}

TEST_CASE("matching: with free devices alone a job does not wait for a quicker one that is held") {
  // 8 epochs: 10 s in pool 0, 36 s in pool 1. Both jobs in pool 0, one after the other, is 30; apart it is 46. At 5 a third
  // comes. With all devices it is third in pool 0. With pool 1 alone, where nobody is, one of the two that wait goes there,
  // until 41.
  for (const bool plans : {true, false}) {
    World world{.cluster = cluster({{1, 1}, {1, 1}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
    world.menus.menu.ranked = {predicted_choice(0, 1, 100, 8), predicted_choice(1, 1, 25, 8)};
    Matching queue({.plans = plans});
    world.run({epochs_of("x", 0, 8), epochs_of("y", 0, 8), epochs_of("z", 5, 8)}, queue);
    std::vector<double> ends;
    for (const Keeper::Row& row : world.keeper.jobs) ends.push_back(row.record.end_s);
    std::sort(ends.begin(), ends.end());
    CHECK(ends[0] == Approx(10));
    CHECK(ends[1] == Approx(20));
    CHECK(ends[2] == Approx(plans ? 30 : 41));
  }
}

TEST_CASE("matching: a share below 1 lets those who came first be matched alone") {
  // One device, held until 10; a of 5 epochs (6.25 s) and then b of 1 (1.25 s) wait. Of both b comes first; of half of them, a.
  for (const double share : {1.0, 0.5}) {
    World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
    MenuOfJob menus;
    for (const auto& [name, epochs] : std::map<std::string, double>{{"held", 8}, {"a", 5}, {"b", 1}})
      menus.menus[name].ranked = {predicted_choice(0, 1, 100, epochs)};
    Matching queue({.share = share});
    world.run({epochs_of("held", 0, 8), epochs_of("a", 1, 5), epochs_of("b", 2, 1)}, queue, &menus);
    CHECK(world.keeper.of("b").start_s == Approx(share == 1 ? 10 : 16.25));
  }
}

TEST_CASE("matching: a job of several devices waits for all of them, and nobody behind it passes") {
  // Two devices. x has one until 4; at 1 come big (both for 2 s: as long as 4 s on one), b (5 s) and c (6 s). Two of them go to
  // the free device: the least sum, 2 x 4 + 5 + 6 + 3, has big first there. It waits for x, until 4, though a device is free.
  World world{.cluster = cluster({{1, 2}})};
  Matching queue({});
  world.run({rigid("x", 0, 1, 4), rigid("big", 1, 2, 2), rigid("b", 1, 1, 5), rigid("c", 1, 1, 6)}, queue);
  CHECK(world.keeper.of("big").start_s == 4);
  CHECK(world.keeper.of("b").start_s == 6);
  CHECK(world.keeper.of("c").start_s == 6);
}

TEST_CASE("matching: who needs devices of two pools may take the last one of those that were looked at before") {
  // Both pools are held until 2. one, which can run in the first alone, and both, which needs a device of each, wait: both starts
  // when there is room, for a step of 1 s and an evaluation of 0.25 s, and nothing is left for one before it ends.
  World world{.cluster = cluster({{1, 1}, {1, 1}})};
  MenuOfJob menus;
  menus.menus["one"].ranked = {predicted_choice(0, 1, 100, 1)};
  menus.menus["both"].ranked = {predicted_choice(0, 1, 50, 1)};
  menus.menus["both"].ranked.front().configuration.groups.push_back({.pool = 1, .workers = 1, .batch_per_worker = 50});
  std::vector<Job> jobs{rigid("holds first", 0, 1, 2), rigid("holds second", 0, 1, 2), epochs_of("one", 1, 1),
                        epochs_of("both", 1, 1)};
  jobs[0].pool = 0;
  jobs[1].pool = 1;
  Matching queue({.plans = false});
  world.run(jobs, queue, &menus);
  CHECK(world.keeper.of("both").start_s == Approx(2));
  CHECK(world.keeper.of("one").start_s == Approx(3.25));
}
