// Checkpoints, failures, stragglers, maintenance, time limits and dependencies, as the loader reads them.
#include <catch2/catch.hpp>

#include "experiments/load.hpp"
#include "scenarios/read/study_kinds.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using rehearse::scenarios::load_scenario;
namespace sim = rehearse::sim;

/// But for those of pools that no job of a test uses.
std::vector<std::string> others(std::vector<std::string> warnings) {
  std::erase_if(warnings, [](const std::string& text) { return text.starts_with("no job can use the pool"); });
  return warnings;
}

std::string scenario_with(const std::string& keys, const std::string& jobs = R"({ "gpus": 1, "duration_s": 60 })") {
  return "{ " + keys + (keys.empty() ? "" : ",") + R"(
  "cluster": { "pools": [ { "name": "a", "instance": "p3.2xlarge", "nodes": 2 }, { "name": "b/c", "instance": "p3.2xlarge", "nodes": 3 } ] },
  "jobs": [ )" +
         jobs + R"( ],
  "policies": [ "manual" ] })";
}

}  // namespace

TEST_CASE("checkpoints and what happens to nodes") {
  const TemporaryFolder folder;
  folder.write("down.csv", "node,time_s,down_s\na/1,5,10\nb/c/2,0,1\n");
  const auto s = load_scenario(folder.write("s.json", scenario_with(R"(
    "checkpoint": { "interval_s": 600, "write_s": 5, "preemption": "lose" },
    "failures": { "law": "weibull", "shape": 0.7, "mtbf_s": 86400, "repair": "fixed", "repair_s": 60, "file": "down.csv", "max_restarts": 3 },
    "stragglers": { "between_s": 100, "lasts_s": 10, "speed": 0.5 },
    "maintenance": [ { "pool": "b/c", "first_node": 1, "start_s": 50, "duration_s": 5, "announced_s": 1, "every_s": 7 } ])")),
                               {});
  CHECK(s->checkpoints.interval_s == 600);
  CHECK(s->checkpoints.write_s == 5);
  CHECK(s->checkpoints.preemption == sim::Preemption::lose);
  CHECK(s->nodes.outages.law == sim::FailureLaw::weibull);
  CHECK(s->nodes.outages.shape == 0.7);
  CHECK(s->nodes.outages.repair == sim::RepairLaw::fixed);
  CHECK(s->nodes.outages.repair_s == 60);
  CHECK(s->nodes.max_restarts == 3);
  REQUIRE(s->nodes.measured.size() == 2);
  CHECK(s->nodes.measured[0].node == 1);
  CHECK(s->nodes.measured[1].pool == 1);
  CHECK(s->nodes.measured[1].node == 2);
  CHECK(s->nodes.slow.speed == 0.5);
  REQUIRE(s->nodes.maintenance.size() == 1);
  CHECK(s->nodes.maintenance[0].pool == 1);
  CHECK(s->nodes.maintenance[0].nodes == 2);  // all from the first on
  CHECK(s->output.life == rehearse::scenarios::Record::first);
  CHECK(s->sha256_of_file.contains("down.csv"));

  const auto plain = load_scenario(folder.write("s.json", scenario_with("")), {});
  CHECK_FALSE(sim::has_node_events(plain->cluster, plain->nodes));
  CHECK(plain->output.life == rehearse::scenarios::Record::none);
  const auto daly = load_scenario(folder.write("s.json", scenario_with(R"("checkpoint": { "interval": "young-daly" })")), {});
  CHECK(daly->checkpoints.young_daly);
  CHECK(others(daly->warnings).size() == 1);  // no node fails
}

TEST_CASE("time limits and dependencies, in JSON and in CSV") {
  const TemporaryFolder folder;
  folder.write("jobs.csv",
               "job_id,submit_s,gpus,duration_s,walltime_s,checkpoint_interval_s,checkpoint_write_s,after,after_failed\n"
               "x,0,1,60,90,10,1,,\n"
               "y,1,1,60,,,,x; first ,run\n"
               "z,2,1,60,,,,,run\n");
  const auto s = load_scenario(
      folder.write(
          "s.json",
          scenario_with("", R"({ "job_id": "first", "gpus": 1, "duration_s": 60, "walltime_s": 70 }, { "trace": "jobs.csv" },
        { "job_id": "last", "gpus": 1, "duration_s": 60, "after": [ "y" ] })")),
      {});
  const auto of = [&](const std::string& name) -> const sim::Job& {
    for (const sim::Job& job : s->jobs)
      if (job.name == name) return job;
    throw std::out_of_range(name);
  };
  CHECK(of("first").walltime_s == 70);
  CHECK(of("first").is_awaited);
  CHECK(of("x").walltime_s == 90);
  CHECK(of("x").checkpoint_interval_s == 10);
  CHECK(of("x").checkpoint_write_s == 1);
  CHECK(of("y").after == std::vector<std::string>{"x", "first"});
  CHECK(of("y").after_failed == sim::AfterFailed::run);
  CHECK(of("y").is_awaited);
  CHECK_FALSE(of("last").is_awaited);
  CHECK(of("last").after_failed == sim::AfterFailed::fail);
  CHECK(s->inputs[0].dropped.size() == 1);  // z: after_failed of nobody
}

TEST_CASE("jobs that need a part of a GPU, in JSON, in CSV and in another trace; and how they slow each other") {
  const TemporaryFolder folder;
  folder.write("jobs.csv",
               "job_id,submit_s,gpus,gpu_fraction,duration_s,model,epochs\n"
               "a,0,1,0.25,60,,\n"
               "b,1,2,0.5,60,,\n"
               "c,2,,0.5,,alexnet,3\n"
               "d,3,1,,60,,\n");
  folder.write("pods.csv",
               "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
               "p1,6000,12288,1,460,,LS,Running,10,30,20\n"
               "p2,6000,12288,2,1000,,LS,Running,10,30,20\n");
  const auto s = load_scenario(folder.write("s.json", scenario_with(R"("sharing": { "default_slowdown": 1.5, "interference": [
        { "models": [ "resnet50", "alexnet" ], "slowdown": [ 1.25, 2 ] } ] })",
                                                                    R"({ "job_id": "x", "gpu_fraction": 0.75, "duration_s": 60 },
        { "trace": "jobs.csv" }, { "trace": "pods.csv", "format": "alibaba-gpu-2023" })")),
                               {});
  const auto of = [&](const std::string& name) -> const sim::Job& {
    for (const sim::Job& job : s->jobs)
      if (job.name == name) return job;
    throw std::out_of_range(name);
  };
  CHECK(of("x").gpu_fraction == 0.75);
  CHECK(of("x").gpus == 1);
  CHECK(of("a").gpu_fraction == 0.25);
  CHECK(of("b").gpu_fraction == 0.5);  // two halves
  CHECK(of("b").gpus == 2);
  CHECK(of("c").gpu_fraction == 0.5);
  CHECK(of("c").gpus == 1);
  CHECK(of("d").gpu_fraction == 1);
  CHECK(of("p1").gpu_fraction == 0.46);
  CHECK(of("p2").gpu_fraction == 1);
  const sim::Profile lenet{.model = "alexnet"}, resnet{.model = "resnet50"};
  const sim::Job one{.profile = &resnet, .work = sim::Work::train}, other{.profile = &lenet, .work = sim::Work::train};
  CHECK(s->sharing.slowdown(one, other, 0) == 1.25);
  CHECK(s->sharing.slowdown(other, one, 0) == 2);
  CHECK(s->sharing.slowdown(one, one, 0) == 1.5);
}

TEST_CASE("mistakes in them") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& keys, const std::string& jobs = R"({ "gpus": 1, "duration_s": 60 })") {
    return complaints(folder, scenario_with(keys, jobs));
  };
  CHECK(said(R"("checkpoint": { "interval_s": 5, "interval": "young-daly" })") ==
        "s.json:1:17: /checkpoint: expected one of interval_s and interval, found an object");
  CHECK(said("", R"({ "gpus": 2, "gpu_fraction": 0.5, "model": "resnet50", "epochs": 1 })") ==
        "s.json:3:42: /jobs/0/gpu_fraction: expected a part of one GPU: only a job with duration_s has several, found 0.5");
  const auto sharing = [&](const std::string& pair) { return said(R"("sharing": { "interference": [ )" + pair + " ] }"); };
  CHECK(sharing(R"({ "models": [ "resnet50" ], "slowdown": [ 2, 2 ] })") ==
        "s.json:1:46: /sharing/interference/0/models: expected the names of two models, found a list");
  CHECK(sharing(R"({ "models": [ "resnet50", "resnet51" ], "slowdown": [ 2, 2 ] })").find("did you mean \"resnet50\"") !=
        std::string::npos);
  CHECK(sharing(R"({ "models": [ "resnet50", "resnet50" ], "slowdown": [ 2, 1 ] })").find("the same slowdown twice") !=
        std::string::npos);
  CHECK(sharing(R"({ "models": [ "resnet50", "vgg16" ], "slowdown": [ 2, 0.5 ] })").find("from 1 to 1000") != std::string::npos);
  CHECK(said(R"("checkpoint": { "interval": "young-daly", "write_s": 0 })").find("a write_s above 0") != std::string::npos);
  CHECK(said(R"("checkpoint": { "interval_s": 0 })") ==
        "s.json:1:33: /checkpoint/interval_s: expected a number from 0.001 to 8589934592, found 0");
  CHECK(said(R"("failures": { })") ==
        "s.json:1:15: /failures: expected mtbf_s, a file of measured failures, or both, found an empty object");
  CHECK(said(R"("failures": { "mtbf_s": 100, "shape": 2 })").find("law weibull for the shape") != std::string::npos);
  CHECK(said(R"("stragglers": { "between_s": 100, "lasts_s": 10, "speed": 0 })").find("/stragglers/speed") != std::string::npos);
  CHECK(said(R"("maintenance": [ { "pool": "d", "start_s": 1, "duration_s": 1 } ])").find("the name of a pool") !=
        std::string::npos);
  CHECK(said(R"("maintenance": [ { "pool": "a", "nodes": 3, "start_s": 1, "duration_s": 1 } ])")
            .find("nodes among the 2 of the pool") != std::string::npos);
  CHECK(said(R"("maintenance": [ { "pool": "a", "start_s": 1, "duration_s": 5, "every_s": 5 } ])")
            .find("an every_s above announced_s + duration_s") != std::string::npos);
  CHECK(said("", R"({ "job_id": "j", "gpus": 1, "duration_s": 60, "after": [ "k" ] })")
            .find("the name of another job of the list or of its traces, not \"k\"") != std::string::npos);
  CHECK(said("", R"({ "job_id": "j", "gpus": 1, "duration_s": 60, "after": [ "j" ] })")
            .find("jobs that do not wait for \"j\" in turn") != std::string::npos);
  CHECK(
      said(
          "",
          R"({ "job_id": "j", "gpus": 1, "duration_s": 60, "after": [ "k" ] }, { "job_id": "k", "gpus": 1, "duration_s": 60, "after": [ "j" ] })")
          .find("/jobs/1: expected after: jobs that do not wait for \"k\" in turn") != std::string::npos);
  CHECK(said("", R"({ "gpus": 1, "duration_s": 60, "after_failed": "run" })") ==
        "s.json:3:13: /jobs/0/after: expected the jobs that it waits for, found none");
}

TEST_CASE("a file of failures with mistakes is refused, all of them at once") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& csv) {
    folder.write("down.csv", csv);
    return complaints(folder, scenario_with(R"("failures": { "file": "down.csv" })"));
  };
  const std::string header = "node,time_s,down_s\n";
  CHECK(said(header + "a/0,0,1\n") == "");
  CHECK(said(header).find("down.csv:1: expected at least one failure, found none") != std::string::npos);
  CHECK(said("").find("an empty file") != std::string::npos);
  for (const std::string node : {"a", "a/", "a/2", "a/-1", "a/0x", "d/0", "/0", "", "a/99999999999"}) {
    INFO(node);
    CHECK(said(header + "a/0,0,1\n" + node + ",1,1\n").find("down.csv:3: node: expected") != std::string::npos);
  }
  const std::string both = said(header + "a/0,-1,1\na/0,1,0\n");
  CHECK(both.find("down.csv:2: time_s") != std::string::npos);
  CHECK(both.find("down.csv:3: down_s") != std::string::npos);
  CHECK(said("node,time_s\na/0,1\n").find("a column \"down_s\"") != std::string::npos);
  CHECK(said(header + "a/0,1\n").find("expected 3 fields") != std::string::npos);
}

TEST_CASE("what differs between policies decides what kind of study it is") {
  using rehearse::report::StudyKinds;
  const TemporaryFolder folder;
  const std::string rigid = R"({ "gpus": 1, "duration_s": 60 })",
                    trained = R"({ "model": "resnet18", "dataset": "cifar10", "epochs": 2 })";
  const auto kinds = [&](const std::string& policies, const std::string& jobs, const std::string& keys = "") {
    const std::string text = with(scenario_with(keys, jobs), R"([ "manual" ])", "[ " + policies + " ]");
    return rehearse::scenarios::kinds_of(*load_scenario(folder.write("s.json", text), {}));
  };
  const std::string queues = R"({ "name": "a" }, { "name": "b", "queue": "srtf" })";
  CHECK(kinds(queues, trained) == StudyKinds{.queue = true});
  CHECK(kinds(R"("manual", "static-isotonic-shared")", trained) == StudyKinds{.configuration = true});
  CHECK(kinds(R"("manual", "static-isotonic-shared")", rigid) == StudyKinds{.queue = true});
  CHECK(kinds(R"("manual", "static-isotonic-shared")", rigid + "," + trained) == StudyKinds{.configuration = true});
  CHECK(kinds(R"("manual", { "name": "b", "configure": "static-isotonic-shared", "queue": "srtf" })", trained) ==
        StudyKinds{.queue = true, .configuration = true});
  // The same strategy with other parameters, or with other freedom, is another.
  CHECK(kinds(R"({ "name": "a", "configure": "oracle" }, { "name": "b", "configure": "oracle", "free": [ "pool" ] })", trained) ==
        StudyKinds{.configuration = true});
  CHECK(kinds(R"({ "name": "a" }, { "name": "b", "place": "heft" })", trained) ==
        StudyKinds{.queue = true, .configuration = true});
  CHECK(kinds(R"("manual")", trained) == StudyKinds{.queue = true, .configuration = true});  // nothing differs: both
  CHECK(kinds(queues, rigid, R"("failures": { "mtbf_s": 1000 })") == StudyKinds{.queue = true, .nodes = true});
  CHECK(kinds(queues, rigid, R"("checkpoint": { "interval_s": 600 })") == StudyKinds{.queue = true, .nodes = true});
  CHECK(kinds(queues, R"({ "gpus": 1, "duration_s": 60, "checkpoint_interval_s": 10 })") ==
        StudyKinds{.queue = true, .nodes = true});
}

TEST_CASE("a policy that is called like a strategy and runs without it is told of") {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& policy) {
    const std::string text =
        with(scenario_with("", R"({ "gpus": 1, "duration_s": 60 })"), R"([ "manual" ])", "[ " + policy + " ]");
    return others(load_scenario(folder.write("s.json", text), {})->warnings);
  };
  const std::string end = "its name chooses nothing, ";
  CHECK(warnings(R"({ "name": "easy" })") ==
        std::vector<std::string>{R"(policy "easy" runs with queue "fifo": )" + end + R"("queue": "easy" does)"});
  CHECK(warnings(R"({ "name": "oracle", "queue": "sjf" })") ==
        std::vector<std::string>{R"(policy "oracle" runs with configure "manual": )" + end + R"("configure": "oracle" does)"});
  for (const char* meant :
       {R"({ "name": "fifo" })", R"({ "name": "manual" })", R"({ "name": "easy", "queue": "sjf" })", R"({ "name": "ours" })"})
    CHECK(warnings(meant).empty());
}

TEST_CASE("a pool that rigid jobs crowd while another has room is told") {
  // 61 jobs, one a minute, of two minutes on one GPU: 61 x 120 s over 3600 s are 2.03 GPUs.
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& pools, const std::string& job_pool = "") {
    const std::string jobs = R"({"job_id": ")", rest = R"(, "gpus": 1, "duration_s": 120)" + job_pool + "}";
    std::string list;
    for (int j = 0; j <= 60; ++j)
      list += (j > 0 ? ", " : "") + jobs + std::to_string(j) + R"(", "submit_s": )" + std::to_string(60 * j) + rest;
    return others(load_scenario(folder.write("s.json", R"({"cluster": {"pools": [)" + pools + R"(]}, "jobs": [)" + list +
                                                           R"(], "policies": ["manual"]})"),
                                {})
                      ->warnings);
  };
  const std::string small = R"({"name": "small", "instance": "p3.2xlarge", "nodes": 1})",
                    large = R"({"name": "large", "instance": "p3.16xlarge", "nodes": 1})",
                    cpus = R"({"name": "cpus", "instance": "c5.12xlarge", "nodes": 20})";
  CHECK(
      warnings(small + ", " + large) ==
      std::vector<std::string>{
          "a rigid job without a \"pool\" runs in the first one that has as many GPUs as it asks for: in the mean 2.03 GPUs are "
          "asked for of \"small\", which has 1, and 0 of the 8 of \"large\". The order of the pools, or the jobs' \"pool\", "
          "changes that"});
  CHECK(warnings(large + ", " + small).empty());
  CHECK(warnings(small).empty());  // `check` tells of a cluster that is too small as a whole
  CHECK(warnings(small + ", " + cpus).empty());
  CHECK(warnings(small + ", " + large, R"(, "pool": "small")").empty());
}

TEST_CASE("who may stop rigid jobs for nothing is told once, unless the scenario has said that it is meant") {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& policies, const std::string& keys = "",
                            const std::string& jobs = R"({ "gpus": 1, "duration_s": 60 })") {
    const std::string text = with(scenario_with(keys, jobs), R"([ "manual" ])", "[ " + policies + " ]");
    return others(load_scenario(folder.write("s.json", text), {})->warnings);
  };
  const std::string both = R"({ "name": "f" }, { "name": "s", "queue": "srtf" }, { "name": "p", "queue": "priority" },
      { "name": "polite", "queue": { "name": "priority", "preempt": false } })";
  CHECK(warnings(both) ==
        std::vector<std::string>{
            "s, p may stop rigid jobs, and that costs nothing: with \"switching\": {\"rigid_jobs\": true} it takes "
            "them start_s and checkpoint_s, as it does other jobs; false says that it is meant"});
  CHECK(warnings(both, R"("switching": { "rigid_jobs": true })").empty());
  CHECK(warnings(both, R"("switching": { "rigid_jobs": false })").empty());
  CHECK(warnings(both, R"("switching": { "start_s": 5 })").size() == 1);
  CHECK(warnings(R"({ "name": "f" }, { "name": "polite", "queue": { "name": "priority", "preempt": false } })").empty());
  CHECK(warnings(both, "", R"({ "model": "resnet18", "dataset": "cifar10", "epochs": 2 })").empty());
  CHECK(load_scenario(folder.write("s.json", scenario_with(R"("switching": { "rigid_jobs": true })")), {})
            ->costs.rigid_jobs_switch);
  CHECK(warnings(both, R"("switching": { "preset": "lucid" })").empty());
}

TEST_CASE("switching has presets of published schedulers, and what stands beside them counts more") {
  const TemporaryFolder folder;
  const auto costs = [&](const std::string& switching) {
    return load_scenario(folder.write("s.json", scenario_with("\"switching\": " + switching)), {})->costs;
  };
  const rehearse::sim::CostRules tiresias = costs(R"({ "preset": "tiresias" })");
  CHECK(tiresias.start_s == 62);
  CHECK(tiresias.checkpoint_s == 0);
  CHECK(tiresias.rigid_jobs_switch);
  CHECK(costs(R"({ "preset": "lucid" })").start_s == 40);
  CHECK(costs(R"({ "preset": "pollux" })").start_s == 30);
  CHECK(costs(R"({ "checkpoint_s": 7, "preset": "pollux" })").checkpoint_s == 7);
  CHECK_FALSE(costs(R"({ "preset": "pollux", "rigid_jobs": false })").rigid_jobs_switch);
}
