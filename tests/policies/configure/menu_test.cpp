#include "policies/configure/menu.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.hpp"
#include "tests/workloads/real_world.hpp"

using namespace rehearse::policies;
namespace sim = rehearse::sim;
using rehearse::tests::configuration;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

/// The number of workers serves as the choice's name.
sim::Choice predicted(int name, double time_s, double cost_usd, double accuracy = sim::kUnset, bool possible = true) {
  sim::Choice choice{.configuration = configuration(0, name, 1)};
  choice.predicted = {.time_s = time_s, .accuracy = accuracy, .cost_usd = cost_usd, .feasible = possible};
  return choice;
}

std::vector<int> order(const sim::Menu& menu) {
  std::vector<int> names;
  for (const sim::Choice& choice : menu.ranked) names.push_back(choice.configuration.workers());
  return names;
}

sim::Job limited(double deadline_s, double target, sim::Objective objective = sim::Objective::min_cost) {
  return {.name = "j", .work = sim::Work::train, .target_accuracy = target, .deadline_s = deadline_s, .objective = objective};
}

/// Of a limit of 100 s and 0.8: 1, 2 and 3 keep both; 4 is late by a half, 5 misses a quarter of the floor, 6 both.
std::vector<sim::Choice> six() {
  return {predicted(1, 100, 5, 0.85), predicted(2, 50, 6, 0.80), predicted(3, 80, 4, 0.81),
          predicted(4, 150, 1, 0.9),  predicted(5, 90, 2, 0.6),  predicted(6, 150, 0.5, 0.6)};
}

}  // namespace

TEST_CASE("feasible choices first, by the objective; then the least violation", "[menu]") {
  // Violations: 4: 150 / 100 - 1 = 0.5; 5: 0.2 / 0.8 = 0.25; 6: 0.75.
  CHECK(order(rank(limited(100, 0.8), six())) == std::vector<int>{3, 1, 2, 5, 4, 6});
  CHECK(order(rank(limited(100, 0.8, sim::Objective::min_time), six())) == std::vector<int>{2, 3, 1, 5, 4, 6});
  CHECK(order(rank(limited(100, 0.8, sim::Objective::max_accuracy), six())) == std::vector<int>{1, 3, 2, 5, 4, 6});
  const sim::Menu menu = rank(limited(100, 0.8), six());
  CHECK(menu.feasible);
  CHECK(menu.remedy.empty());
  for (int i = 0; i < 6; ++i) CHECK(menu.ranked[static_cast<std::size_t>(i)].predicted.feasible == (i < 3));
}

TEST_CASE("equal choices: the cheaper, then the earlier", "[menu]") {
  const sim::Job fast = limited(100, sim::kUnset, sim::Objective::min_time);
  CHECK(order(rank(fast, {predicted(1, 50, 7), predicted(2, 50, 6), predicted(3, 50, 6)})) == std::vector<int>{2, 3, 1});
}

TEST_CASE("what is unknown or impossible keeps no limit and comes last", "[menu]") {
  const sim::Job both = limited(100, 0.8);
  // 1 says nothing of time, 2 nothing of accuracy, 3 cannot run though its numbers look good, 4 is late by far.
  const sim::Menu menu = rank(both, {predicted(1, sim::kUnset, 1, 0.9), predicted(2, 50, 1), predicted(3, 50, 1, 0.9, false),
                                     predicted(4, 900, 1, 0.9), predicted(5, 90, 9, 0.9)});
  CHECK(order(menu) == std::vector<int>{5, 3, 4, 1, 2});
  CHECK(keeps_limits(both, predicted(0, 100, 1, 0.8).predicted));
  CHECK_FALSE(keeps_limits(both, predicted(0, 100.1, 1, 0.8).predicted));
  CHECK_FALSE(keeps_limits(both, predicted(0, sim::kUnset, 1, 0.8).predicted));
  CHECK_FALSE(keeps_limits(both, predicted(0, 100, 1).predicted));
  CHECK(keeps_limits(limited(sim::kNever, sim::kUnset), {}));
}

TEST_CASE("an infeasible job is told what would do", "[menu]") {
  // Accurate enough: 200 s and 150.2 s. In time: 0.7006 at best, which is no 0.701.
  const sim::Menu menu =
      rank(limited(100, 0.8), {predicted(1, 200, 1, 0.9), predicted(2, 150.2, 1, 0.8), predicted(3, 90, 1, 0.7006)});
  CHECK_FALSE(menu.feasible);
  CHECK(menu.remedy == "infeasible: a deadline of 151 s would do, or an accuracy floor of 0.700 would do");
  CHECK(rank(limited(100, sim::kUnset), {predicted(1, 200, 1)}).remedy == "infeasible: a deadline of 200 s would do");
  CHECK(rank(limited(sim::kNever, 0.8), {predicted(1, 200, 1, 0.5)}).remedy == "infeasible: an accuracy floor of 0.500 would do");
  CHECK(rank(limited(100, 0.8), {}).remedy == "infeasible: nothing fits");
  CHECK(rank(limited(100, 0.8), {predicted(1, 200, 1, 0.5)}).remedy ==
        "infeasible: no single other limit would do for these configurations");
}

TEST_CASE("a limit on money holds beside the others, against what is safe", "[menu]") {
  // Of six(): 3 costs 4, 1 costs 5, 2 costs 6 dollars; within 5 dollars 1 and 3 are left. 2 exceeds by 6/5 - 1 = 0.2, less than
  // 5's missing accuracy of 0.25.
  sim::Job job = limited(100, 0.8, sim::Objective::min_time);
  job.cost_limit_usd = 5;
  CHECK(order(rank(job, six())) == std::vector<int>{3, 1, 2, 5, 4, 6});
  job.objective = sim::Objective::max_accuracy;
  CHECK(order(rank(job, six())) == std::vector<int>{1, 3, 2, 5, 4, 6});
  // What the first is sure to cost at most is 5.5 dollars.
  std::vector<sim::Choice> choices = six();
  choices[0].predicted.safe_cost_usd = 5.5;
  CHECK(order(rank(job, choices)) == std::vector<int>{3, 1, 2, 5, 4, 6});
  CHECK(rank(job, choices).ranked[1].predicted.feasible == false);
  job.cost_limit_usd = 3.999;  // 3 would do with 4 dollars; no deadline and no floor would
  CHECK(rank(job, six()).remedy ==
        "infeasible: a deadline of 150 s would do, or an accuracy floor of 0.600 would do, or a cost limit of 4.00 $ would do");
  CHECK_FALSE(keeps_limits(job, predicted(1, 1, sim::kUnset, 0.9).predicted));
}

TEST_CASE("a remedy is one: with it the job is feasible", "[menu]") {
  rc::prop("random choices", [](std::uint64_t seed) {
    sim::Random random(seed);
    std::vector<sim::Choice> choices;
    for (int i = 0; i < 6; ++i) choices.push_back(predicted(i + 1, random.uniform(0, 300), random.uniform(), random.uniform()));
    sim::Job job = limited(100, 0.8);
    if (random.below(2) == 0) job.cost_limit_usd = 0.5;
    const sim::Menu menu = rank(job, choices);
    if (menu.feasible) return;
    double deadline_s = 0, floor = 0, usd = 0;
    const auto feasible = [&](double deadline, double target, double cost_limit) {
      sim::Job other = limited(deadline, target);
      other.cost_limit_usd = cost_limit;
      return rank(other, choices).feasible;
    };
    const auto number_after = [&](std::string_view words, double& value) {
      const auto at = menu.remedy.find(words);
      if (at != std::string::npos) value = std::stod(menu.remedy.substr(at + words.size()));
      return at != std::string::npos;
    };
    if (number_after("a deadline of ", deadline_s)) RC_ASSERT(feasible(deadline_s, 0.8, job.cost_limit_usd));
    if (number_after("an accuracy floor of ", floor)) RC_ASSERT(feasible(100, floor, job.cost_limit_usd));
    if (number_after("a cost limit of ", usd)) RC_ASSERT(feasible(100, 0.8, usd));
  });
}

TEST_CASE("the grid: powers of two of workers and batch, all of which fit", "[menu]") {
  const RealWorld real(real_cluster({{"slow", "k80", 6, 1, 1}, {"fast", "v100", 2, 4, 12}}),
                       {{"resnet50", "imagenet"}, {"resnet18", "cifar10"}});
  rc::prop("any job", [&](std::uint64_t seed) {
    sim::Random random(seed);
    sim::Job job{.name = "j", .profile = &real.profile(random.below(2)), .work = sim::Work::train};
    const double published = real.models.of(*job.profile).publication_batch;
    if (random.below(2) == 0) job.pool = static_cast<int>(random.below(2));
    if (random.below(2) == 0) {
      job.work = sim::Work::steps;
      job.batch_size = 1 + static_cast<double>(random.below(600));
    }
    const sim::Configuration manual = configuration(0, 3, 7);
    const std::vector<sim::Configuration> grid = candidate_configurations(job, real.cluster, *real.belief, manual);
    RC_ASSERT(grid.front() == manual);
    for (std::size_t i = 1; i < grid.size(); ++i) {
      const sim::Configuration& c = grid[i];
      RC_ASSERT(std::count(grid.begin(), grid.end(), c) == 1);
      RC_ASSERT(c.groups.size() == 1u);
      RC_ASSERT(job.pool < 0 || c.groups[0].pool == job.pool);
      RC_ASSERT(std::has_single_bit(static_cast<unsigned>(c.workers())));
      RC_ASSERT(sim::could_ever_fit(real.cluster, c));
      RC_ASSERT(fits_memory(job, real.cluster, *real.belief, c));
      if (job.batch_size > 0) {
        RC_ASSERT(c.batch_size() == job.batch_size);
      } else {  // 2^-5 to 2^5 times the publication's, to whole samples a worker
        bool near_power = false;
        for (int j = -5; j <= 5; ++j)
          near_power = near_power || std::abs(c.batch_size() - published * std::exp2(j)) <= 0.5 * c.workers();
        RC_ASSERT(near_power);
      }
    }
  });
}

TEST_CASE("the grid of one job by hand", "[menu]") {
  const RealWorld real(real_cluster({{"fast", "v100", 3, 1, 3}}), {{"resnet18", "cifar10"}});
  const sim::Job free{.name = "j", .profile = &real.profile(), .work = sim::Work::train};
  // Batch 128 / 32 ... 128 x 32 on 1 or 2 workers (3 is no power of two, 4 are not there), but for 4096 on one: no memory.
  const sim::Configuration manual = configuration(0, 1, 128);
  const int largest = real.models.of(real.profile()).memory.largest_batch(real.cluster.devices[1]);
  REQUIRE((largest >= 2048 && largest < 4096));
  CHECK(candidate_configurations(free, real.cluster, *real.belief, manual).size() == 2 * 11 - 1);
  sim::Job fixed = free;
  fixed.batch_size = 30;  // of epochs it is but the manual one
  CHECK(candidate_configurations(fixed, real.cluster, *real.belief, manual).size() == 2 * 11 - 1);
  fixed.work = sim::Work::steps;
  // 30 on 1 worker, 15 on each of 2.
  const std::vector<sim::Configuration> two{configuration(0, 1, 30), configuration(0, 2, 15)};
  CHECK(candidate_configurations(fixed, real.cluster, *real.belief, two[0]) == two);
  fixed.batch_size = 31;  // cannot be halved
  CHECK(candidate_configurations(fixed, real.cluster, *real.belief, configuration(0, 1, 31)).size() == 1);
  CHECK(split_batch(free, 0, 3, 100).front().batch_size() == 99);
  CHECK(split_batch(free, 0, 8, 3).empty());  // less than half a sample each
  fixed.batch_size = 100;
  CHECK(split_batch(fixed, 0, 3, 100).empty());
}

TEST_CASE("gradient accumulation brings the batches into the menu that memory keeps out", "[menu]") {
  const sim::Cluster cluster = real_cluster({{"fast", "v100", 3, 1, 3}});
  rehearse::workloads::ProfileTable table;
  rehearse::workloads::ProfileModels models;
  for (const int passes : {1, 2}) {
    table.intern("resnet18", "cifar10", sim::Precision::fp32, sim::LrRule::adascale, passes);
    auto inputs = rehearse::tests::profile_inputs("resnet18", "cifar10");
    inputs.max_accumulation = passes;
    models.add(inputs);
  }
  const rehearse::workloads::Belief belief(cluster, models);
  const sim::Job at_once{.name = "j", .profile = &table.profiles()[0], .work = sim::Work::train},
      in_two{.name = "k", .profile = &table.profiles()[1], .work = sim::Work::train};
  CHECK(candidate_configurations(at_once, cluster, belief, configuration(0, 1, 128)).size() == 2 * 11 - 1);
  CHECK(candidate_configurations(in_two, cluster, belief, configuration(0, 1, 128)).size() == 2 * 11);
  // 4096 samples are two passes of 2048: twice its time, but for one update of the weights.
  const auto timed = [&](const sim::Job& job, int batch) {
    const sim::Configuration c = configuration(0, 1, batch);
    return belief.models().step_times->timing(job, c, sim::empty_cluster_layout(cluster, c), std::vector<sim::Plans>(1));
  };
  const sim::StepTiming half = timed(at_once, 2048), whole = timed(in_two, 4096);
  CHECK(!timed(at_once, 4096).fits);
  CHECK(whole.fits);
  CHECK(whole.memory_bytes == half.memory_bytes);
  CHECK(whole.step_s < 2 * half.step_s);
  CHECK(whole.step_s > 1.9 * half.step_s);
  CHECK(whole.forward_s == Approx(2 * half.forward_s));
  CHECK(timed(in_two, 2048).step_s == half.step_s);  // what fits is computed at once
}
