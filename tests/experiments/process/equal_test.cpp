// Policies in Python that decide as built-in ones do: their results are the same but for the policy's name. And what becomes of
// processes when a run is interrupted.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

const std::string kExamples = REHEARSE_SOURCE_DIR "/python/examples/";
const std::string kTests = REHEARSE_SOURCE_DIR "/tests/experiments/process/";

const std::string kScenario = R"({ "name": "equal", "seed": 11, "repetitions": 2,
  "output": { "decisions": "all", "stages": "all", "curves": "all", "predictions": "all", "utilization": "all", "events": "all" },
  "cluster": { "pools": [
    { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 3 },
    { "name": "v100", "instance": "p3.8xlarge", "nodes": 2 },
    { "name": "cpu", "instance": "c5.18xlarge", "nodes": 2 } ] },
  "manual": { "workers": 4, "by_model": { "rnnlm": { "pool": "cpu", "workers": 1 } } },
  "jobs": [
    { "generate": "mixed-cnn-rnn", "count": 20, "arrivals_per_hour": 20, "models": [
      { "model": "resnet18", "dataset": "cifar10" }, { "model": "rnnlm", "dataset": "ptb", "recurrent": true } ] },
    { "job_id": "impossible", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 1 },
    { "job_id": "measured", "gpus": 4, "duration_s": 1000, "submit_s": 50 } ],
  "policies": [ { "name": "built-in", DECISION: BUILT_IN }, { "name": "process", DECISION: { "process": ["/usr/bin/python3", SCRIPT] } } ] })";

std::string replaced(std::string text, const std::string& what, const std::string& instead) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + instead.size()))
    text.replace(at, what.size(), instead);
  return text;
}

/// The lines of one policy, without its name.
std::string lines_of(const std::string& text, const std::string& policy) {
  std::istringstream in(text);
  std::string lines;
  for (std::string line; std::getline(in, line);)
    if (line.find(policy) != std::string::npos) lines += replaced(line, policy, "") + '\n';
  return lines;
}

struct Compared {
  std::string decision, built_in, script;
  std::vector<std::string> files{"jobs.csv",        "decisions.csv",   "stages.csv",  "curves.csv",
                                 "predictions.csv", "utilization.csv", "events.jsonl"};
};

void check_equal(const Compared& c) {
  const TemporaryFolder folder;
  const std::string text =
      replaced(replaced(replaced(kScenario, "DECISION", "\"" + c.decision + "\""), "BUILT_IN", c.built_in), "SCRIPT", c.script);
  folder.write("s.json", text);
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "out"});
  INFO(c.script << ended.out << ended.err);
  REQUIRE(ended.status == 0);
  for (const std::string& file : c.files) {
    INFO(file);
    const std::string all = text_of(folder.path() + "/out/" + file);
    const std::string expected = lines_of(all, "built-in");
    CHECK(!expected.empty());
    CHECK(lines_of(all, "process") == expected);
  }
  if (c.script.find("answers.py") != std::string::npos)
    CHECK(text_of(folder.path() + "/out/logs/process-0-" + c.decision + ".txt").starts_with("was asked\n"));
  // And the same bytes when it runs again.
  CHECK(run_program(folder.path(), {"run", "s.json", "--out", "again", "--processes", "1"}).status == 0);
  for (const std::string& file : c.files)
    CHECK(text_of(folder.path() + "/again/" + file) == text_of(folder.path() + "/out/" + file));
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }
std::string answers(const std::string& kind) { return quoted(kTests + "answers.py") + ", " + quoted(kind); }

TEST_CASE("manual as a process has the results of manual") {
  check_equal({.decision = "configure", .built_in = "\"manual\"", .script = quoted(kExamples + "manual.py")});
}

TEST_CASE("fifo as a process has the results of fifo") {
  check_equal({.decision = "queue", .built_in = "\"fifo\"", .script = quoted(kExamples + "fifo.py")});
}

TEST_CASE("a process that leaves place at data-parallel, and one that takes a single GPU") {
  check_equal({.decision = "place", .built_in = "\"data-parallel\"", .script = answers("data-parallel")});
  // The built-in one says in decisions.csv what it has found.
  check_equal({.decision = "place",
               .built_in = R"({"name": "single-device", "alone": true})",
               .script = answers("single-gpu"),
               .files = {"jobs.csv", "stages.csv"}});
}

TEST_CASE("a process that chooses the recommended threads") {
  check_equal({.decision = "threads", .built_in = "\"recommended\"", .script = answers("recommended")});
}

TEST_CASE("stages and threads of a process's own are taken") {
  for (const auto& [decision, kind] : {std::pair("configure", "second-stage"), std::pair("threads", "own-threads")}) {
    const TemporaryFolder folder;
    folder.write("s.json", replaced(replaced(replaced(kScenario, "DECISION", quoted(decision)), "BUILT_IN",
                                             quoted(std::string(decision) == "threads" ? "default" : "manual")),
                                    "SCRIPT", answers(kind)));
    const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "out"});
    INFO(kind << ended.out << ended.err);
    REQUIRE(ended.status == 0);
    const std::string stages = text_of(folder.path() + "/out/stages.csv");
    const std::string built_in = lines_of(stages, "built-in"), process = lines_of(stages, "process");
    const auto rows = [](const std::string& lines) { return std::count(lines.begin(), lines.end(), '\n'); };
    // All but the one rigid job of each repetition train for more than two epochs: two stages instead of one.
    if (std::string(kind) == "second-stage") CHECK(rows(process) == 2 * rows(built_in) - 2);
    // Other threads than TensorFlow's default ones: other times.
    if (std::string(kind) == "own-threads") CHECK((rows(process) == rows(built_in) && process != built_in));
  }
}

// One spot node, 2 dollars an hour for an hour, 0.5 then, taken away from 2,400 to 3,000 s by a recording. The job arrives at 600
// s: patient.py sees the price and waits in steps of 600 s, until 3,600 s.
TEST_CASE("a process sees prices, and may wait for better ones") {
  const TemporaryFolder folder;
  folder.write("nodes.csv", "time_s,available_nodes\n0,1\n2400,0\n3000,1\n");
  folder.write("s.json", replaced(R"({ "name": "patient", "seed": 3, "world": { "model_error": 0 },
    "output": { "events": "all", "utilization": "all", "stages": "all", "decisions": "all", "nodes": "all" },
    "cluster": { "pools": [ { "name": "spot", "instance": "p3.2xlarge", "nodes": 1, "pricing": "spot",
      "prices_usd_per_hour": { "steps": [ { "time_s": 0, "value": 2 }, { "time_s": 3600, "value": 0.5 } ] },
      "spot": { "bid_usd_per_hour": 3, "availability": { "file": "nodes.csv" } } } ] },
    "jobs": [ { "job_id": "first", "gpus": 1, "duration_s": 60 },
      { "job_id": "later", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.8, "deadline_s": 40000, "submit_s": 600 } ],
    "policies": [ "manual", { "name": "patient", "configure": { "process": ["/usr/bin/python3", SCRIPT, "spot", "1"] } } ] })",
                                  "SCRIPT", quoted(kExamples + "patient.py")));
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "out"});
  INFO(ended.out << ended.err);
  REQUIRE(ended.status == 0);
  const std::string events = text_of(folder.path() + "/out/events.jsonl");
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  // At 600, 1200, ... 3000 s, and on at 3600 s.
  CHECK(count(lines_of(events, "patient"), "\"paused\"") == 5);
  CHECK(count(lines_of(events, "patient"), "\"resumed\"") == 5);
  CHECK(count(lines_of(events, "manual"), "\"paused\"") == 0);
  CHECK(count(lines_of(events, "patient"), "spot_revoked") == 1);
  const auto cost_of = [&](const std::string& policy) {
    const std::string jobs = text_of(folder.path() + "/out/jobs.csv");
    std::istringstream lines(jobs);
    std::string header, row;
    std::getline(lines, header);
    while (std::getline(lines, row))
      if (row.starts_with(policy) && row.find("later") != std::string::npos) break;
    const auto column = [&](const std::string& line, std::ptrdiff_t index) {
      std::istringstream cells(line);
      std::string cell;
      for (std::ptrdiff_t i = 0; i <= index; ++i) std::getline(cells, cell, ',');
      return cell;
    };
    std::istringstream names(header);
    std::ptrdiff_t index = 0;
    for (std::string name; std::getline(names, name, ',') && name != "cost_usd";) ++index;
    return std::stod(column(row, index));
  };
  CHECK(cost_of("patient") < 0.5 * cost_of("manual"));
  const std::string books =
      std::string("/usr/bin/python3 ") + REHEARSE_SOURCE_DIR + "/tests/fuzz/books.py " + folder.path() + "/out > /dev/null";
  CHECK(std::system(books.c_str()) == 0);
}

/// Children of ours, and who was left without a parent, have gone within 20 s. Reaps them.
bool all_gone() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return true;
    if (ended > 0) continue;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST_CASE("an interrupted or killed run leaves no process, not even what a policy has detached") {
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const TemporaryFolder folder;
    const std::string hangs =
        R"({"process": ["/usr/bin/python3", ")" + kTests + R"(hostile.py", "daemon-and-tell"], "timeout_s": 600})";
    folder.write("s.json", replaced(replaced(kScenario, "{ \"process\": [\"/usr/bin/python3\", SCRIPT] }", hangs),
                                    "DECISION: BUILT_IN", "\"queue\": \"fifo\""));
    folder.write("s.json", replaced(text_of(folder.path() + "/s.json"), "DECISION", "\"configure\""));
    const Program program(folder.path(), {"run", "s.json", "--out", "out"});
    while (text_of(folder.path() + "/ready").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    program.send(signal);
    CHECK(program.wait().status == (signal == SIGKILL ? -1 : 130));
    CHECK(all_gone());
  }
}

}  // namespace
