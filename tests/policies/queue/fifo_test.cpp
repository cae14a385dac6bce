#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "policies/queue/line_orders.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "tests/sim/replay/toy.hpp"

using namespace rehearse::sim;
using rehearse::policies::Fifo;

namespace {

struct Ran {
  int pool, gpus;
  double start_s, end_s;
};

/// Start dates by the definition: in each line, every job starts at the first date, from its submit date and the start of the
/// one before it on, at which its pool has enough devices free. NaN: never.
std::vector<double> naive_starts(const std::vector<Job>& jobs, const std::vector<int>& devices, bool per_pool) {
  std::vector<double> starts;
  std::vector<Ran> ran;
  std::map<int, double> line_s;
  for (const Job& job : jobs) {
    int pool = job.pool;
    for (int p = 0; pool < 0 && p < static_cast<int>(devices.size()); ++p)
      if (devices[static_cast<std::size_t>(p)] >= job.gpus) pool = p;
    if (pool < 0 || devices[static_cast<std::size_t>(pool)] < job.gpus) {
      starts.push_back(kUnset);
      continue;
    }
    const double earliest_s = std::max(on_date_grid(job.submit_s), line_s[per_pool ? pool : 0]);
    const auto fits_at = [&](double date_s) {
      int free = devices[static_cast<std::size_t>(pool)];
      for (const Ran& other : ran)
        if (other.pool == pool && other.end_s > date_s) free -= other.gpus;
      return free >= job.gpus;
    };
    double start_s = fits_at(earliest_s) ? earliest_s : kNever;
    for (const Ran& other : ran)
      if (other.end_s > earliest_s && other.end_s < start_s && fits_at(other.end_s)) start_s = other.end_s;
    starts.push_back(start_s);
    line_s[per_pool ? pool : 0] = start_s;
    ran.push_back({pool, job.gpus, start_s, on_date_grid(start_s + job.duration_s)});
  }
  return starts;
}

std::vector<Job> random_jobs(Random& random, int pools) {
  std::vector<Job> jobs;
  double submit_s = 0;
  for (int i = 0; i < 40; ++i) {
    submit_s += static_cast<double>(random.below(10)) / 4;
    Job job = toy::rigid(std::to_string(i), submit_s, 1 + static_cast<int>(random.below(9)), 0);
    job.duration_s = random.below(2) == 0 ? 1 + static_cast<double>(random.below(12)) : random.uniform(0.01, 12);
    job.pool = static_cast<int>(random.below(static_cast<std::uint64_t>(pools) + 1)) - 1;
    jobs.push_back(job);
  }
  return jobs;
}

void check_against_naive(std::uint64_t seed, const std::vector<std::pair<int, int>>& nodes_and_gpus, bool per_pool) {
  Random random(seed);
  toy::World world{.cluster = toy::cluster(nodes_and_gpus)};
  std::vector<int> devices;
  for (const auto& [nodes, gpus] : nodes_and_gpus) devices.push_back(nodes * gpus);
  const std::vector<Job> jobs = random_jobs(random, static_cast<int>(devices.size()));
  const std::vector<double> expected = naive_starts(jobs, devices, per_pool);
  Fifo fifo({.per_pool = per_pool});
  world.run(jobs, fifo);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobRecord& record = world.keeper.of(jobs[i].name);
    if (expected[i] == expected[i]) {
      RC_ASSERT(record.start_s == expected[i]);
      RC_ASSERT(record.end_s == on_date_grid(expected[i] + jobs[i].duration_s));
    } else {
      RC_ASSERT(record.reason == FailureReason::does_not_fit);
    }
  }
}

}  // namespace

TEST_CASE("fifo starts every job when its definition says", "[fifo]") {
  rc::prop("one pool", [](std::uint64_t seed) { check_against_naive(seed, {{4, 2}}, false); });
  rc::prop("one line over two pools", [](std::uint64_t seed) { check_against_naive(seed, {{3, 2}, {2, 4}}, false); });
  rc::prop("a line a pool", [](std::uint64_t seed) { check_against_naive(seed, {{3, 2}, {2, 4}}, true); });
}

TEST_CASE("jobs that end while they wait leave the line", "[fifo]") {
  // b waits behind a and is stopped by its deadline at 5 s; c, behind b, starts when a ends.
  toy::World world{.cluster = toy::cluster({{1, 2}})};
  Job b = toy::rigid("b", 1, 2, 10);
  b.deadline_s = 4;
  b.on_deadline = OnDeadline::stop;
  Fifo fifo;
  world.run({toy::rigid("a", 0, 1, 8), b, toy::rigid("c", 2, 1, 1)}, fifo);
  CHECK(world.keeper.of("b").reason == FailureReason::deadline_stop);
  CHECK(world.keeper.of("b").end_s == 5);
  CHECK(world.keeper.of("c").start_s == 5);  // no longer behind b: the second GPU was free all the time
}
