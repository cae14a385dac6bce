// What an interrupted run leaves, and who may go on with it.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;
namespace fs = std::filesystem;
using Catch::Contains;

const std::string kResumed = R"({ "name": "three", "seed": 5, "repetitions": 2,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "trace": "t.csv" }, { "gpus": 2, "duration_s": 30, "submit_s": 10 } ],
  "policies": [ { "name": "first" }, { "name": "second" }, { "name": "third" } ] })";
const std::string kTrace = "job_id,submit_s,gpus,duration_s\na,0,1,60\nb,5,1,600\n";

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// All but what was measured.
std::map<std::string, std::string> files_of(const std::string& results) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(results))
    if (entry.is_regular_file() && entry.path().filename() != "timing.json")
      files[entry.path().lexically_relative(results)] = content(entry.path());
  return files;
}

/// A scenario's file with its trace, and runs of it into "out".
class Runs : public TemporaryFolder {
 public:
  Runs() { write("t.csv", kTrace); }

  scenarios::RunOptions options(bool resume = false, bool replace = false) {
    return {.out = path() + "/out",
            .replace = replace,
            .keep_finished = true,
            .resume = resume,
            .processes = 1,
            .tell = [this](const std::string& text) { told.push_back(text); },
            .note = [this](const std::string& text) { told.push_back(text); },
            .run =
                [this](const scenarios::Scenario& scenario, const scenarios::RunTask& task, const auto& on_progress) {
                  std::ofstream(path() + "/ran", std::ios::app) << scenario.policies[task.policy].name << task.repetition << ' ';
                  if (scenario.policies[task.policy].name == "second" && instead) instead();
                  run_one(scenario, task, on_progress);
                }};
  }
  /// Of this text of the scenario.
  report::Summary run(const scenarios::RunOptions& how, const std::string& text = kResumed) {
    return scenarios::run_scenario(*scenarios::load_scenario(write("s.json", text), {}), how);
  }
  /// Ends when the first policy's two repetitions are finished.
  void interrupt() {
    const pid_t parent = ::getpid();
    instead = [parent] {
      ::kill(parent, SIGINT);
      ::pause();
    };
    CHECK_THROWS_WITH(run(options()), Contains("2 of 6 repetitions are finished and kept in " + path() + "/out.") &&
                                          Contains("the same command goes on with --resume, begins anew with --replace"));
    instead = nullptr;
    told.clear();
    fs::remove(path() + "/ran");
  }
  std::string part() const {
    for (const auto& entry : fs::directory_iterator(path()))
      if (entry.path().extension() == ".part") return entry.path();
    return {};
  }
  std::string ran() const { return content(path() + "/ran"); }

  std::function<void()> instead;
  std::vector<std::string> told;
};

}  // namespace

TEST_CASE("an interrupted run goes on with what is finished, and leaves the bytes of an undisturbed one") {
  Runs whole, runs;
  whole.run(whole.options());
  runs.interrupt();
  CHECK(names_in(runs.part()) == std::set<std::string>{"first-0", "first-1", "unfinished.json"});
  runs.run(runs.options(true));
  CHECK(runs.ran() == "second0 second1 third0 third1 ");
  REQUIRE(runs.told.size() == 1);
  CHECK_THAT(runs.told[0], Contains("going on with an interrupted run in ") && Contains("2 of 6 repetitions finished"));
  CHECK((files_of(runs.path() + "/out") == files_of(whole.path() + "/out")));
  CHECK(runs.part().empty());
}

TEST_CASE("what a finished repetition took is not forgotten") {
  Runs runs;
  runs.interrupt();
  CHECK(scenarios::finished(runs.part() + "/first-0")->max_rss_bytes > 1e6);
  runs.run(runs.options(true));
  const std::string timing = content(runs.path() + "/out/timing.json");
  CHECK(timing.find("{\"policy\": \"first\"") != timing.npos);
  CHECK(timing.find("\"max_rss_bytes\": 0}") == timing.npos);
}

TEST_CASE("a start without --resume or --replace says what is there and stops") {
  Runs runs;
  runs.interrupt();
  CHECK_THROWS_WITH(runs.run(runs.options()),
                    Contains("expected --resume, which goes on with what is there, or --replace, which begins anew, found an "
                             "interrupted run in " +
                             runs.part()) &&
                        Contains("2 of 6 repetitions finished"));
  CHECK(runs.ran() == "");
  runs.run(runs.options(false, true));
  CHECK(runs.ran() == "first0 first1 second0 second1 third0 third1 ");
  CHECK(runs.part().empty());
  CHECK_THAT(runs.told.at(0), Contains("removed an interrupted run in "));
}

TEST_CASE("only the same program goes on with the same scenario and files: what differs is said") {
  Runs runs;
  runs.interrupt();
  const auto refused = [&](const std::string& why, const std::string& text = kResumed) {
    INFO(why);
    CHECK_THROWS_WITH(runs.run(runs.options(true), text), Contains("expected to go on with a run of the same program") &&
                                                              Contains("(without --resume, --replace begins anew)") &&
                                                              Contains(why));
    CHECK_THROWS_WITH(runs.run(runs.options(), text), Contains("expected --replace, which begins anew") && Contains(why));
  };
  refused("another \"seed\" of the scenario", with(kResumed, "\"seed\": 5", "\"seed\": 6"));
  refused("another \"output\", \"repetitions\" of the scenario",
          with(kResumed, "\"repetitions\": 2", "\"repetitions\": 3, \"output\": { \"jobs\": \"none\" }"));
  runs.write("t.csv", kTrace + "c,6,1,7\n");
  refused("another content of \"t.csv\"");
  runs.write("t.csv", kTrace);
  const std::string identity = content(runs.part() + "/unfinished.json");
  std::ofstream(runs.part() + "/unfinished.json") << with(identity, "\"version\": \"", "\"version\": \"0.0.9-");
  refused("program version 0.0.9-");
  std::ofstream(runs.part() + "/unfinished.json") << identity;
  CHECK(runs.ran() == "");
  runs.run(runs.options(true));
  CHECK(runs.ran() == "second0 second1 third0 third1 ");
}

TEST_CASE("a program is known by its version and by its build, which the linker has put into it") {
  CHECK_THAT(scenarios::this_program(), Catch::Matches(R"(\d+\.\d+\.\d+ \(build [0-9a-f]{16}\))"));
}

TEST_CASE("a disk that fills up leaves what is finished") {
  Runs runs;
  runs.instead = [] { throw sim::InputError(sim::Mistake{.file = "jobs.csv", .found = "a full disk"}); };
  CHECK_THROWS_WITH(runs.run(runs.options()), Contains("a full disk"));
  REQUIRE(runs.told.size() == 1);
  CHECK_THAT(runs.told[0], Contains("2 of 6 repetitions are finished"));
  runs.instead = nullptr;
  runs.run(runs.options(true));
  CHECK(runs.part().empty());
}

TEST_CASE("where nothing is finished nothing is kept, and --resume begins anew") {
  Runs runs;
  runs.instead = [] { throw sim::InputError(sim::Mistake{.found = "a full disk"}); };
  CHECK_THROWS(runs.run(runs.options(), with(kResumed, "{ \"name\": \"first\" }, ", "")));
  CHECK(runs.part().empty());
  runs.instead = nullptr;
  runs.told.clear();
  runs.run(runs.options(true));
  CHECK_THAT(runs.told.at(0), Contains("no finished repetition of an interrupted run"));
}

TEST_CASE("what a run that was killed has left goes where nothing in it was finished") {
  Runs runs;
  runs.interrupt();
  for (const char* name : {"first-0", "first-1"}) fs::remove(runs.part() + "/" + name + "/finished.json");
  runs.run(runs.options());
  CHECK_THAT(runs.told.at(0), Contains("nothing in it was finished"));
  CHECK(runs.part().empty());
}

TEST_CASE("while a run is at it nobody else goes on with its folder") {
  Runs runs;
  runs.interrupt();
  const auto scenario = scenarios::load_scenario(runs.path() + "/s.json", {});
  scenarios::ResultsPlace place = place_of(*scenario, runs.options());
  place.run = scenarios::read_identity(runs.part());
  place.resume = true;
  const scenarios::ResultsFolder first(place);
  CHECK_THROWS_WITH(runs.run(runs.options(true)), Contains("a folder that no other run writes to"));
}

TEST_CASE("a run that ends between joining its files and publishing them can be gone on with") {
  Runs whole, runs;
  whole.run(whole.options());
  runs.interrupt();
  // What a kill at that time leaves: joined files beside the repetitions, a repetition that has no mark yet.
  std::ofstream(runs.part() + "/jobs.csv") << "half";
  fs::create_directories(runs.part() + "/logs");
  fs::create_directories(runs.part() + "/second-0");
  std::ofstream(runs.part() + "/second-0/jobs.csv") << "half";
  runs.run(runs.options(true));
  CHECK((files_of(runs.path() + "/out") == files_of(whole.path() + "/out")));
}

TEST_CASE("a kept repetition is used as it was marked, or refused with its file and what repairs it") {
  Runs whole, runs;
  whole.run(whole.options());
  runs.interrupt();
  const std::string part = runs.part(), first = part + "/first-0/";
  const auto refused = [&](const std::string& file, const std::string& why) {
    INFO(file << " " << why);
    CHECK_THROWS_WITH(runs.run(runs.options(true)),
                      Contains(file) && Contains(why) && Contains("same command with --resume runs this repetition again"));
  };
  // A digit of a table, of what metrics are made of, of the mark.
  for (const std::string name : {"jobs.csv", "outcome.bin", "finished.json"}) {
    const std::string good = content(first + name);
    std::string changed = good;
    const std::size_t at = name == "finished.json" ? good.find("\"run_cpu_s\": ") + 13 : good.size() - 9;
    changed[at] = changed[at] == '1' ? '2' : '1';
    std::ofstream(first + name, std::ios::binary) << changed;
    refused("first-0/" + name, "as Rehearse wrote it");
    std::ofstream(first + name, std::ios::binary) << good.substr(0, good.size() / 2);
    refused("first-0/" + name, "as Rehearse wrote it");
    std::ofstream(first + name, std::ios::binary) << good;
  }
  // A file that the repetition has not written would be joined to the others.
  std::ofstream(first + "curves.csv") << "policy\n";
  refused("first-0/curves.csv", "expected only files that the repetition has written");
  fs::remove(first + "curves.csv");
  fs::rename(first + "jobs.csv", runs.path() + "/jobs.csv");
  refused("first-0/jobs.csv", "found no file");
  fs::rename(runs.path() + "/jobs.csv", first + "jobs.csv");
  // A repetition in the place of another.
  fs::rename(part + "/first-1", runs.path() + "/first-1");
  fs::copy(part + "/first-0", part + "/first-1");
  refused("first-1/finished.json", "expected the mark of first-1");
  fs::remove_all(part + "/first-1");  // what the message says
  runs.run(runs.options(true));
  CHECK(runs.ran() == "first1 second0 second1 third0 third1 ");
  CHECK((files_of(runs.path() + "/out") == files_of(whole.path() + "/out")));
}

TEST_CASE("what is left of a run and cannot be read any more is removed by --replace") {
  Runs runs;
  runs.interrupt();
  std::ofstream(runs.part() + "/unfinished.json") << "{";
  CHECK_THROWS_WITH(runs.run(runs.options(true)), Contains("undamaged (--replace removes it and begins anew)"));
  runs.run(runs.options(false, true));
  CHECK(runs.part().empty());
}
