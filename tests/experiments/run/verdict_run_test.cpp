// What whole runs conclude.
#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/run/run.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;
using Catch::Matchers::Contains;

report::Summary run(const std::string& text) {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  return scenarios::run_scenario(*scenario, {.out = folder.path() + "/out", .processes = 1, .tell = [](const std::string&) {}});
}

}  // namespace

TEST_CASE("a job that never fits makes no winner of whoever rejects it for nothing") {
  const report::Summary s = run(R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "job_id": "big", "gpus": 64, "duration_s": 100 } ],
    "policies": [ { "name": "fifo" }, { "name": "easy", "queue": "easy" } ] })");
  CHECK(s.verdict.drawn.outcome == report::Outcome::no_cost);
  CHECK(s.verdict.drawn.winner.empty());
  CHECK_THAT(terminal_table(s),
             Contains("An example, not evidence: on this job no job is finished under fifo and another policy."));
}

TEST_CASE("queues that cost the same have no cheapest among them") {
  // Six jobs of fixed length on one GPU: whoever runs when, the money is the same, but for the order in which it is added up.
  const report::Summary s = run(R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "gpus": 1, "duration_s": 70.1, "priority": 1 }, { "gpus": 1, "duration_s": 33.3, "priority": 3 },
              { "gpus": 1, "duration_s": 91.7, "priority": 2 }, { "gpus": 1, "duration_s": 17.9, "priority": 6 },
              { "gpus": 1, "duration_s": 50.3, "priority": 5 }, { "gpus": 1, "duration_s": 29.9, "priority": 4 } ],
    "policies": [ { "name": "fifo" }, { "name": "sjf", "queue": "sjf" }, { "name": "easy", "queue": "easy" },
                  { "name": "priority", "queue": { "name": "priority", "preempt": false } }, { "name": "edf", "queue": "edf" } ] })");
  CHECK(s.verdict.drawn.outcome == report::Outcome::level);
  CHECK(s.verdict.drawn.winner.empty());
  CHECK(verdict_sentence(s.verdict) ==
        "An example, not evidence: on these 6 jobs no policy that keeps limits as well as fifo is cheaper than it: sjf, easy, "
        "priority and edf cost the same.");
}

TEST_CASE("one repetition with noise shows nothing of new worlds; a yardstick is marked") {
  const report::Summary s = run(R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.8xlarge", "nodes": 2 } ] },
    "jobs": [ { "job_id": "a", "model": "resnet18", "dataset": "cifar10", "epochs": 2, "deadline_s": 9000 } ],
    "policies": [ "manual", { "name": "wide", "configure": "manual", "queue": "sjf" }, "oracle" ] })");
  CHECK(s.verdict.new_worlds.outcome == report::Outcome::one_repetition);
  CHECK(s.verdict.drawn.has_verdict());
  CHECK(s.rows[2].is_yardstick);
  const std::string table = terminal_table(s);
  CHECK_THAT(table, Contains("oracle (yardstick)") && Contains("One repetition shows nothing of new worlds"));
  // One model: 100 ln(1 / 0.05) repetitions.
  CHECK_THAT(table, Contains("about 300 repetitions at least"));
  CHECK_THAT(summary_json(s), Contains("\"new_worlds\": {\"outcome\": \"one_repetition\"") && Contains("\"yardstick\": true"));
}

TEST_CASE("without any limit the cheaper policy wins, whatever chance might break") {
  const auto judged = [](const std::string& world, const std::string& limit) {
    return run(R"({ "repetitions": 4, "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 8 } ] },
    "world": { "model_error": 0.1)" +
               world + R"( },
    "jobs": [ { "model": "resnet50", "epochs": 3, "gpus": 8)" +
               limit + R"( }, { "model": "resnet50", "epochs": 2, "gpus": 8 } ],
    "policies": [ "manual", { "name": "active", "configure": "static-isotonic" } ] })");
  };
  const report::Summary s = judged("", "");
  CHECK_FALSE(s.verdict.new_worlds.has_limits);
  CHECK(s.verdict.new_worlds.outcome == report::Outcome::cheapest);
  CHECK(s.verdict.drawn.winner == "active");
  // Four repetitions in which no job was ended by its walltime, or for want of memory, do not show that none will be.
  for (const report::Summary& open : {judged("", R"(, "walltime_s": 500000)"), judged(R"(, "memory_error": 0.01)", "")}) {
    CHECK(open.verdict.new_worlds.has_limits);
    CHECK(open.rows[1].of("limits_broken").mean == 0);
    CHECK(open.verdict.new_worlds.outcome == report::Outcome::undecided);
  }
}

TEST_CASE("a queue under which every job ends as under the reference's is level with it") {
  // Jobs an hour apart on four GPUs: nobody waits, so the queues do the same.
  const report::Summary s = run(R"({ "repetitions": 4, "seed": 1, "world": { "model_error": 0.2 },
    "cluster": { "pools": [ { "name": "v", "instance": "p3.8xlarge", "nodes": 1 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 4, "arrivals_per_hour": 0.5, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
    "policies": [ "manual", { "name": "srtf", "queue": "srtf" }, { "name": "middle", "configure": "median-feasible" } ] })");
  CHECK(s.verdict.new_worlds.find("srtf")->is_as_reference);
  CHECK(s.verdict.new_worlds.find("srtf")->keeping == report::Keeping::yes);
  CHECK_FALSE(s.verdict.new_worlds.find("middle")->is_as_reference);
  CHECK_THAT(terminal_table(s), Contains("each job as under manual"));
}
