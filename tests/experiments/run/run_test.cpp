// Whole runs in this process's children: what fails, how it shows, and what is left behind.
#include "experiments/run/run.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/load.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/run/results_folder.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;
namespace fs = std::filesystem;

const std::string kScenario = R"({ "name": "three", "repetitions": 2,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 }, { "gpus": 2, "duration_s": 30, "submit_s": 10 } ],
  "policies": [ { "name": "good" }, { "name": "bad" }, { "name": "also-good" } ] })";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

using RunFunction = decltype(scenarios::RunOptions::run);

/// run_one, but the policy "bad" does something else.
RunFunction but_bad(std::function<void()> instead) {
  return [instead](const scenarios::Scenario& scenario, const scenarios::RunTask& task, const auto& on_progress) {
    if (scenario.policies[task.policy].name == "bad") instead();
    run_one(scenario, task, on_progress);
  };
}

struct Ran {
  report::Summary summary;
  std::string summary_text, table, jobs;
};

Ran run_with_bad(const std::function<void()>& instead) {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kScenario), {});
  const std::string out = folder.path() + "/out";
  Ran ran;
  ran.summary = scenarios::run_scenario(*scenario, {.out = out, .processes = 2, .run = but_bad(instead)});
  ran.summary_text = text_of(out + "/summary.json");
  ran.table = terminal_table(ran.summary);
  ran.jobs = text_of(out + "/jobs.csv");
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.json", "out"});
  for (const std::string& name : names_in(out)) CHECK(fs::is_regular_file(out + "/" + name));
  return ran;
}

/// A failed row with this reason; the others as if nothing had been.
void check_one_failed_row(const Ran& ran, const std::string& reason) {
  INFO(ran.summary_text);
  REQUIRE(ran.summary.rows.size() == 3);
  CHECK(ran.summary.rows[0].ok);
  CHECK_FALSE(ran.summary.rows[1].ok);
  CHECK(ran.summary.rows[1].reason == reason);
  CHECK(ran.summary.rows[2].ok);
  CHECK(ran.summary.rows[2].of("jobs_completed").mean == 2);
  CHECK(ran.summary_text.find(R"({"policy": "bad", "status": "failed", "reason": ")" + reason + "\"}") != std::string::npos);
  const std::string on_one_line = std::regex_replace(ran.table, std::regex("\n +"), " ");  // long reasons go on below
  CHECK(on_one_line.find(reason) != std::string::npos);
  CHECK(ran.jobs.find("\nbad,") == std::string::npos);
  // Header, then 2 policies x 2 repetitions x 2 jobs.
  CHECK(std::count(ran.jobs.begin(), ran.jobs.end(), '\n') == 1 + 8);
}

TEST_CASE("a policy that answers nonsense is one failed row") {
  check_one_failed_row(run_with_bad([] { throw sim::PolicyError("starts a job twice"); }), "repetition 0: starts a job twice");
}

TEST_CASE("a policy that crashes is one failed row") {
  check_one_failed_row(run_with_bad([] {
                         ::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would end the child with a status
                         ::raise(SIGSEGV);
                       }),
                       "repetition 0: killed by signal 11 (Segmentation fault)");
  check_one_failed_row(run_with_bad([] { ::_exit(7); }), "repetition 0: ended with status 7 and no result");
  check_one_failed_row(run_with_bad([] { ::_exit(0); }), "repetition 0: ended with status 0 and no result");
}

TEST_CASE("what a policy throws never unwinds the parent's frames in the child") {
  check_one_failed_row(run_with_bad([] {
                         ::signal(SIGABRT, SIG_DFL);
                         throw 17;
                       }),
                       "repetition 0: killed by signal 6 (Aborted)");
}

TEST_CASE("if the baseline fails there is no saving, and the others are still told") {
  const TemporaryFolder folder;
  const auto scenario =
      scenarios::load_scenario(folder.write("s.json", with(kScenario, "\"repetitions\": 2", "\"baseline\": \"bad\"")), {});
  const report::Summary summary = scenarios::run_scenario(
      *scenario, {.out = folder.path() + "/out", .processes = 1, .run = but_bad([] { throw sim::PolicyError("no"); })});
  CHECK(summary.rows[1].reason == "no");
  CHECK(std::isnan(summary.rows[0].of("saving_percent").mean));
  CHECK(summary.rows[0].of("cost_usd").mean > 0);
}

TEST_CASE("a bug of ours in one policy's run is one failed row, named as what it is") {
  check_one_failed_row(
      run_with_bad([] { sim::fail_check("money is lost", 5); }),
      "repetition 0: a bug of rehearse, please report it: check failed at simulated time 5.000000 s: money is lost");
}

TEST_CASE("a full disk ends the run as the user's trouble") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kScenario), {});
  const scenarios::RunOptions options{
      .out = folder.path() + "/out",
      .processes = 1,
      .run = but_bad([] { throw sim::InputError(sim::Mistake{.file = "jobs.csv", .found = "a full disk"}); })};
  CHECK_THROWS_AS(scenarios::run_scenario(*scenario, options), sim::InputError);
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.json"});
}

TEST_CASE("an interrupt in a child's time ends all children and leaves nothing behind") {
  const TemporaryFolder folder;
  const auto scenario =
      scenarios::load_scenario(folder.write("s.json", with(kScenario, "\"repetitions\": 2", "\"seed\": 1")), {});
  const pid_t parent = ::getpid();
  for (const int signal : {SIGINT, SIGTERM}) {
    const scenarios::RunOptions options{.out = folder.path() + "/out", .processes = 2, .run = but_bad([&] {
                                                                                         ::kill(parent, signal);
                                                                                         ::pause();
                                                                                       })};
    CHECK_THROWS_AS(scenarios::run_scenario(*scenario, options), scenarios::Interrupted);
    CHECK(names_in(folder.path()) == std::set<std::string>{"s.json"});
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
  }
}

TEST_CASE("an interrupt between two writes waits, and then leaves nothing behind") {
  const TemporaryFolder folder;
  const scenarios::HeldInterrupts held;
  CHECK_FALSE(held.take());
  ::raise(SIGINT);
  CHECK(held.take());
  CHECK_FALSE(held.take());
}

TEST_CASE("how children end is told, whatever the number at once") {
  for (const int processes : {1, 2, 5}) {
    std::map<int, std::pair<int, int>> ends;
    std::map<int, std::uint64_t> progress;
    const bool whole =
        scenarios::run_processes({.tasks = 5,
                                  .processes = processes,
                                  .work =
                                      [](int task, const auto& tell) {
                                        for (int told = 0; told < task; ++told) tell({.jobs_ended = 1});
                                        tell({.jobs_ended = static_cast<std::uint64_t>(10 * task)});
                                        if (task == 3) {
                                          ::signal(SIGSEGV, SIG_DFL);
                                          ::raise(SIGSEGV);
                                        }
                                        return task == 1 ? 5 : 0;
                                      },
                                  .on_end =
                                      [&](const scenarios::ChildEnd& end) {
                                        ends[end.task] = {end.exit_status, end.signal};
                                        CHECK(end.max_rss_bytes > 0);
                                      },
                                  .on_progress = [&](int task, const sim::ReplayProgress& p) { progress[task] = p.jobs_ended; }});
    CHECK(whole);
    CHECK(ends == std::map<int, std::pair<int, int>>{{0, {0, 0}}, {1, {5, 0}}, {2, {0, 0}}, {3, {-1, SIGSEGV}}, {4, {0, 0}}});
    CHECK(progress == std::map<int, std::uint64_t>{{0, 0}, {1, 10}, {2, 20}, {3, 1}, {4, 40}});  // a crash takes the last with it
  }
}

TEST_CASE("nothing is heard of a task after its end") {
  // Its last word, and its end, come between the parent's look at the pipe and its look for children that have ended.
  sim::Pipe go;
  std::vector<std::string> heard;
  scenarios::run_processes(
      {.tasks = 1,
       .processes = 1,
       .work =
           [&](int, const auto& tell) {
             tell({.jobs_ended = 1});
             char word = 0;
             if (::read(go.reading(), &word, 1) != 1) return 1;
             tell({.jobs_ended = 2});  // kept until the end: the first is less than a tenth of a second ago
             return 0;
           },
       .on_end = [&](const auto&) { heard.emplace_back("end"); },
       .on_progress = [&](int, const sim::ReplayProgress& p) { heard.push_back(std::to_string(p.jobs_ended)); },
       .on_also =
           [&] {
             REQUIRE(::write(go.writing(), "g", 1) == 1);
             siginfo_t ended{};
             ::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
           }});
  CHECK(heard == std::vector<std::string>{"1", "2", "end"});
}

TEST_CASE("the handlers that were there before a run are there after it") {
  struct sigaction before {
  }, after{};
  ::sigaction(SIGINT, nullptr, &before);
  scenarios::run_processes({.tasks = 1,
                            .processes = 1,
                            .work = [](int, const auto&) { return 0; },
                            .on_end = [](const auto&) {},
                            .on_progress = [](int, const sim::ReplayProgress&) {}});
  ::sigaction(SIGINT, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
}

TEST_CASE("what a job writes of itself is no unfairness: alone with its checkpoints it has rho 1") {
  // A rigid job of 36,000 s with an interval of 600 s writes ceil(36,000 / 600) - 1 = 59 checkpoints; the training writes some
  // as well, after 600 s or, where nodes fail once in 1e6 s, after Young and Daly's sqrt(2 x 1 s x 1e6 s) = 1,414 s. No node
  // fails here and nobody else is there, so each job takes what it takes alone: rho and slowdown are 1.
  const std::string checkpoints = GENERATE(R"("checkpoint": { "interval_s": 600, "write_s": 60 })",
                                           R"("checkpoint": { "interval": "young-daly", "write_s": 1 },
                                              "failures": { "law": "exponential", "mtbf_s": 1e6, "repair_s": 60 })");
  const TemporaryFolder folder;
  const std::string text = R"({ "name": "alone", )" + checkpoints + R"(,
    "cluster": { "pools": [ { "name": "gpu", "instance": "p3.16xlarge", "nodes": 1 } ] },
    "jobs": [ { "gpus": 8, "duration_s": 36000, "checkpoint_interval_s": 600 },
              { "submit_s": 50000, "model": "resnet50", "dataset": "imagenet", "epochs": 10 } ],
    "policies": [ "manual" ] })";
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  const report::Summary summary = scenarios::run_scenario(*scenario, {.out = folder.path() + "/out", .processes = 1});
  const report::SummaryRow& row = summary.rows.at(0);
  REQUIRE(row.ok);
  CHECK(row.of("restarts").mean == 0);
  CHECK(row.of("checkpoints").mean > 59);
  CHECK(row.of("fairness_rho_worst").mean == Approx(1).epsilon(1e-6));
  CHECK(row.of("fairness_rho_above_1_fraction").mean == 0);
  CHECK(row.of("bounded_slowdown_mean").mean == Approx(1).epsilon(1e-6));
}

TEST_CASE("a results folder replaces only results") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const auto publish = [&](const std::string& path, std::string_view text) {
    scenarios::ResultsFolder results({.path = path});
    results.write("summary.json", text);
    results.publish();
  };
  constexpr std::string_view kOurs = "{\n  \"scenario\": \"s\"\n}\n";
  publish(out, kOurs);
  publish(out + "//", "{\n  \"scenario\": \"again\"\n}\n");
  CHECK(text_of(out + "/summary.json") == "{\n  \"scenario\": \"again\"\n}\n");
  CHECK(names_in(folder.path()) == std::set<std::string>{"out"});

  fs::create_directories(folder.path() + "/empty");
  publish(folder.path() + "/empty", kOurs);
  publish(folder.path() + "/new/below/new", kOurs);

  fs::create_directories(folder.path() + "/photos");
  folder.write("photos/summary.json", "{\"scenario\": \"another program's\"}");
  CHECK_THROWS_WITH(publish(folder.path() + "/photos", kOurs),
                    folder.path() +
                        "/photos: expected a folder that is new, empty or holds earlier results, found a folder with "
                        "other files");
  const std::string file = folder.write("file", "text");
  CHECK_THROWS_WITH(publish(file, kOurs), file + ": expected a folder for the results, found a file");
  CHECK_THROWS_AS(publish(file + "/below", kOurs), sim::InputError);
  CHECK(text_of(file) == "text");
  CHECK(names_in(folder.path()) == std::set<std::string>{"empty", "file", "new", "out", "photos"});
}

TEST_CASE("what was not published is removed") {
  const TemporaryFolder folder;
  {
    const scenarios::ResultsFolder results({.path = folder.path() + "/out"});
    results.write("jobs.csv", "half");
    results.make_subfolder("policy-0");
    CHECK(names_in(folder.path()).size() == 1);
  }
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("a results folder without a parent in its name lies in the working folder") {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  {
    scenarios::ResultsFolder results({.path = "out"});
    results.publish();
  }
  fs::current_path(before);
  CHECK(names_in(folder.path()) == std::set<std::string>{"out"});
}

TEST_CASE("files are joined in order, with one header; what is missing is skipped") {
  const TemporaryFolder folder;
  scenarios::ResultsFolder results({.path = folder.path() + "/out"});
  const auto part = [&](const std::string& name, std::string_view text) {
    std::ofstream(results.make_subfolder(name) + "/jobs.csv") << text;
    return results.part() + "/" + name + "/jobs.csv";
  };
  const std::string a = part("a", "x,y\n1,2\n"), b = part("b", "x,y\n"), c = part("c", "x,y\n3,4\n5,6\n");
  results.join("jobs.csv", "x,y", {a, results.part() + "/none/jobs.csv", b, c});
  CHECK(text_of(results.part() + "/jobs.csv") == "x,y\n1,2\n3,4\n5,6\n");
  results.join("nothing.csv", "x,y", {results.part() + "/none/jobs.csv"});
  CHECK_FALSE(fs::exists(results.part() + "/nothing.csv"));
}

}  // namespace
