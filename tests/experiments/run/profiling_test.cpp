// Past runs made for those who learn: shared by all, or chosen one after the other by one policy.
#include "experiments/run/profiling.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "experiments/load.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

/// Two instances; of the model's three jobs the first has a deadline of 3000 s.
const std::string kProfiledScenario = R"({ "name": "probes", "seed": 3, "history": { "runs": 4 },
  "cluster": { "pools": [ { "name": "a", "instance": "p3.2xlarge", "nodes": 2 }, { "name": "b", "instance": "g4dn.12xlarge", "nodes": 1 },
                          { "name": "c", "instance": "p3.2xlarge", "nodes": 1 } ] },
  "jobs": [ { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.8, "deadline_s": 3000 },
            { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.7, "deadline_s": 1000 },
            { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 2000 } ],
  "policies": [ "manual" ] })";

/// Always the last of the pool; notes what it was shown.
struct LastOfAll final : policies::ProbeChooser {
  std::vector<policies::Probe> taken;
  std::vector<std::size_t> pools, seen;
  std::set<std::uint64_t> keys;
  double deadline_s = 0;
  std::size_t next(const policies::ProbeView& view) override {
    pools.push_back(view.pool.size());
    seen.push_back(view.seen.size());
    keys.insert(view.random_key);
    deadline_s = view.typical.deadline_s;
    taken.push_back(view.pool.back());
    return view.pool.size() - 1;
  }
};

struct Made {
  TemporaryFolder folder;
  std::unique_ptr<scenarios::Scenario> scenario = scenarios::load_scenario(folder.write("s.json", kProfiledScenario), {});
  workloads::Belief belief{scenario->cluster, scenario->profile_models};
  std::unique_ptr<workloads::World> world = std::make_unique<workloads::World>(belief, scenario->world_errors, scenario->seed, 0);

  struct Profiled {
    policies::RunHistory history;
    std::vector<double> cost_usd;
    double wait_s = 0;  ///< of the last job
  };
  /// When all jobs have arrived, a second after the other.
  Profiled profiled(policies::ProbeChooser* chooser, const std::string& policy = "p", const policies::Learning& learning = {}) {
    scenarios::Profiling profiling(*scenario, belief, *world, 0, {.kind = policy, .learning = learning, .chooser = chooser});
    Profiled made;
    double now_s = 0;
    for (const sim::Job& job : scenario->jobs) {
      const policies::PastRuns::Known known = profiling.at_arrival(job, now_s++);
      made.history = *known.history;
      made.wait_s = known.wait_s;
    }
    for (const sim::Profile& profile : scenario->profiles.profiles()) made.cost_usd.push_back(profiling.cost_usd(profile));
    return made;
  }
};

}  // namespace

TEST_CASE("shared runs: as many for each instance, whoever asks") {
  Made made;
  const Made::Profiled shared = made.profiled(nullptr);
  REQUIRE(shared.history.runs().size() == 8);
  CHECK(shared.history.on_instance(made.scenario->profiles.profiles().front(), "p3.2xlarge").size() == 4);
  CHECK(shared.cost_usd[0] > 0);
  CHECK(made.profiled(nullptr, "another").history.runs()[3].time_s == shared.history.runs()[3].time_s);
}

TEST_CASE("who chooses gets as many runs, each once, and pays what they cost") {
  Made made;
  LastOfAll chooser;
  const Made::Profiled own = made.profiled(&chooser);
  const std::vector<policies::PastRun>& runs = own.history.runs();
  REQUIRE(chooser.taken.size() == 8);
  REQUIRE(runs.size() == 8);
  CHECK(chooser.deadline_s == 3000);  // of the first job: the others have not arrived
  CHECK(chooser.keys.size() == 8);
  double cost_usd = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const policies::Probe& probe = chooser.taken[i];
    CHECK(chooser.seen[i] == i);
    CHECK(chooser.pools[i] == chooser.pools[0] - i);
    CHECK(runs[i].instance == probe.instance);
    CHECK(runs[i].workers == probe.run.workers);
    CHECK(runs[i].batch_size == probe.run.batch_size);
    CHECK(runs[i].epochs == probe.epochs);
    CHECK(runs[i].samples == 50'000);
    cost_usd += probe.usd_per_s * (probe.start_s + runs[i].time_s);
  }
  // The money is of the true times, the runs' are as measured: 5 % off each.
  CHECK(own.cost_usd[0] == Approx(cost_usd).epsilon(0.2));
  CHECK(own.cost_usd[0] != made.profiled(nullptr).cost_usd[0]);

  // The same runs measure the same, whoever takes them; another kind of policy draws other numbers.
  LastOfAll again, other;
  CHECK(made.profiled(&again).history.runs()[5].time_s == runs[5].time_s);
  CHECK(made.profiled(&other, "q").history.runs()[5].time_s == runs[5].time_s);
  CHECK(again.keys == chooser.keys);
  CHECK(other.keys != chooser.keys);
}

// With 4 runs of each of two instances wanted and at least 3 worth having, a budget buys 0, 6 or 8 of them.
TEST_CASE("who has a budget buys fewer shared runs, or none, and the same ones") {
  Made made;
  made.scenario->profiling_reuse_jobs = 1000;
  const std::vector<policies::PastRun> all = made.profiled(nullptr).history.runs();
  std::set<std::size_t> counts;
  std::size_t most = 0;
  for (double budget = 1e-6; budget < 1e6; budget *= 1.15) {
    const Made::Profiled bought = made.profiled(nullptr, "p", {.budget = budget});
    const std::size_t count = bought.history.runs().size();
    CHECK((count > 0) == (bought.cost_usd[0] > 0));
    CHECK(count >= most);
    most = count;
    counts.insert(count);
    for (const policies::PastRun& run : bought.history.runs()) CHECK(std::ranges::find(all, run) != all.end());
  }
  CHECK(counts == std::set<std::size_t>{0, 6, 8});
  made.scenario->history.bought = false;  // nothing has to repay itself
  CHECK(made.profiled(nullptr, "p", {.budget = 1e-6}).history.runs().size() == 8);
}

// What it chooses is cheaper than a run of any kind, so that the same money buys more than the three of each instance.
TEST_CASE("who chooses measures until the budget is spent") {
  Made made;
  made.scenario->profiling_reuse_jobs = 1000;
  made.scenario->history.runs = 40;
  std::size_t most = 0;
  std::set<std::size_t> counts;
  for (double budget = 1e-3; budget < 1e3; budget *= 1.15) {
    LastOfAll chooser;
    const Made::Profiled own = made.profiled(&chooser, "p", {.budget = budget});
    const std::size_t count = own.history.runs().size();
    CHECK(count == chooser.taken.size());
    CHECK(count >= most);
    CHECK((count == 0 || count > 6));
    most = count;
    counts.insert(count);
  }
  CHECK(most == 80);
  CHECK(counts.size() > 3);
}

TEST_CASE("profiling pays for whole nodes where jobs do") {
  Made made;
  made.scenario->history.noise = 0;
  made.scenario->costs.billing = sim::Billing::node;
  LastOfAll chooser;
  const Made::Profiled own = made.profiled(&chooser);
  double cost_usd = 0;
  for (const policies::PastRun& run : own.history.runs()) {
    // Nodes of one V100 at 3.06 $ an hour, and of four T4s at 3.912: 30 s to start, and the run.
    const bool t4 = run.instance == "g4dn.12xlarge";
    const double nodes = t4 ? std::ceil(run.workers / 4.0) : run.workers;
    cost_usd += nodes * (t4 ? 3.912 : 3.06) / 3600 * (30 + run.time_s);
  }
  CHECK(own.cost_usd[0] == Approx(cost_usd));
}

TEST_CASE("a probe that is not in the pool is refused; own past runs leave nothing to choose") {
  Made made;
  struct Beyond final : policies::ProbeChooser {
    std::size_t next(const policies::ProbeView& view) override { return view.pool.size(); }
  } beyond;
  CHECK_THROWS_AS(made.profiled(&beyond), sim::CheckFailed);
  made.scenario->history.own = {made.profiled(nullptr).history.runs().front()};
  CHECK(made.profiled(&beyond).history.runs().size() == 1);
  CHECK(made.profiled(&beyond).cost_usd[0] == 0);
}

TEST_CASE("no more is probed than there is") {
  Made made;
  made.scenario->history.runs = 100'000;
  LastOfAll chooser;
  const std::size_t runs = made.profiled(&chooser).history.runs().size();
  CHECK(runs <= chooser.pools.at(0));
  CHECK(chooser.pools.back() == 1);
}

TEST_CASE("earlier production jobs are past runs that nobody has to buy") {
  Made made;
  const Made::Profiled bought = made.profiled(nullptr);
  made.scenario->history.bought = false;
  const Made::Profiled given = made.profiled(nullptr);
  CHECK(bought.cost_usd[0] > 0);
  CHECK(given.cost_usd[0] == 0);
  CHECK(given.history.runs() == bought.history.runs());
}

TEST_CASE("a measurement that is out of memory costs its start-up, and says what does not fit") {
  Made made;
  made.scenario->world_errors.memory_error = 3;  // in some worlds large batches do not fit
  made.scenario->history.runs = 20;
  const sim::Profile& profile = made.scenario->profiles.profiles().front();
  int too_large = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    made.world = std::make_unique<workloads::World>(made.belief, made.scenario->world_errors, seed, 0);
    const Made::Profiled shared = made.profiled(nullptr);
    REQUIRE(shared.history.runs().size() == 40);
    double least_usd = 0;
    std::size_t refused = 0;
    for (const policies::PastRun& run : shared.history.runs()) {
      least_usd += run.workers * (run.instance == "p3.2xlarge" ? 3.06 : 3.912 / 4) / 3600 * made.scenario->costs.start_s;
      if (run.told != policies::Told::out_of_memory) continue;
      ++refused;
      CHECK(run.epochs == 0);
      for (const policies::PastRun& other : shared.history.runs())
        if (other.told == policies::Told::run && other.instance == run.instance)
          CHECK(other.batch_size / other.workers < run.batch_size / run.workers);
    }
    CHECK(shared.cost_usd[0] >= least_usd * (1 - 1e-9));
    // Nobody learns a time from it.
    std::size_t times = 0;
    for (const char* instance : {"p3.2xlarge", "g4dn.12xlarge"}) times += shared.history.on_instance(profile, instance).size();
    CHECK(times + refused == 40);
    too_large += static_cast<int>(refused);
  }
  CHECK(too_large > 0);
}

TEST_CASE("a past run keeps its whole curve") {
  Made made;
  const Made::Profiled shared = made.profiled(nullptr);
  for (const policies::PastRun& run : shared.history.runs()) {
    REQUIRE(run.curve.size() == static_cast<std::size_t>(run.epochs));
    CHECK(run.curve.back() == run.accuracy);
  }
  const std::vector<policies::PastRun> points = policies::points_of_curves(shared.history.runs());
  CHECK(points.size() > shared.history.runs().size());
  CHECK(std::all_of(points.begin(), points.end(), [](const policies::PastRun& point) { return point.group > 0; }));
}

TEST_CASE("active probes: timed steps at once, whole trainings when they have ended") {
  Made made;
  made.scenario->profiling_reuse_jobs = 5000;
  const Made::Profiled active = made.profiled(nullptr, "p", {.probing = policies::Probing::active});
  const auto count = [&](policies::Told told) {
    return std::count_if(active.history.runs().begin(), active.history.runs().end(),
                         [&](const policies::PastRun& run) { return run.told == told; });
  };
  CHECK(count(policies::Told::recipe) == 1);
  CHECK(count(policies::Told::steps) == 0);  // the third job arrives after two seconds: nothing has ended
  CHECK(count(policies::Told::run) == 0);
  CHECK(active.cost_usd[0] > 0);
  CHECK(active.cost_usd[0] < made.profiled(nullptr).cost_usd[0]);
}
