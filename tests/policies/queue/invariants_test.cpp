// What holds of disciplines for all jobs.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <map>

#include "policies/queue/backfill_queue.hpp"
#include "policies/registry/registry.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "tests/policies/queue/plain_conservative.hpp"
#include "tests/policies/queue/random_world.hpp"

using namespace rehearse::policies;
using namespace toy;

namespace {

std::unique_ptr<Queue> made(const QueueEntry& entry, std::map<std::string, ParameterValue> given = {}) {
  return entry.make(Parameters(entry.parameters, given));
}

bool find_parameter(const QueueEntry& entry, const std::string& name) {
  return std::any_of(entry.parameters.begin(), entry.parameters.end(),
                     [&](const ParameterDeclaration& parameter) { return parameter.name == name; });
}

std::vector<Job> random_rigid(Random& random, int count, int most_gpus) {
  std::vector<Job> jobs;
  double submit_s = 0;
  for (int i = 0; i < count; ++i) {
    submit_s += static_cast<double>(random.below(6));
    Job job = rigid(std::to_string(i), submit_s, 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(most_gpus))),
                    random.below(2) == 0 ? 1 + static_cast<double>(random.below(12)) : random.uniform(0.01, 12));
    job.user = random.below(2) == 0 ? "a" : "b";
    job.priority = static_cast<double>(random.below(4));
    if (random.below(2) == 0) job.deadline_s = 1 + static_cast<double>(random.below(60));
    if (random.below(4) == 0 && job.has_deadline()) job.on_deadline = OnDeadline::stop;
    jobs.push_back(job);
  }
  return jobs;
}

double mean_completion_s(World& world, const std::vector<Job>& jobs, Queue& queue) {
  world.run(jobs, queue);
  double sum = 0;
  for (const Job& job : jobs) sum += world.keeper.of(job.name).end_s - job.submit_s;
  return sum / static_cast<double>(jobs.size());
}

/// Passes everything on, and looks at the first of the line after each decision.
template <class Discipline>
class Watched final : public Queue {
 public:
  explicit Watched(const BackfillParameters& parameters) : inner_(parameters) {}
  void decide(const QueueView& view, QueueAnswer& answer) override {
    inner_.decide(view, answer);
    if (answer.heads.empty()) return;
    const double reserved_s = inner_.reserved_start_s(0);
    const std::uint64_t number = view.jobs[answer.heads.front()].number;
    RC_ASSERT(reserved_s > view.now_s);
    if (number == number_) RC_ASSERT(reserved_s <= reserved_s_);
    reserved_of[view.jobs[answer.heads.front()].job.name] = reserved_s;
    number_ = number;
    reserved_s_ = reserved_s;
  }
  std::map<std::string, double> reserved_of;  ///< as it was last

 private:
  Discipline inner_;
  std::uint64_t number_ = ~std::uint64_t{0};
  double reserved_s_ = 0;
};

template <class Discipline>
void check_reservations(std::uint64_t seed) {
  Random random(seed);
  std::vector<Job> jobs = random_rigid(random, 40, 8);
  for (Job& job : jobs) {
    job.deadline_s = kNever;
    job.on_deadline = OnDeadline::continue_;
    job.walltime_s = job.duration_s * (random.below(2) == 0 ? 1 : random.uniform(1, 5));
  }
  World world{.cluster = cluster({{2, 4}})};
  Watched<Discipline> queue({});
  world.run(jobs, queue);
  for (const auto& [name, reserved_s] : queue.reserved_of) RC_ASSERT(world.keeper.of(name).start_s <= reserved_s);
}

/// A random scenario under a discipline: two pools, elastic and rigid jobs, wrong walltimes and predictions, deadlines that stop
/// jobs.
std::vector<std::string> events_under(const QueueEntry& entry, std::uint64_t seed) {
  static const rehearse::sim::Profile profile{.model = "toy", .dataset = "tenths"};
  Random random(seed);
  std::vector<Job> jobs = random_rigid(random, 30, 7);
  for (Job& job : jobs) {
    if (random.below(3) == 0) job.walltime_s = random.uniform(0.5, 20);  // no upper bound
    if (random.below(3) > 0) continue;
    job.work = Work::train;
    job.profile = &profile;
    job.epochs = 1 + static_cast<double>(random.below(6));
  }
  World world{.cluster = cluster({{2, 4}, {3, 2}}),
              .costs = {.start_s = random.below(2) == 0 ? 0.0 : 3.0, .checkpoint_s = random.below(2) == 0 ? 0.0 : 2.0},
              .samples = true};
  for (int e = 0; e < 4; ++e) {
    world.menus.menu.ranked.push_back(choice(static_cast<int>(random.below(2)), 1 + static_cast<int>(random.below(9)), 25));
    if (random.below(2) == 0) world.menus.menu.ranked.back().predicted.time_s = random.uniform(1, 30);
  }
  std::map<std::string, ParameterValue> given;
  const std::size_t placement = random.below(3);
  const bool on_fewest = random.below(4) == 0;
  for (const ParameterDeclaration& parameter : entry.parameters) {
    if (parameter.name == "placement") given["placement"] = parameter.choices[placement];
    for (const char* choice : {"overtaking", "order", "measure"})
      if (parameter.name == choice) given[choice] = parameter.choices[random.below(parameter.choices.size())];
    if (parameter.name == "patience_s" && on_fewest) {
      given["placement"] = std::string("consolidated-strict");
      given["patience_s"] = static_cast<double>(random.below(3));
    }
  }
  if (find_parameter(entry, "threshold_device_s")) {
    given["quantum_device_s"] = 5.0;
    given["threshold_device_s"] = 3.0;
    given["levels"] = 3.0;
    given["gittins"] = random.below(2) == 0;
    given["promote_after"] = static_cast<double>(random.below(3));
  }
  if (entry.name == "easy" || entry.name == "conservative") given["depth"] = 1 + static_cast<double>(random.below(10));
  try {
    const ReplayTotals totals = world.run(jobs, *made(entry, given));
    RC_ASSERT(totals.finished + totals.failed == jobs.size());
  } catch (const std::exception& error) {
    throw std::runtime_error(entry.name + ": " + error.what());
  }
  for (const PoolSample& sample : world.keeper.samples) RC_ASSERT(sample.fragmentation >= 0 && sample.fragmentation <= 1);
  return world.keeper.events;
}

}  // namespace

TEST_CASE("on one device, with exact durations and free preemption, no discipline beats shortest remaining time", "[queue]") {
  rc::prop("", [](std::uint64_t seed) {
    Random random(seed);
    std::vector<Job> jobs = random_rigid(random, 20, 1);
    for (Job& job : jobs) {
      job.duration_s = on_date_grid(job.duration_s);
      job.deadline_s = kNever;
      job.on_deadline = OnDeadline::continue_;
    }
    World best{.cluster = cluster({{1, 1}})};
    const double least_s = mean_completion_s(best, jobs, *made(*find_strategy(queue_strategies(), "srtf")));
    for (const QueueEntry& entry : queue_strategies()) {
      World world{.cluster = cluster({{1, 1}})};
      const double mean_s = mean_completion_s(world, jobs, *made(entry));
      if (mean_s < least_s - 1e-9) RC_FAIL(entry.name + " beats srtf");
    }
  });
}

TEST_CASE("with upper bounds, the reserved start of the first in line never moves later and is kept", "[queue]") {
  rc::prop("EASY", check_reservations<Easy>);
  rc::prop("conservative", check_reservations<Conservative>);
}

TEST_CASE("conservative backfilling is what giving back and looking for every reservation anew would be", "[queue]") {
  rc::prop("", [](std::uint64_t seed) {
    const QueueEntry& entry = *find_strategy(queue_strategies(), "conservative");
    QueueEntry plain = entry;
    plain.make = [](const Parameters& p) -> std::unique_ptr<Queue> {
      const std::string& placement = p.text("placement");
      return std::make_unique<PlainConservative>(BackfillParameters{.depth = static_cast<int>(p.number("depth")),
                                                                    .placement = placement == "best-fit" ? Placement::best_fit
                                                                                 : placement == "spread"
                                                                                     ? Placement::spread
                                                                                     : Placement::consolidated});
    };
    RC_ASSERT(events_under(entry, seed) == events_under(plain, seed));
  });
}

TEST_CASE("the earliest date is the first of all that could be", "[queue]") {
  // Dates are whole numbers: the free devices of each second are listed one by one.
  rc::prop("", [](std::uint64_t seed) {
    Random random(seed);
    constexpr int kEnd = 40;
    const auto below = [&random](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
    Availability available;
    available.reset(0, 4);
    std::vector<int> free(kEnd, 4);
    for (int change = below(20); change > 0; --change) {
      const int from = below(kEnd), to = from + 1 + below(kEnd - from), devices = below(3) - 1;
      available.add(from, to, devices);
      for (int t = from; t < to; ++t) free[static_cast<std::size_t>(t)] += devices;
    }
    const auto free_at = [&](int t) { return t < kEnd ? free[static_cast<std::size_t>(t)] : 4; };
    const int from = below(kEnd), before = below(2 * kEnd), length = 1 + below(8), has_from = from + below(2 * kEnd);
    const int devices = 1 + below(4);
    double expected = kNever;
    for (int start = from; expected == kNever && start < std::min(before, 2 * kEnd); ++start) {
      bool fits = true;
      for (int t = start; t < std::min(start + length, has_from); ++t) fits = fits && free_at(t) >= devices;
      if (fits) expected = start;
    }
    const Availability::Need need{
        .for_s = static_cast<double>(length), .devices = devices, .has_from_s = static_cast<double>(has_from)};
    if (before <= has_from) RC_ASSERT(available.earliest(from, need, before) == expected);
    available.advance(from);
    RC_ASSERT(available.free_now() == free_at(from));
  });
}

TEST_CASE("under ageing no job starves: nobody much younger starts before it", "[queue]") {
  // Priorities 0 to 3 and 0.5 points a second: who comes more than 6 s later never has the larger sum.
  rc::prop("", [](std::uint64_t seed) {
    Random random(seed);
    const std::vector<Job> jobs = random_rigid(random, 60, 4);
    const bool preempt = random.below(2) == 0;
    World world{.cluster = cluster({{2, 4}})};
    world.run(jobs, *made(*find_strategy(queue_strategies(), "priority"), {{"ageing_per_hour", 1800.0}, {"preempt", preempt}}));
    for (const Job& older : jobs)
      for (const Job& younger : jobs) {
        if (younger.submit_s - older.submit_s <= 6) continue;
        const JobRecord& first = world.keeper.of(older.name);
        const JobRecord& second = world.keeper.of(younger.name);
        if (first.start_s == first.start_s && second.start_s == second.start_s) RC_ASSERT(first.start_s <= second.start_s);
      }
  });
}

TEST_CASE("admitted deadlines are kept when durations are exact or upper bounds", "[queue]") {
  const auto check = [](const std::string& durations) {
    return [durations](std::uint64_t seed) {
      Random random(seed);
      const std::vector<Job> jobs = random_rigid(random, 60, 8);
      World world{.cluster = cluster({{2, 4}})};
      world.run(jobs, *made(*find_strategy(queue_strategies(), "deadline-admission"), {{"durations", durations}}));
      for (const Job& job : jobs) {
        const JobRecord& record = world.keeper.of(job.name);
        if (job.has_deadline() && record.reason != FailureReason::rejected)
          RC_ASSERT(record.state == JobState::finished && record.end_s - job.submit_s <= job.deadline_s);
      }
    };
  };
  rc::prop("exact", check("predicted"));
  rc::prop("upper bounds", check("user"));
}

TEST_CASE("every discipline's answers are valid, all jobs end, and the same jobs give the same schedule", "[queue]") {
  rc::prop("", [](std::uint64_t seed) {
    for (const QueueEntry& entry : queue_strategies()) RC_ASSERT(events_under(entry, seed) == events_under(entry, seed));
  });
}

TEST_CASE("disciplines that choose among entries of a menu meet some of two pools, and some that break limits", "[queue]") {
  rc::prop("all jobs end", [](std::uint64_t seed) {
    for (const QueueEntry& entry : queue_strategies()) {
      RandomJobs made_jobs = random_jobs(seed, {.mixed_menus = true});
      try {
        run_random(made_jobs, *made(entry));
      } catch (const std::exception& error) {
        RC_FAIL(entry.name + ": " + error.what());
      }
    }
  });
}

TEST_CASE("the reservation of a waiting job that is stopped at its deadline is given back", "[queue]") {
  // Conservative backfilling kept one that had no end, and the last job waited for ever.
  for (const QueueEntry& entry : queue_strategies()) CHECK_NOTHROW(events_under(entry, 646678));
}

TEST_CASE("two jobs that still need the same, but for rounding, do not take the devices from each other for ever") {
  for (const QueueEntry& entry : queue_strategies()) CHECK_NOTHROW(events_under(entry, 15869778));
}

TEST_CASE("only disciplines that say so stop rigid jobs, and each of them does", "[queue]") {
  for (const QueueEntry& entry : queue_strategies()) {
    INFO(entry.name);
    std::map<std::string, ParameterValue> given;
    for (const ParameterDeclaration& parameter : entry.parameters) {
      if (parameter.name == "round_s" || parameter.name == "lease_s" || parameter.name == "slot_s") given[parameter.name] = 1.0;
      if (parameter.name == "threshold_device_s") given[parameter.name] = 3.0;
    }
    int stopped = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random random(seed);
      World world{.cluster = cluster({{2, 4}})};
      world.run(random_rigid(random, 40, 8), *made(entry, given));
      for (const Keeper::Row& row : world.keeper.jobs) stopped += row.record.preemptions;
    }
    CHECK((stopped > 0) == (entry.preempts != nullptr && entry.preempts(Parameters(entry.parameters, given))));
  }
  const auto asked = [](const char* name, bool preempt) {
    const QueueEntry& entry = *find_strategy(queue_strategies(), name);
    return entry.preempts(Parameters(entry.parameters, {{"preempt", preempt}}));
  };
  for (const char* name : {"priority", "edf", "fair-share", "drf"}) {
    CHECK(asked(name, true));
    CHECK_FALSE(asked(name, false));
  }
}
