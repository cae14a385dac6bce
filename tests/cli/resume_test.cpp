// Runs that are killed at any moment and gone on with; and of which repetitions records are written.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "tests/cli/program.hpp"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

const std::string kScenario = R"({ "name": "s", "seed": 3, "repetitions": 5,
  "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 4 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 150, "arrivals_per_hour": 20, "models": [
    { "model": "resnet18", "dataset": "cifar10" }, { "model": "deepspeech2", "dataset": "cmu-arctic", "recurrent": true } ] } ],
  "policies": [ "manual", "random-feasible" ] })";

/// All but what was measured.
std::map<std::string, std::string> files_of(const std::string& results) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(results))
    if (entry.path().filename() != "timing.json") files[entry.path().filename()] = text_of(entry.path());
  return files;
}

/// REHEARSE_KILLS: how many runs are disturbed.
int kills() {
  const char* given = std::getenv("REHEARSE_KILLS");
  return given != nullptr ? std::atoi(given) : 10;
}

TEST_CASE("a run that is killed at any moment, and gone on with, leaves the bytes of an undisturbed one") {
  const TemporaryFolder folder;
  folder.write("s.json", kScenario);
  const auto begun = Clock::now();
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "whole", "--processes", "2"}).status == 0);
  const std::chrono::duration<double> whole_s = Clock::now() - begun;
  const auto whole = files_of(folder.path() + "/whole");
  std::mt19937 random(kills() == 10 ? 20261121 : std::random_device()());
  int kept = 0;
  for (int i = 0; i < kills(); ++i) {
    const std::vector<std::string> run{"run", "s.json", "--out", "out", "--processes", "2", "--resume"};
    std::string said;
    // Killed again while it goes on, then left alone.
    for (const int signal : {i % 3 == 0 ? SIGINT : SIGKILL, SIGKILL}) {
      const Program program(folder.path(), run);
      std::this_thread::sleep_for(whole_s * std::uniform_real_distribution<double>(0.1, 1.0)(random));
      program.send(signal);
      said += program.wait().err;
    }
    const Ended ended = run_program(folder.path(), run);
    INFO("run " << i << ": " << said << ended.err);
    REQUIRE(ended.status == 0);
    CHECK((files_of(folder.path() + "/out") == whole));
    kept += ended.err.find("going on with an interrupted run") != std::string::npos;
    fs::remove_all(folder.path() + "/out");
    for (const auto& entry : fs::directory_iterator(folder.path()))
      if (entry.path().extension() == ".part") {
        CHECK_FALSE(fs::exists(entry.path() / "unfinished.json"));  // of a run killed when it had published
        fs::remove_all(entry.path());
      }
  }
  CHECK((kept > 0 || kills() < 10));
}

TEST_CASE("what is left of a run is not gone on with where a link leads out of it") {
  const TemporaryFolder folder;
  folder.write("s.json", std::string(kScenario).replace(kScenario.find("\"repetitions\": 5"), 16, "\"repetitions\": 2000"));
  fs::path part;
  const auto finished = [&] {
    std::error_code gone;  // folders come and go meanwhile
    for (fs::recursive_directory_iterator entry(folder.path(), gone), end; !gone && entry != end; entry.increment(gone))
      if (entry->path().filename() == "finished.json") part = entry->path().parent_path().parent_path();
    return !part.empty();
  };
  {
    const Program program(folder.path(), {"run", "s.json", "--out", "out", "--processes", "1"});
    for (int tries = 0; tries < 1000 && !finished(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    program.send(SIGSTOP);
    program.send(SIGKILL);
    program.wait();
  }
  REQUIRE(!part.empty());
  folder.write("mine.txt", "mine");
  fs::create_symlink(folder.path() + "/mine.txt", part / "summary.json");
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "out", "--processes", "1", "--resume"});
  CHECK(ended.status == 3);
  CHECK(ended.err.find("/summary.json: expected a file or folder of its own, found a link to elsewhere") != std::string::npos);
  CHECK(text_of(folder.path() + "/mine.txt") == "mine");
}

TEST_CASE("a study is not gone on with") {
  const TemporaryFolder folder;
  const Ended ended = run_program(folder.path(), {"run", REHEARSE_SOURCE_DIR "/scenarios/place/placement-zoo.json", "--resume"});
  CHECK(ended.status == 3);
  CHECK(ended.err.find("/study: expected a scenario without a study (a study begins anew)") != std::string::npos);
}

/// Repetitions that a file has rows of.
std::set<char> repetitions_in(const std::string& path) {
  std::istringstream lines(text_of(path));
  std::set<char> found;
  const bool is_json = path.ends_with(".jsonl");
  const std::string key = "\"repetition\":";
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = is_json ? line.find(key) + key.size() : line.find(',') + 1;
    if (line[at] >= '0' && line[at] <= '9') found.insert(line[at]);
  }
  return found;
}

TEST_CASE("each record is of no repetition, of the first, or of all") {
  const TemporaryFolder folder;
  folder.write("s.json", std::string(kScenario).replace(kScenario.find("150"), 3, "10"));
  const std::set<char> none, first{'0'}, all{'0', '1', '2', '3', '4'};
  const auto check_records = [&](const std::string& out, const std::map<std::string, std::set<char>>& wanted) {
    for (const auto& [file, repetitions] : wanted) {
      INFO(out << " " << file);
      const std::string path = folder.path() + "/" + out + "/" + file;
      CHECK(fs::exists(path) == !repetitions.empty());
      CHECK((repetitions_in(path) == repetitions));
    }
  };
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "default"}).status == 0);
  check_records("default", {{"jobs.csv", all},
                            {"curves.csv", none},
                            {"life.csv", none},
                            {"decisions.csv", first},
                            {"events.jsonl", first},
                            {"stages.csv", first},
                            {"predictions.csv", first},
                            {"utilization.csv", first},
                            {"nodes.csv", first}});
  std::vector<std::string> run{"run", "s.json", "--out", "other", "--set"};
  run.push_back(
      R"(/output={"jobs": "first", "decisions": "none", "curves": "all", "stages": true, "nodes": false, "life": "first"})");
  REQUIRE(run_program(folder.path(), run).status == 0);
  check_records("other", {{"jobs.csv", first},
                          {"decisions.csv", none},
                          {"curves.csv", all},
                          {"stages.csv", all},
                          {"nodes.csv", none},
                          {"life.csv", first}});
  // The summary does not depend on what is written.
  CHECK(text_of(folder.path() + "/other/summary.json") == text_of(folder.path() + "/default/summary.json"));
  // Nor does a record of the first repetition on whether there are others of it.
  const std::string jobs = text_of(folder.path() + "/default/jobs.csv");
  CHECK(jobs.starts_with(text_of(folder.path() + "/other/jobs.csv").substr(0, 1000)));
}

TEST_CASE("the report of 50,000 jobs is made of a part of them, and is small") {
  const TemporaryFolder folder;
  std::string trace = "job_id,user,submit_s,gpus,duration_s,deadline_s\n";
  std::mt19937 random(1);
  double submit_s = 0;
  for (int i = 0; i < 50000; ++i) {
    submit_s += std::exponential_distribution<double>(1 / 30.0)(random);
    const double duration_s = std::lognormal_distribution<double>(6.5, 1.8)(random);
    trace += fmt::format("j{},u{},{:.3f},{},{:.3f},{:.2f}\n", i, random() % 200, submit_s, 1u << random() % 4, duration_s,
                         3 * duration_s + 600);
  }
  folder.write("t.csv", trace);
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.16xlarge", "nodes": 60 } ] },
    "jobs": [ { "trace": "t.csv" } ], "policies": [ { "name": "fifo" }, { "name": "sjf", "queue": "sjf" } ] })");
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "r"});
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  const std::string report = folder.path() + "/r/report.html";
  if (fs::exists(report)) CHECK(fs::file_size(report) < 8'000'000);  // without npm there is none
}

TEST_CASE("a run that would write more than 1 GB says so before it starts, and most of what") {
  const TemporaryFolder folder;
  folder.write("s.json", kScenario);
  // 2 policies x 2,000 repetitions x 2,000 jobs x 235 bytes of jobs.csv are 1.9 GB; 2 x 100 x 2,000 x 36 epochs x 110 bytes of
  // curves.csv are 1.6 GB.
  const auto warned = [&](const std::string& set) {
    return run_program(folder.path(),
                       {"check", "s.json", "--set", "/jobs/0/count=2000", "--set", set, "--set", R"(/output/nodes="none")"})
        .err;
  };
  CHECK(warned("/repetitions=5") == "");
  CHECK_THAT(warned("/repetitions=2000"), Catch::Contains("GB of files (of which jobs.csv 1.9 GB; \"output\" in the scenario"));
  folder.write("s.json",
               std::string(kScenario).replace(kScenario.find("\"repetitions\": 5"), 16, "\"output\": { \"curves\": \"all\" }"));
  CHECK_THAT(warned("/repetitions=100"), Catch::Contains("(of which curves.csv 1.6 GB;"));
}

TEST_CASE("results without a record: who reads it says so, and how to get it") {
  const TemporaryFolder folder;
  folder.write("s.json", std::string(kScenario).replace(kScenario.find("150"), 3, "10"));
  const std::string none =
      R"(/output={"jobs": "none", "decisions": "none", "stages": "none", "predictions": "none", "nodes": "none"})";
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "r", "--set", none}).status == 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plot", "cdf", "r", "-o", "a.svg"}, {"export", "results", "paje", "r", "-o", "a.paje"}}) {
    const Ended ended = run_program(folder.path(), command);
    CHECK(ended.status == 3);
    INFO(ended.err);
    CHECK(ended.err.find(R"(with jobs.csv, found a folder without it ("output": {"jobs": "all"} writes it))") !=
          std::string::npos);
  }
  CHECK(run_program(folder.path(), {"regress", "r", "--against", "r"}).status == 0);
}

}  // namespace
