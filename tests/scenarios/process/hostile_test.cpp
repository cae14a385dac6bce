// Processes that do what no policy should: each is its own failed row with a reason that says what it did, the others complete,
// and nothing of them stays.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>

#include "scenarios/run.hpp"
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
    {"wants-too-much", "/wants/0: expected one of \"candidates\", \"nodes\", found \"world\""},
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

std::string scenario_of_all() {
  std::string policies = "\"manual\"";
  for (const Case& one : kCases)
    policies += fmt::format(
        R"(, {{"name": "{0}", "free": [], "configure": {{"process": ["/usr/bin/python3", "hostile.py", "{0}"], "timeout_s": {1}}}}})",
        one.name, one.timeout_s);
  return R"({"name": "hostile", "world": {"model_error": 0},
    "cluster": {"pools": [{"name": "k80", "instance": "p2.xlarge", "nodes": 4}, {"name": "v100", "instance": "p3.2xlarge", "nodes": 2}]},
    "jobs": [{"model": "resnet18", "dataset": "cifar10", "epochs": 2}],
    "policies": [)" +
         policies + "]}";
}

TEST_CASE("each hostile process is one failed row with its reason, the others complete, nothing stays") {
  const Leftovers leftovers;
  const TemporaryFolder folder;
  std::filesystem::copy_file(REHEARSE_SOURCE_DIR "/tests/scenarios/process/hostile.py", folder.path() + "/hostile.py");
  const auto scenario = scenarios::load_scenario(folder.write("s.json", scenario_of_all()), {});
  const report::Summary summary = scenarios::run_scenario(*scenario, {.out = folder.path() + "/out", .processes = 4});
  CHECK(leftovers.none());
  REQUIRE(summary.rows.size() == kCases.size() + 1);
  CHECK(summary.rows[0].ok);
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    INFO(kCases[i].name << ": " << summary.rows[i + 1].reason);
    CHECK(summary.rows[i + 1].ok == (*kCases[i].reason == '\0'));
    CHECK(summary.rows[i + 1].reason.find(kCases[i].reason) != std::string::npos);
    CHECK(summary.rows[i + 1].reason.find('\n') == std::string::npos);
    CHECK(summary.rows[i + 1].reason.size() < 1000);
  }
  // What it wrote on standard error: the traceback whole, a flood up to the limit.
  std::ostringstream traceback;
  traceback << std::ifstream(folder.path() + "/out/logs/raises-0-configure.txt").rdbuf();
  CHECK(traceback.str().starts_with("Traceback"));
  CHECK(std::filesystem::file_size(folder.path() + "/out/logs/floods-errors-0-configure.txt") == 1 << 20);
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/out/logs/hang-0-configure.txt"));
}

}  // namespace
