// What check says before anything is run.
#include <algorithm>
#include <catch2/catch.hpp>

#include "policies/registry/registry.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;
using Catch::Matchers::Contains;

/// Two V100; RnnLM and the like are believed to have ceilings below 1.
std::string scenario(const std::string& jobs, const std::string& policies, const std::string& more = "") {
  return R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] }, "jobs": [ )" + jobs +
         R"( ], "policies": [ )" + policies + " ]" + more + " }";
}

std::vector<std::string> warnings(const std::string& text) {
  const TemporaryFolder folder;
  return scenarios::load_scenario(folder.write("s.json", text), {})->warnings;
}

}  // namespace

TEST_CASE("a floor above the belief's ceiling is refused, with what can be reached") {
  const TemporaryFolder folder;
  const std::string job = R"({ "job_id": "a", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.99 })";
  const std::string said = complaints(folder, scenario(job, R"("manual")"));
  CHECK_THAT(said, Contains("/jobs/0") && Contains("a target_accuracy of at most 0.94") && Contains("found 0.99"));
  // Whoever says what becomes of such a job may have one.
  for (const char* what : {"best-effort", "reject"})
    CHECK(complaints(folder, scenario(job, R"("manual")", std::string(R"(, "infeasible": ")") + what + "\"")).empty());
  // What can be reached, as it was told, is accepted; of a trace the jobs are counted.
  const std::size_t at = said.find("at most ") + 8;
  CHECK(complaints(folder, scenario(with(job, "0.99", said.substr(at, 6)), R"("manual")")).empty());
  folder.write("t.csv", "job_id,submit_s,model,dataset,target_accuracy\na,0,resnet18,cifar10,0.99\nb,1,resnet18,cifar10,0.98\n");
  CHECK_THAT(complaints(folder, scenario(R"({ "trace": "t.csv" })", R"("manual")")), Contains("and 1 more such job"));
}

TEST_CASE("time limits that end jobs whose work takes no longer are warned of") {
  const auto job = [](const char* name, const char* limit) {
    return R"({ "job_id": ")" + std::string(name) + R"(", "gpus": 1, "duration_s": 7200, "walltime_s": )" + limit + " }";
  };
  const std::string fifo = R"({ "name": "fifo", "queue": "fifo" })", srtf = R"({ "name": "srtf", "queue": "srtf" })";
  CHECK(warnings(scenario(job("a", "7199"), fifo)).at(0) == "1 job ends as failed: \"walltime_s\" is less than \"duration_s\"");
  // Just enough, as long as nothing comes on top: checkpoints, or 30 s to start again after a preemption.
  CHECK(warnings(scenario(job("a", "7200"), fifo)).empty());
  const std::string checkpoints = R"(, "checkpoint": { "interval_s": 3600 })";
  CHECK_THAT(warnings(scenario(job("a", "7200") + ", " + job("b", "7200"), fifo, checkpoints)).at(0),
             Contains("2 jobs end as failed: \"walltime_s\" leaves no time beyond \"duration_s\" for checkpoints"));
  CHECK(warnings(scenario(job("a", "9000"), fifo, checkpoints)).empty());
  const std::string switching = R"(, "switching": { "rigid_jobs": true })";
  CHECK_THAT(warnings(scenario(job("a", "7229"), srtf, switching)).at(0), Contains("1 job ends as failed once stopped"));
  CHECK(warnings(scenario(job("a", "7230"), srtf, switching)).empty());
  CHECK(warnings(scenario(job("a", "7229"), fifo, switching)).empty());
}

TEST_CASE("jobs that can never fit are warned of") {
  const auto rigid = warnings(scenario(R"({ "job_id": "big", "gpus": 64, "duration_s": 100 })", R"("manual")"));
  REQUIRE(rigid.size() == 1);
  CHECK_THAT(rigid[0], Contains("\"big\" can never fit"));
  CHECK(warnings(scenario(R"({ "job_id": "two", "gpus": 2, "duration_s": 100 })", R"("manual")")).empty());
}

TEST_CASE("GPUs that a backfill queue counts are warned of") {
  const auto said = [](const std::string& nodes, const std::string& queue) {
    return warnings(R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.16xlarge", "nodes": 2 } ] }, "jobs": [
      { "gpus": 8, "duration_s": 60, "walltime_s": 90)" +
                    nodes + R"( }, { "gpus": 1, "duration_s": 60, "walltime_s": 90 } ],
      "policies": [ { "name": "one", "queue": )" +
                    queue + " } ] }");
  };
  for (const char* queue : {"\"easy\"", "\"conservative\"", "\"slurm-backfill\""}) {
    INFO(queue);
    REQUIRE(said("", queue).size() == 1);
    CHECK_THAT(said("", queue)[0], Contains("one counts the GPUs of 1 job of several GPUs") && Contains("\"nodes\""));
    CHECK(said(R"(, "nodes": 1)", queue).empty());
  }
  for (const char* queue : {"\"fifo\"", "\"slurm-fifo\"", R"({ "name": "slurm", "backfill": false })"})
    CHECK(said("", queue).empty());
}

TEST_CASE("deadlines below the fastest configuration are warned of") {
  const auto job = [](const char* deadline) {
    return R"({ "job_id": "a", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": )" +
           std::string(deadline) + " }";
  };
  const auto late = warnings(scenario(job("60"), R"("manual")"));
  REQUIRE(late.size() == 1);
  CHECK_THAT(late[0], Contains("\"a\" cannot be in time") && Contains("60 s"));
  CHECK(warnings(scenario(job("6000"), R"("manual")")).empty());
  // A job of fixed length takes at least that.
  const auto two = warnings(scenario(
      R"({ "job_id": "b", "gpus": 1, "duration_s": 100, "deadline_s": 99 }, { "job_id": "c", "gpus": 1, "duration_s": 100, "deadline_s": 98 })",
      R"("manual")"));
  REQUIRE(two.size() == 1);
  CHECK_THAT(two[0], Contains("2 jobs cannot be in time") && Contains("\"b\""));
}

TEST_CASE("a strategy that nothing in the scenario asks is warned of") {
  const std::string rigid = R"({ "job_id": "r", "gpus": 1, "duration_s": 100 })";
  const std::string trained = R"({ "job_id": "t", "model": "resnet18", "dataset": "cifar10", "epochs": 2 })";
  const std::string process = R"({ "name": "mine", "configure": { "process": ["./policy"] } })";
  const std::string elastic = R"({ "name": "e", "queue": "goodput" })";
  const std::string with_menu = R"({ "name": "e", "configure": "static-isotonic-shared", "queue": "goodput" })";
  CHECK_THAT(warnings(scenario(rigid, process)).at(0), Contains("\"mine\"") && Contains("is never asked"));
  CHECK(warnings(scenario(rigid, elastic)).at(0) ==
        R"(policy "e": its queue strategy "goodput" has nothing to resize: all jobs are rigid. It acts as "fifo")");
  CHECK_THAT(warnings(scenario(trained, elastic)).at(0),
             Contains("\"goodput\" has nothing to resize: \"manual\" gives each job one configuration"));
  // Every elastic queue, presets included: a trait of its entry in the registry, not its name.
  for (const policies::QueueEntry& entry : policies::queue_strategies()) {
    const auto said = warnings(
        scenario(rigid, R"({ "name": "e", "queue": ")" + entry.name + "\" }", R"(, "switching": { "rigid_jobs": false })"));
    const bool is_told = std::any_of(said.begin(), said.end(),
                                     [](const std::string& text) { return text.find("has nothing to resize") != text.npos; });
    CHECK(is_told == entry.resizes);
    CAPTURE(entry.name);
    if (entry.name.starts_with("pollux") || entry.name.starts_with("sia") || entry.name.starts_with("optimus")) CHECK(is_told);
  }
  CHECK(warnings(scenario(trained, process)).empty());
  CHECK(warnings(scenario(trained, with_menu)).empty());
  CHECK(warnings(scenario(rigid, R"({ "name": "sjf", "queue": "sjf" })")).empty());
}

TEST_CASE("a queue that plans by time limits is warned of where jobs have none") {
  const std::string rigid = R"({ "job_id": "r", "gpus": 1, "duration_s": 100 })",
                    limited = R"({ "job_id": "l", "gpus": 1, "duration_s": 100, "walltime_s": 200 })";
  const auto queue = [](const std::string& of) { return R"({ "name": "q", "queue": )" + of + " }"; };
  for (const char* plans : {R"("easy")", R"("conservative")", R"("slurm-backfill")", R"({ "name": "slurm", "backfill": true })",
                            R"({ "name": "sjf", "durations": "user" })"}) {
    CAPTURE(plans);
    CHECK(
        warnings(scenario(rigid, queue(plans))) ==
        std::vector<std::string>{"q: the queue plans by time limits, and the rigid jobs have no \"walltime_s\": it knows exactly "
                                 "how long they run. Give them one, or say \"durations\": \"predicted\" where that is meant"});
    CHECK(warnings(scenario(limited, queue(plans))).empty());
    CHECK_THAT(warnings(scenario(rigid + ", " + limited, queue(plans))).at(0), Contains("1 of 2 rigid jobs have no"));
  }
  for (const char* does_not : {R"("fifo")", R"("slurm-fifo")", R"({ "name": "easy", "durations": "predicted" })"})
    CHECK(warnings(scenario(rigid, queue(does_not))).empty());
}

TEST_CASE("a pool that no job can use is warned of") {
  const auto of = [](const std::string& jobs) {
    return warnings(with(scenario(jobs, R"("manual")"), R"("nodes": 2 })",
                         R"("nodes": 2 }, { "name": "h", "instance": "p5.48xlarge", "nodes": 8 })"));
  };
  const std::string rigid = R"({ "job_id": "r", "gpus": 1, "duration_s": 100)";
  const auto told = [](const std::vector<std::string>& said) {
    return std::count_if(said.begin(), said.end(),
                         [](const std::string& text) { return text.find("no job can use") != text.npos; });
  };
  CHECK(of(rigid + " }") ==
        std::vector<std::string>{"no job can use the pool \"h\" (8 nodes): a rigid job runs where its \"pool\" says, else in the "
                                 "first pool that has as many GPUs as it asks for. Name the pool in the jobs' \"pool\", or leave "
                                 "it out"});
  CHECK(told(of(rigid + R"(, "pool": "h" })")) == 1);  // then the other one is idle
  CHECK(told(of(rigid + R"( }, { "job_id": "s", "gpus": 1, "duration_s": 100, "pool": "h" })")) == 0);
  CHECK(told(of(R"({ "job_id": "big", "gpus": 8, "duration_s": 100 }, )" + rigid + " }")) == 0);  // 8 fit on no two V100
  CHECK(told(of(R"({ "job_id": "t", "model": "resnet18", "dataset": "cifar10", "epochs": 2 })")) == 0);
  CHECK(told(of(R"({ "job_id": "none", "gpus": 999, "duration_s": 100 })")) == 0);  // which can run nowhere: that is said
}

TEST_CASE("workers that do not divide a batch of fixed steps are told, with those that the job gets") {
  const auto job = [](const char* gpus, const char* batch) {
    return std::string(R"({ "job_id": "s", "model": "resnet18", "dataset": "cifar10", "steps": 100, "gpus": )") + gpus +
           R"(, "batch_size": )" + batch + " }";
  };
  CHECK(warnings(scenario(job("2", "256"), R"("manual")")).empty());
  // Of 100 samples 8 workers cannot have the same, nor 7, nor 6; 5 have 20 each.
  CHECK(warnings(scenario(job("8", "100"), R"("manual")")) ==
        std::vector<std::string>{"job \"s\" of fixed steps cannot share the batch evenly: 8 workers for batches of 100; the "
                                 "manual configuration has 5"});
  // The number that is set by hand goes before the job's.
  CHECK(warnings(scenario(job("8", "100"), R"("manual")", R"(, "manual": { "workers": 2 })")).empty());
  CHECK_THAT(warnings(scenario(job("2", "100"), R"("manual")", R"(, "manual": { "workers": 3 })")).at(0), Contains("has 2"));
}

TEST_CASE("users of whom there is no job are warned of where a queue names them") {
  const std::string jobs =
      R"({ "job_id": "a", "gpus": 1, "duration_s": 100, "user": "alice" }, { "job_id": "b", "gpus": 1, "duration_s": 100, "user": "bob" })";
  // Fair shares may stop jobs, which is another warning where nothing is said of what that takes.
  const auto told = [](const std::string& of, const std::string& policy) {
    return warnings(scenario(of, policy, R"(, "switching": { "rigid_jobs": false })"));
  };
  const auto shares = [](const std::string& weights) {
    return R"({ "name": "f", "queue": { "name": "fair-share", "weights": )" + weights + " } }";
  };
  CHECK(told(jobs, shares(R"({ "alice": 2, "bob": 1 })")).empty());
  const auto slip = told(jobs, shares(R"({ "alcie": 2, "somebody-else": 3 })"));
  REQUIRE(slip.size() == 2);
  CHECK(slip[0] == R"(policy "f": no job is of the user "alcie", whom its weights name; did you mean "alice"?)");
  CHECK(slip[1] == R"(policy "f": no job is of the user "somebody-else", whom its weights name)");
  const auto partitions = [](const std::string& user) {
    return R"({ "name": "p", "queue": { "name": "fifo", "partitions": [
      { "name": "one", "users": [ ")" +
           user + R"(" ], "quota": { "v": 1 } }, { "name": "others", "quota": { "v": 1 } } ] } })";
  };
  CHECK(told(jobs, partitions("bob")).empty());
  CHECK(told(jobs, partitions("bbo")) ==
        std::vector<std::string>{R"(policy "p": no job is of the user "bbo", whom its partitions name; did you mean "bob"?)"});
  // Whoever is named as well was not meant by another name; of many strangers the number is told.
  CHECK(told(jobs, shares(R"({ "alice": 1, "alicf": 1, "bob": 1 })")) ==
        std::vector<std::string>{R"(policy "f": no job is of the user "alicf", whom its weights name)"});
  CHECK(told(jobs, shares(R"({ "nobody-1": 1, "nobody-2": 1, "nobody-3": 1 })")) ==
        std::vector<std::string>{R"(policy "f": no job is of 3 users whom its weights name, among them "nobody-1")"});
  const std::string nobody = R"({ "job_id": "a", "gpus": 1, "duration_s": 100 })";
  CHECK_THAT(told(nobody, shares(R"({ "alice": 2 })")).at(0), Contains("(no job has a \"user\")"));
  // A generator names its users as it draws them.
  const std::string generated = R"({ "generate": "mixed-cnn-rnn", "count": 3 })";
  for (const std::string& warning : told(generated, shares(R"({ "user-3": 2 })")))
    CHECK(warning.find("no job is of the user") == warning.npos);
}
