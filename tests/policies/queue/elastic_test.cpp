#include "policies/queue/elastic.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using rehearse::policies::Elastic;
using rehearse::policies::elastic_allocation;
using rehearse::policies::ElasticChoice;
using rehearse::policies::ElasticGain;
using rehearse::policies::ElasticJob;

namespace {

/// Choices of pool 0, by (devices, seconds).
ElasticJob job_of(std::vector<std::pair<int, double>> choices, int current = -1) {
  ElasticJob job{.current = current};
  for (const auto& [devices, seconds] : choices)
    job.choices.push_back({.entry = static_cast<int>(job.choices.size()), .devices = devices, .remaining_s = seconds});
  return job;
}

ElasticJob random_job(Random& random, int pools) {
  ElasticJob job;
  for (std::uint64_t c = random.below(6); c > 0; --c)
    job.choices.push_back({.entry = static_cast<int>(c),
                           .pool = static_cast<int>(random.below(static_cast<std::uint64_t>(pools))),
                           .devices = 1 + static_cast<int>(random.below(5)),
                           .remaining_s = random.uniform(1, 100)});
  return job;
}

Job training(std::string name, double submit_s, double epochs) {
  return {.name = std::move(name), .profile = &toy_profile(), .submit_s = submit_s, .work = Work::train, .epochs = epochs};
}

}  // namespace

TEST_CASE("elastic: marginal gains, worked by hand") {
  // Each begins with 1. A second device saves a 40 s, b 50 s; b's third and fourth together 25 s, a's 20 s.
  const std::vector<ElasticJob> jobs{job_of({{1, 100}, {2, 60}, {4, 40}}), job_of({{1, 100}, {2, 50}, {4, 25}})};
  const auto given = [&](int devices) { return elastic_allocation(jobs, {devices}, ElasticGain::seconds, 0); };
  CHECK(given(1) == std::vector<int>{0, -1});
  CHECK(given(3) == std::vector<int>{0, 1});
  CHECK(given(5) == std::vector<int>{1, 1});
  CHECK(given(6) == std::vector<int>{1, 2});
  CHECK(given(8) == std::vector<int>{2, 2});
}

TEST_CASE("elastic: seconds favour long jobs, speed-ups do not") {
  // The third device saves the first job 100 of 1000 s, the second one 40 of 100 s.
  const std::vector<ElasticJob> jobs{job_of({{1, 1000}, {2, 900}}), job_of({{1, 100}, {2, 60}})};
  CHECK(elastic_allocation(jobs, {3}, ElasticGain::seconds, 0) == std::vector<int>{1, 0});
  CHECK(elastic_allocation(jobs, {3}, ElasticGain::speedup, 0) == std::vector<int>{0, 1});
}

TEST_CASE("elastic: a smaller power of speed-ups leaves more to who is well off") {
  // Four devices; with its part of two the slow job takes 62 s, the quick one 40. Each begins with one, and the quick one's
  // second comes first. For the fourth the mean of 1/speedup falls by 100/62 - 1 = 0.61 or 1 - 20/40 = 0.5, that of its root by
  // 1.270 - 1 = 0.270 or 1 - 0.707 = 0.293.
  const std::vector<ElasticJob> jobs{job_of({{1, 100}, {2, 62}}), job_of({{1, 100}, {2, 40}, {3, 20}})};
  CHECK(elastic_allocation(jobs, {4}, ElasticGain::speedup, 0) == std::vector<int>{1, 1});
  CHECK(elastic_allocation(jobs, {4}, ElasticGain::speedup, 0, 0.5) == std::vector<int>{0, 2});
}

TEST_CASE("elastic: who gains little stays, who must makes room") {
  // Alone, the job would save 10 s by 4 devices instead of 2.
  const ElasticJob runs = job_of({{1, 80}, {2, 50}, {4, 40}}, 1);
  CHECK(elastic_allocation({runs}, {4}, ElasticGain::seconds, 9) == std::vector<int>{2});
  CHECK(elastic_allocation({runs}, {4}, ElasticGain::seconds, 11) == std::vector<int>{1});
  // Two more jobs want one device each; they save more than it loses, but they only need to fit.
  const ElasticJob large = job_of({{1, 80}, {4, 40}}, 1), small = job_of({{1, 20}});
  CHECK(elastic_allocation({large, small, small}, {4}, ElasticGain::seconds, 1000) == std::vector<int>{0, 0, 0});
}

TEST_CASE("elastic: optimal where gains diminish") {
  rc::prop("sum of remaining seconds against all allocations of one pool", [](std::uint64_t seed) {
    Random random(seed);
    std::vector<ElasticJob> jobs;
    const int capacity = 3 + static_cast<int>(random.below(5));
    for (int j = 0; j < 3; ++j) {
      ElasticJob job;
      double seconds = 1000, saves = random.uniform(10, 300);
      for (int devices = 1; devices <= 6; ++devices) {
        job.choices.push_back({.entry = devices, .devices = devices, .remaining_s = seconds});
        seconds -= saves;
        saves *= random.uniform(0.2, 0.9);
        if (seconds < 1) break;
      }
      jobs.push_back(job);
    }
    const std::vector<int> chosen = elastic_allocation(jobs, {capacity}, ElasticGain::seconds, 0);
    double found = 0, best = 1e9;
    for (std::size_t j = 0; j < 3; ++j) found += jobs[j].choices[static_cast<std::size_t>(chosen[j])].remaining_s;
    for (const ElasticChoice& a : jobs[0].choices)
      for (const ElasticChoice& b : jobs[1].choices)
        for (const ElasticChoice& c : jobs[2].choices)
          if (a.devices + b.devices + c.devices <= capacity) best = std::min(best, a.remaining_s + b.remaining_s + c.remaining_s);
    RC_ASSERT(found == Approx(best));
  });
}

namespace {

/// One pool, gains in seconds, nobody runs: after every change all changes that were not refused since the job's last one are
/// looked through.
std::vector<int> one_by_one(const std::vector<ElasticJob>& jobs, int capacity) {
  std::vector<int> chosen(jobs.size(), -1);
  int left = capacity;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::vector<ElasticChoice>& choices = jobs[j].choices;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      const bool better = chosen[j] < 0 || choices[c].devices < choices[static_cast<std::size_t>(chosen[j])].devices ||
                          (choices[c].devices == choices[static_cast<std::size_t>(chosen[j])].devices &&
                           choices[c].remaining_s < choices[static_cast<std::size_t>(chosen[j])].remaining_s);
      if (choices[c].devices <= left && better) chosen[j] = static_cast<int>(c);
    }
    if (chosen[j] < 0 && !choices.empty()) break;  // nobody overtakes
    if (chosen[j] >= 0) left -= choices[static_cast<std::size_t>(chosen[j])].devices;
  }
  std::vector<std::set<std::size_t>> refused(jobs.size());
  while (true) {
    double best = 0;
    std::size_t job = jobs.size(), to = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (chosen[j] < 0) continue;
      const ElasticChoice& now = jobs[j].choices[static_cast<std::size_t>(chosen[j])];
      for (std::size_t c = 0; c < jobs[j].choices.size(); ++c) {
        const ElasticChoice& next = jobs[j].choices[c];
        const double more = static_cast<double>(next.devices) / capacity - static_cast<double>(now.devices) / capacity;
        const double gain = (now.remaining_s - next.remaining_s) / std::max(1e-9, more);
        if (gain <= best || refused[j].contains(c)) continue;
        best = gain;
        job = j;
        to = c;
      }
    }
    if (job == jobs.size()) return chosen;
    const int more = jobs[job].choices[to].devices - jobs[job].choices[static_cast<std::size_t>(chosen[job])].devices;
    if (more > left) {
      refused[job].insert(to);
      continue;
    }
    left -= more;
    chosen[job] = static_cast<int>(to);
    refused[job].clear();
  }
}

}  // namespace

TEST_CASE("elastic: as if every change were looked at in turn") {
  rc::prop("one pool, any choices", [](std::uint64_t seed) {
    Random random(seed);
    std::vector<ElasticJob> jobs;
    for (std::uint64_t j = 1 + random.below(12); j > 0; --j) jobs.push_back(random_job(random, 1));
    const int capacity = 1 + static_cast<int>(random.below(30));
    RC_ASSERT(elastic_allocation(jobs, {capacity}, ElasticGain::seconds, 0) == one_by_one(jobs, capacity));
  });
}

TEST_CASE("elastic: feasible, nobody who runs is stopped, nobody is worse off than need be") {
  rc::prop("any choices, several pools", [](std::uint64_t seed, bool speedup) {
    Random random(seed);
    const std::vector<int> capacity{5, 7, 3};
    std::vector<int> held(3), used(3);
    std::vector<ElasticJob> jobs;
    for (int j = 0; j < 8; ++j) {
      jobs.push_back(random_job(random, 3));
      if (j >= 4 || jobs.back().choices.empty()) continue;
      const ElasticChoice& first = jobs.back().choices.front();
      int& of_pool = held[static_cast<std::size_t>(first.pool)];
      if (of_pool + first.devices > capacity[static_cast<std::size_t>(first.pool)]) continue;
      of_pool += first.devices;
      jobs.back().current = 0;
    }
    std::stable_partition(jobs.begin(), jobs.end(), [](const ElasticJob& job) { return job.current >= 0; });
    const auto gain = speedup ? ElasticGain::speedup : ElasticGain::seconds;
    const std::vector<int> chosen = elastic_allocation(jobs, capacity, gain, random.uniform(0, 20));
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      RC_ASSERT(jobs[j].current < 0 || chosen[j] >= 0);
      if (chosen[j] < 0) continue;
      const ElasticChoice& choice = jobs[j].choices[static_cast<std::size_t>(chosen[j])];
      used[static_cast<std::size_t>(choice.pool)] += choice.devices;
    }
    for (std::size_t p = 0; p < 3; ++p) RC_ASSERT(used[p] <= capacity[p]);
  });
}

TEST_CASE("goodput: jobs shrink for others and grow again") {
  // Four GPUs; an epoch takes 4.5, 2.25 or 1.25 s on 1, 2 or 4 workers of 25 samples; 8 epochs. Rounds each 5 s. a has all at 0
  // and has done 4 epochs at 5, when b joins: 2 each (a second device saves 9 and 18 s, a third and fourth less). a does the
  // other 4 in 9 s and ends at 14. At 15 b has run 10 of 18 s: four would take 4.4 s instead of 8. It has done 4 epochs and
  // 1/2.25 of one: 1.25/2.25 + 0.25 + 3 x 1.25 s. When that must save 40 s it stays: 5 + 18.
  for (const auto& [gain, switch_s, end_s] : {std::tuple{ElasticGain::speedup, 0.0, 15 + 1.25 / 2.25 + 4},
                                              {ElasticGain::seconds, 0.0, 15 + 1.25 / 2.25 + 4},
                                              {ElasticGain::speedup, 40.0, 23.0}}) {
    World world{.cluster = cluster({{1, 4}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
    world.menus.menu.ranked = {predicted_choice(0, 1, 25, 8), predicted_choice(0, 2, 25, 8), predicted_choice(0, 4, 25, 8)};
    Elastic queue({.gain = gain, .round_s = 5, .switch_s = switch_s});
    world.run({training("a", 0, 8), training("b", 2, 8)}, queue);
    CHECK(world.keeper.of("a").end_s == Approx(14));
    CHECK(world.keeper.of("b").start_s == 5);
    CHECK(world.keeper.of("b").end_s == Approx(end_s));
    CHECK(world.keeper.of("a").preemptions == 0);
  }
}

TEST_CASE("goodput: a job shrinks to the first of its choices") {
  // Two GPUs; an epoch takes 4.5 s on one and 2.25 on both; 8 epochs. Rounds each 4.5 s. a has both at 0 and has done 2 epochs
  // when b joins; the other 6 take it 27 s on one: 31.5. b has done 6 by then, and the last 2 take 4.5 s on both: 36.
  World world{.cluster = cluster({{1, 2}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  world.menus.menu.ranked = {predicted_choice(0, 1, 25, 8), predicted_choice(0, 2, 25, 8)};
  Elastic queue({.round_s = 4.5, .switch_s = 0});
  world.run({training("a", 0, 8), training("b", 2, 8)}, queue);
  CHECK(world.keeper.of("b").start_s == 4.5);
  CHECK(world.keeper.of("a").end_s == Approx(31.5));
  CHECK(world.keeper.of("b").end_s == Approx(36));
}

TEST_CASE("elastic: devices that come free between rounds are filled") {
  // 8 epochs of 4.5 s on the one GPU: a ends at 36, where b follows, and does not wait for the round at 60.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  world.menus.menu.ranked = {predicted_choice(0, 1, 25, 8)};
  Elastic queue({.round_s = 60});
  world.run({training("a", 0, 8), training("b", 1, 8)}, queue);
  CHECK(world.keeper.of("a").end_s == Approx(36));
  CHECK(world.keeper.of("b").start_s == world.keeper.of("a").end_s);
}

TEST_CASE("elastic queues: every answer is valid, and every job ends") {
  rc::prop("any jobs, rounds of any length", [](std::uint64_t seed, bool speedup) {
    RandomJobs made = random_jobs(seed, {.mixed_menus = *rc::gen::arbitrary<bool>()});
    Elastic queue({.gain = speedup ? ElasticGain::speedup : ElasticGain::seconds,
                   .round_s = static_cast<double>(*rc::gen::inRange(6, 60)),
                   .switch_s = static_cast<double>(*rc::gen::inRange(0, 40))});
    run_random(made, queue);
  });
}
