// Tasks of a sweep on other machines: attempts that were killed, and what their next ones make of them.
#include "experiments/sweep/task_folder.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "experiments/run/process_pool.hpp"
#include "report/comparison.hpp"
#include "sim/io/file.hpp"
#include "tests/scenarios/mistakes.hpp"

namespace {

using namespace rehearse::scenarios;

const std::string kSweptTasks = R"({ "seed": { "sweep": [ 1, 2, 3 ] }, "repetitions": 2,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 1 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 }, { "model": "resnet18", "dataset": "cifar10", "epochs": 2 } ],
  "policies": [ "manual" ] })";

class Tasks {
 public:
  Tasks() : plan(folder.write("s.json", kSweptTasks), {}) {}
  /// A row that no run would make, to see whose it is.
  static std::string made_up(const std::string& key) {
    return to_line({.key = key, .status = RunStatus::failed, .reason = "made up", .metrics = {}});
  }
  static std::map<std::string, RunStatus> statuses(const std::vector<SweepRow>& rows) {
    std::map<std::string, RunStatus> statuses;
    for (const SweepRow& row : rows) {
      CHECK(statuses.emplace(row.key, row.status).second);
      if (row.status == RunStatus::ok) CHECK(row.metrics.size() == rehearse::report::metric_fields().size());
    }
    return statuses;
  }
  bool run(int task) const {
    const HeldInterrupts interrupts;
    return run_task(plan, tasks.path(), task, 1);
  }
  TemporaryFolder folder;
  SweepPlan plan;
  TaskFolder tasks{folder.path() + "/s.tasks"};
};

TEST_CASE("runs are shared out over tasks, each once") {
  Tasks t;
  const std::vector<PlannedRun> runs = t.plan.runs();
  CHECK(t.tasks.write(runs, 4) == 3);  // six runs: two each
  CHECK_FALSE(t.tasks.is_whole());
  CHECK(t.run(0));
  CHECK(Tasks::statuses(t.tasks.collect(false)).size() == 2);
  CHECK(t.tasks.collect(true).empty());  // no row twice
  CHECK(t.run(2));
  CHECK(t.run(1));
  CHECK(t.tasks.is_whole());
  CHECK(t.tasks.collect(false).size() == 4);
  t.tasks.remove();
  CHECK_FALSE(t.tasks.exists());
}

TEST_CASE("an attempt goes on from what earlier ones made, also when the last row is torn") {
  Tasks t;
  const std::vector<PlannedRun> runs = t.plan.runs();
  t.tasks.write(runs, 1);
  t.folder.write("s.tasks/0.n1-17.part", Tasks::made_up(runs[0].key) + Tasks::made_up(runs[1].key).substr(0, 60));
  t.folder.write("s.tasks/0.n2-17.part", Tasks::made_up(runs[3].key) + "\n\x01garbage\n" + Tasks::made_up(runs[0].key));
  t.folder.write("s.tasks/10.n2-18.part", Tasks::made_up(runs[5].key));  // another task's
  t.folder.write("s.tasks/0.n2-19.whole", Tasks::made_up(runs[5].key));  // not whole: it would have another name
  CHECK(t.run(0));
  const auto statuses = Tasks::statuses(t.tasks.collect(false));
  REQUIRE(statuses.size() == 6);
  for (std::size_t r = 0; r < runs.size(); ++r) CHECK((statuses.at(runs[r].key) == RunStatus::failed) == (r == 0 || r == 3));
  // A late attempt of a node that was thought lost finds it done.
  const std::string path = t.tasks.path() + "/0.rows";
  const std::string rows = rehearse::sim::read_file(path, 1 << 20);
  CHECK(t.run(0));
  CHECK(rehearse::sim::read_file(path, 1 << 20) == rows);
}

TEST_CASE("what a task that never ended has made is collected in the end") {
  Tasks t;
  const std::vector<PlannedRun> runs = t.plan.runs();
  t.tasks.write(runs, 2);
  CHECK(t.run(1));
  t.folder.write("s.tasks/0.n1-17.part", Tasks::made_up(runs[0].key) + Tasks::made_up(runs[1].key).substr(0, 60));
  t.folder.write("s.tasks/1.n1-17.part", Tasks::made_up(runs[4].key));  // of a task that has ended: of no interest
  CHECK(t.tasks.collect(false).size() == 3);
  CHECK_FALSE(t.tasks.is_whole());
  const auto rest = Tasks::statuses(t.tasks.collect(true));
  CHECK(rest == std::map<std::string, RunStatus>{{runs[0].key, RunStatus::failed}});
}

TEST_CASE("a task of a scenario that has changed since runs nothing") {
  Tasks t;
  t.tasks.write(t.plan.runs(), 1);
  t.folder.write("s.json", with(kSweptTasks, "\"epochs\": 2", "\"epochs\": 3"));
  const SweepPlan changed(t.folder.path() + "/s.json", {});
  CHECK_THROWS_WITH(run_task(changed, t.tasks.path(), 0, 1), Catch::Contains("expected scenario and program as they were when "));
  CHECK_THROWS_AS(run_task(changed, t.tasks.path(), 7, 1), rehearse::sim::InputError);
}

}  // namespace
