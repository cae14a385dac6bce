// Processes that do what no policy should: each is its own failed row with a reason that says what it did, the others complete,
// and nothing of them stays.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

/// Whoever is left without a parent becomes a child of this program: then it has one.
class Leftovers {
 public:
  Leftovers() { REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); }
  /// None, not even a zombie.
  bool none() const { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }
};

struct Case {
  const char* name;
  const char* reason;  ///< a part of it; empty: it succeeds
  double timeout_s = 60;
};

const std::vector<Case> kCases{
    {"garbage", R"(answered "garbage": its answer:1:1: )"},
    {"empty-line", R"(answered "": its answer)"},
    {"not-text", R"(answered "\xFF\xFE\x00": its answer)"},
    {"a-list", R"(answered "[1, 2]": its answer:1:1: expected an object)"},
    {"half-a-line", "gave no answer within 1 s", 1},
    {"half-a-line-and-exit", "has ended with status 0, in the middle of a line"},
    {"gigabyte", "wrote a line of more than 16 MiB"},
    {"hang", "gave no answer within 1 s", 1},
    {"hang-at-hello",
     "policy \"hang-at-hello\", configure, before its first decision: process \"/usr/bin/python3 hostile.py hang-at-", 1},
    {"exit", "has ended with status 3"},
    {"exit-at-hello", "has ended with status 4"},
    {"killed", "was killed by signal 11 (Segmentation fault)"},
    {"raises", R"(has ended with status 1; its last words: "ValueError: no such plan\x1B[2J")"},
    {"another-id", "/id: expected the request's id 1, found 2"},
    {"no-id", "expected a key \"id\""},
    {"two-answers", "/id: expected the request's id 1, found 0"},
    {"version", "/version: expected version 1 of the protocol, found 2"},
    {"wants-too-much", "/wants/0: expected one of \"candidates\", \"nodes\", \"now\", found \"world\""},
    {"gives-up", R"(it says "out of ideas")"},
    {"empty-menu", "a menu without any choice"},
    {"menu-is-a-number", "/menu: expected a list, found 7"},
    {"unknown-key", "/mneu: "},
    {"nan", "its answer:1:"},
    {"infinity", "its answer:1:"},
    {"huge-workers", "/menu/0/configuration/groups/0/workers: expected a whole number"},
    {"many-workers", "/menu/0/configuration/groups/0/workers: expected a whole number from 1 to 1000000, found 1000000000"},
    {"huge-batch", "/menu/0/configuration/groups/0/batch_per_worker: expected a whole number"},
    {"half-a-worker", "/menu/0/configuration/groups/0/workers: expected a whole number"},
    {"negative", "/menu/0/configuration/groups/0/workers: expected a whole number from 1 to 1000000, found -1"},
    {"unknown-pool", "/menu/0/configuration/groups/0/pool: expected the name of a pool, found \"v10\"; did you mean \"v100\"?"},
    {"no-groups", "/menu/0/configuration/groups: expected 1 to 16 groups"},
    {"accuracy-of-two", "/menu/0/predicted/accuracy: expected a number from 0 to 1, found 2"},
    {"half-an-epoch", "a stage until epoch 1.5 of a job with 0 trained"},
    {"rate", "/menu/0/configuration/learning_rate: expected a number of at least 0, found -1"},
    {"not-free", "differs from the manual configuration in more than the policy's \"free\" says"},
    {"deep", "its answer:1:"},
    {"closes-output", "has closed its standard output"},
    {"closes-input", "has closed its standard input"},
    {"ignores-signals", "gave no answer within 1 s", 1},
    {"daemon-and-exit", "has ended with status 5"},
    {"daemon-and-hang", "gave no answer within 1 s", 1},
    {"floods-errors", ""},
    {"stays-after-bye", ""},
};

const std::vector<Case> kQueues{
    {"unknown-job", "/start/0/job_id: expected a job that waits or runs, found \"nobody\""},
    {"ended-job", "/reject/0: expected a job that waits or runs, found \"a\""},
    {"starts-twice", "job \"a\", at 0.000000 s: starts a job that is not in the queue"},
    {"starts-all", "starts a job on devices that are not free"},
    {"entry", "starts a job with an entry that its menu does not have or that never fits"},
    {"nodes", "job \"a\", at 0.000000 s: node 7 of 1"},
    {"nodes-of-nobody", "starts a job on devices that are not free"},
    {"preempts-who-waits", "preempts a job that is not running"},
    {"resizes-who-waits", "resizes a job that is not running"},
    {"never", "queue, at 0.000000 s: leaves 4 jobs waiting forever"},
    {"wakes-in-the-past", "asks to be woken in the past"},
    {"wakes-at-doomsday", "/wake_at_s: expected a number from 0 to 8589934592"},
    {"wakes-for-ever", "no job has come, ended or got any further, and 4 wait forever"},
    {"starts-and-preempts",
     "no job has come, ended or got any further: whoever is started is stopped before it gets any further"},
};
const std::vector<Case> kPlaces{
    {"too-few-devices", "of the graph's"},
    {"too-many-devices", "of the graph's"},
    {"no-devices", "/device_of_op: expected a device for each operation, found an empty list"},
    {"fifth-device", "/device_of_op/0: expected a whole number from 0 to 3, found 4"},
    {"half-a-device", "/device_of_op/0: expected a whole number"},
    {"raises", "\"ValueError: no such plan"},
};
const std::vector<Case> kThreads{
    {"no-threads", "/intra_op: expected a whole number from 1 to 72, found 0"},
    {"thousand-threads", "/inter_op: expected a whole number from 1 to 72, found 1000"},
    {"one-thread", "threads for 1 of the graph's"},
    {"exit", "has ended with status 3"},
};

std::string policies_of(const std::string& decision, const std::vector<Case>& cases, const std::string& more = "") {
  std::string policies = "\"manual\"";
  for (const Case& one : cases)
    policies += fmt::format(
        R"(, {{"name": "{0}", {1}"{2}": {{"process": ["/usr/bin/python3", "hostile.py", "{0}"], "timeout_s": {3}}}}})", one.name,
        more, decision, one.timeout_s);
  return policies;
}

/// Runs a scenario with `manual` and a policy for each case.
class HostileRun {
 public:
  HostileRun(const std::string& world, const std::string& policies, const std::vector<Case>& cases) {
    const Leftovers leftovers;
    std::filesystem::copy_file(REHEARSE_SOURCE_DIR "/tests/experiments/process/hostile.py", folder_.path() + "/hostile.py");
    const std::string text = R"({"name": "hostile", "world": {"model_error": 0}, "policies": [)" + policies + "], " + world + "}";
    const auto scenario = scenarios::load_scenario(folder_.write("s.json", text), {});
    const report::Summary summary = scenarios::run_scenario(*scenario, {.out = folder_.path() + "/out", .processes = 4});
    CHECK(leftovers.none());
    REQUIRE(summary.rows.size() == cases.size() + 1);
    CHECK(summary.rows[0].ok);
    for (std::size_t i = 0; i < cases.size(); ++i) check(cases[i], summary.rows[i + 1]);
  }
  std::string out(const std::string& file) const { return folder_.path() + "/out/" + file; }

 private:
  static void check(const Case& one, const report::SummaryRow& row) {
    INFO(one.name << ": " << row.reason);
    CHECK(row.ok == (*one.reason == '\0'));
    CHECK(row.reason.find(one.reason) != std::string::npos);
    CHECK(row.reason.find('\n') == std::string::npos);
    CHECK(row.reason.size() < 1000);
  }
  TemporaryFolder folder_;
};

TEST_CASE("each hostile process is one failed row with its reason, the others complete, nothing stays") {
  const HostileRun run(R"("jobs": [{"model": "resnet18", "dataset": "cifar10", "epochs": 2}],
      "cluster": {"pools": [{"name": "k80", "instance": "p2.xlarge", "nodes": 4},
                            {"name": "v100", "instance": "p3.2xlarge", "nodes": 2}]})",
                       policies_of("configure", kCases, R"("free": [], )"), kCases);
  // What it wrote on standard error: the traceback whole, a flood up to the limit.
  std::ostringstream traceback;
  traceback << std::ifstream(run.out("logs/raises-0-configure.txt")).rdbuf();
  CHECK(traceback.str().starts_with("Traceback"));
  CHECK(std::filesystem::file_size(run.out("logs/floods-errors-0-configure.txt")) == 1 << 20);
  CHECK_FALSE(std::filesystem::exists(run.out("logs/hang-0-configure.txt")));
}

TEST_CASE("hostile processes of the other decisions") {
  // One node of four GPUs, which three of the jobs need, and a CPU.
  const std::string world = R"("switching": {"start_s": 1, "checkpoint_s": 0},
      "cluster": {"pools": [{"name": "v100", "instance": "p3.8xlarge", "nodes": 1},
                            {"name": "cpu", "instance": "c5.18xlarge", "nodes": 1}]},
      "manual": {"pool": "v100", "workers": 4, "by_model": {"rnnlm": {"pool": "cpu", "workers": 1}}},
      "jobs": [{"job_id": "a", "gpus": 4, "duration_s": 60}, {"job_id": "b", "gpus": 4, "duration_s": 60},
               {"job_id": "c", "model": "resnet18", "dataset": "cifar10", "epochs": 2}, {"model": "rnnlm", "dataset": "ptb", "epochs": 1}])";
  HostileRun(world, policies_of("queue", kQueues), kQueues);
  HostileRun(world, policies_of("place", kPlaces), kPlaces);
  HostileRun(world, policies_of("threads", kThreads), kThreads);
}

TEST_CASE("a thousand rejections at one date are as many decisions as jobs; decisions without end are no bug of ours") {
  std::string jobs = R"({"job_id": "c", "gpus": 1, "duration_s": 60}, {"job_id": "d", "gpus": 1, "duration_s": 60})";
  for (int i = 0; i < 998; ++i) jobs += R"(, {"gpus": 1, "duration_s": 60})";
  // 900 decisions, and four for each job.
  const std::vector<Case> cases{{"rejects-one", ""},
                                {"takes-turns", "at 0.000000 s: goes on deciding after 4900 times at one date"}};
  HostileRun(R"("cluster": {"pools": [{"name": "v100", "instance": "p3.8xlarge", "nodes": 1}]}, "jobs": [)" + jobs + "]",
             policies_of("queue", cases), cases);
}

}  // namespace
