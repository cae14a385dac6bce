// `place` in whole runs: what is written, that it is the same however many processes there are, and that steps are timed again.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "experiments/load.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/run/retiming.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

const std::string kScenario = R"({ "name": "placed", "seed": 3, "repetitions": 2,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p2.8xlarge", "nodes": 2 } ] }, "manual": { "workers": 4 },
  "jobs": [ { "job_id": "cnn", "model": "resnet18", "dataset": "cifar10", "epochs": 1 },
            { "job_id": "rnn", "model": "rnnlm", "dataset": "ptb", "epochs": 1 } ],
  "policies": [ "manual", { "name": "heft", "place": { "name": "heft", "alone": true } },
                { "name": "annealing", "place": { "name": "annealing", "evaluations": 20 } } ] })";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("policies with different place on the same jobs") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kScenario), {});
  const auto run = [&](int processes) {
    const std::string out = folder.path() + "/out";
    const report::Summary summary = scenarios::run_scenario(*scenario, {.out = out, .processes = processes});
    REQUIRE(summary.rows.size() == 3);
    for (const auto& row : summary.rows) CHECK(row.ok);
    return text_of(out + "/jobs.csv") + text_of(out + "/decisions.csv") + text_of(out + "/summary.json");
  };
  const std::string first = run(1);
  CHECK(run(3) == first);
  // One row of `place` for each start, none where it is data-parallel.
  CHECK(first.find("\nheft,0,0,cnn,place,0,gpu,4,") != std::string::npos);
  CHECK(first.find("\nheft,0,0,rnn,place,0,gpu,4,") != std::string::npos);
  CHECK(first.find("; no search") != std::string::npos);  // an epoch is too short for one
  CHECK(first.find("\nmanual,0,0,cnn,place") == std::string::npos);
}

TEST_CASE("a step that the reference timer times otherwise fails the run") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kScenario), {});
  const scenarios::HeldInterrupts held;
  const scenarios::ResultsFolder results({.path = folder.path() + "/out"});
  const std::string task = results.make_subfolder("heft-0");
  workloads::TimedReplica timed{.profile = 0, .pool = 0, .gpus = 2, .batch = 32, .time_factor = 1.1};
  const sim::Profile& profile = scenario->profiles.profiles()[0];
  const workloads::ProfileModel& model = scenario->profile_models.of(profile);
  for (std::size_t op = 0; op < model.graph.ops.size(); ++op) timed.device_of_op.push_back(static_cast<int>(op % 2));
  const auto setting = workloads::setting_of(timed, model, scenario->cluster, profile.precision);
  timed.makespan = time_replica(setting, timed.device_of_op, sim::make_fast_timer).makespan;
  CHECK(scenarios::to_text(scenarios::timed_replica(scenarios::to_text(timed))) == scenarios::to_text(timed));
  const std::vector<scenarios::RunTask> tasks{{.folder = task}};
  scenarios::write_timed_replicas(task, {timed});
  CHECK_NOTHROW(time_again(*scenario, tasks, 2, results));
  REQUIRE(timed.makespan < 500'000'000);  // half a second: one tick more is above 1e-9 of it
  ++timed.makespan;
  scenarios::write_timed_replicas(task, {timed});
  CHECK_THROWS_AS(time_again(*scenario, tasks, 2, results), sim::CheckFailed);
}
