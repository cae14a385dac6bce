// The commands `bundle` and `reproduce`: what is packed is whole, is made again elsewhere to the byte, and what differs is told.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"
#include "tests/cli/shell.hpp"

namespace {

namespace fs = std::filesystem;

const std::string kBundled = R"({ "name": "mine", "seed": 3,
  "cluster": { "pools": [ { "name": "a", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "trace": "../traces/jobs.csv" } ],
  "policies": [ { "name": "fifo" }, { "name": "sjf", "queue": "sjf" } ] })";

const std::string kBundledJobs = "job_id,submit_s,gpus,duration_s\na,0,2,100\nb,1,2,50\nc,2,1,10\n";

/// A run in work/scenarios whose trace lies in work/traces.
struct Bundled {
  Bundled() {
    fs::create_directories(folder.path() + "/work/scenarios");
    fs::create_directories(folder.path() + "/work/traces");
    folder.write("work/traces/jobs.csv", kBundledJobs);
    folder.write("work/scenarios/mine.json", kBundled);
    REQUIRE(run_program(folder.path() + "/work", {"run", "scenarios/mine.json", "--out", "r"}).status == 0);
  }
  Ended bundle(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"bundle", "r", "-o", "packed", "--inputs", "scenarios"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(folder.path() + "/work", arguments);
  }
  /// Elsewhere, with nothing of where it was made.
  void move_away() const {
    fs::rename(folder.path() + "/work/packed", folder.path() + "/packed");
    fs::remove_all(folder.path() + "/work");
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a bundle holds scenario, inputs and results, and makes the same bytes elsewhere") {
  const Bundled ran;
  const Ended packed = ran.bundle();
  INFO(packed.err);
  REQUIRE(packed.status == 0);
  ran.move_away();
  const std::string at = ran.folder.path() + "/packed";
  CHECK(text_of(at + "/inputs/traces/jobs.csv") == kBundledJobs);
  CHECK(fs::exists(at + "/inputs/level1/mine.json"));
  CHECK(fs::exists(at + "/results/summary.json"));
  CHECK(has(text_of(at + "/README.txt"), "rehearse reproduce ."));
  const auto sealed = nlohmann::json::parse(text_of(at + "/bundle.json"));
  CHECK(sealed["inputs"][0]["path"] == "../traces/jobs.csv");
  CHECK(sealed["inputs"][0]["packed"] == "inputs/traces/jobs.csv");
  CHECK(sealed["files"].contains("results/jobs.csv"));
  const Ended again = run_program(ran.folder.path(), {"reproduce", "packed", "-o", "again"});
  INFO(again.out << again.err);
  CHECK(again.status == 0);
  CHECK(has(again.out, "Reproduced: the same bytes."));
  CHECK(text_of(at + "/results/jobs.csv") == text_of(ran.folder.path() + "/again/results/jobs.csv"));
}

TEST_CASE("what differs is told by file, and a bundle that was changed is no reproduction") {
  const Bundled ran;
  REQUIRE(ran.bundle().status == 0);
  ran.move_away();
  std::string jobs = text_of(ran.folder.path() + "/packed/results/jobs.csv");
  const std::size_t at = jobs.find(",100,");
  REQUIRE(at != jobs.npos);
  jobs.replace(at, 5, ",125,");
  ran.folder.write("packed/results/jobs.csv", jobs);
  const Ended again = run_program(ran.folder.path(), {"reproduce", "packed"});
  CHECK(again.status == 4);
  CHECK(has(again.out, "changed since it was packed: results/jobs.csv"));
  CHECK(has(again.out, "  jobs.csv: 1 of "));
  CHECK(has(again.out, "numbers differ, by at most 20 % (first in line"));
  CHECK(!has(again.out, "Reproduced"));
}

TEST_CASE("an input that is not what the run has read is not packed in its place") {
  const Bundled ran;
  ran.folder.write("work/traces/jobs.csv", kBundledJobs + "d,3,1,10\n");
  const Ended packed = ran.bundle();
  CHECK(packed.status == 3);
  CHECK(has(packed.err, "../traces/jobs.csv: expected the file that the run has read"));
  CHECK(!fs::exists(ran.folder.path() + "/work/packed"));
  for (const auto& entry : fs::directory_iterator(ran.folder.path() + "/work"))  // nothing half-made either
    CHECK(!has(entry.path().filename().string(), "packed"));
}

TEST_CASE("an existing folder is never written into") {
  const Bundled ran;
  ran.folder.write("work/packed", "mine");
  CHECK(ran.bundle().status == 3);
  CHECK(text_of(ran.folder.path() + "/work/packed") == "mine");
}

TEST_CASE("a catalogue that the command line named is packed, and the run is given it again") {
  const Bundled ran;
  ran.folder.write("work/cheap.json", R"({ "instances": [ { "name": "box", "devices": [ { "device": "v100", "count": 1 } ],
    "cpu": "xeon-8259cl", "price_usd_per_hour": 0.25 } ] })");
  std::string scenario = kBundled;
  scenario.replace(scenario.find("p3.2xlarge"), 10, "box");
  ran.folder.write("work/scenarios/mine.json", scenario);
  const Ended first =
      run_program(ran.folder.path() + "/work", {"run", "scenarios/mine.json", "--catalogue", "cheap.json", "--out", "r"});
  INFO(first.err);
  REQUIRE(first.status == 0);
  fs::copy(ran.folder.path() + "/work/cheap.json", ran.folder.path() + "/work/scenarios/cheap.json");
  REQUIRE(ran.bundle().status == 0);
  ran.move_away();
  const Ended again = run_program(ran.folder.path(), {"reproduce", "packed"});
  INFO(again.out << again.err);
  CHECK(again.status == 0);
}

TEST_CASE("figures are packed with their data and drawn again") {
  const Bundled ran;
  if (!Shell(ran.folder).has("gnuplot")) {
    WARN("skipped: gnuplot is not installed");
    return;
  }
  ran.folder.write("work/figures.txt", "# of the paper\n\ncdf RESULTS -o jct.svg --size two-column\n");
  const Ended packed = ran.bundle({"--figures", "figures.txt"});
  INFO(packed.err);
  REQUIRE(packed.status == 0);
  ran.move_away();
  CHECK(fs::exists(ran.folder.path() + "/packed/figures/jct.svg"));
  CHECK(fs::exists(ran.folder.path() + "/packed/figures/data/jct.dat"));
  const Ended again = run_program(ran.folder.path(), {"reproduce", "packed"});
  INFO(again.out << again.err);
  CHECK(again.status == 0);
}

TEST_CASE("a figure's line is refused where it leads elsewhere or is none") {
  const Bundled ran;
  for (const std::string line :
       {"cdf RESULTS -o ../jct.svg", "cdf r -o jct.svg", "cdf RESULTS", "cdf RESULTS -o a.svg --data /tmp"}) {
    INFO(line);
    ran.folder.write("work/figures.txt", line + "\n");
    const Ended packed = ran.bundle({"--figures", "figures.txt"});
    CHECK(packed.status == 3);
    CHECK(has(packed.err, line));
  }
}

TEST_CASE("what is wrong with a figure is told of its line and of the results as the user named them") {
  const Bundled ran;
  ran.folder.write("work/figures.txt", "# of another study\nspeedup RESULTS -o sp.svg\n");
  const Ended other = ran.bundle({"--figures", "figures.txt"});
  CHECK(other.status == 3);
  CHECK(has(other.err, "figures.txt:2: r: expected results of the study"));
  CHECK_FALSE(has(other.err, "packed.part"));
  ran.folder.write("work/figures.txt", "cdf RESULTS -o jct.gif\n");
  CHECK(has(ran.bundle({"--figures", "figures.txt"}).err,
            "figures.txt:1: -o: expected a file that ends in .pdf, .svg or .png, found jct.gif"));
}

TEST_CASE("a stranger's bundle starts no program unasked and leads nowhere") {
  const Bundled ran;
  REQUIRE(ran.bundle().status == 0);
  ran.move_away();
  const std::string at = ran.folder.path() + "/packed/bundle.json", good = text_of(at);
  for (const std::string path : {"../../etc/passwd", "/etc/passwd", "..", "", "."}) {
    INFO(path);
    auto sealed = nlohmann::json::parse(good);
    sealed["scenario"] = path;
    ran.folder.write("packed/bundle.json", sealed.dump());
    const Ended again = run_program(ran.folder.path(), {"reproduce", "packed"});
    CHECK(again.status == 3);
    CHECK(has(again.err, "/scenario: expected"));
  }
  ran.folder.write("packed/bundle.json", good);
  std::string scenario = kBundled;
  scenario.replace(scenario.find(R"({ "name": "fifo" })"), 18, R"({ "name": "p", "queue": { "process": ["touch", "pwned"] } })");
  ran.folder.write("packed/inputs/level1/mine.json", scenario);
  const Ended again = run_program(ran.folder.path(), {"reproduce", "packed"});
  CHECK(again.status == 3);
  CHECK(has(again.err, "--run-programs"));
  CHECK(has(again.err, "touch pwned"));
  CHECK(!fs::exists(ran.folder.path() + "/packed/inputs/level1/pwned"));
}

TEST_CASE("results that lack a file of the run are not bundled, also where the manifest has no sum of it") {
  const Bundled ran;
  for (const std::string file : {"timing.json", "manifest.json", "jobs.csv"}) {
    INFO(file);
    const std::string path = ran.folder.path() + "/work/r/" + file, text = text_of(path);
    fs::remove(path);
    const Ended packed = ran.bundle();
    CHECK(packed.status == 3);
    CHECK(has(packed.err, "r/" + file + ": expected "));
    CHECK(has(packed.err, "found no file"));
    CHECK(!fs::exists(ran.folder.path() + "/work/packed"));
    ran.folder.write("work/r/" + file, text);
  }
  CHECK(ran.bundle().status == 0);
}

TEST_CASE("a stranger's results are bundled into the bundle's folder alone, and nothing from elsewhere is") {
  const Bundled ran;
  const std::string work = ran.folder.path() + "/work", at = work + "/r/manifest.json", good = text_of(at);
  ran.folder.write("work/r/stolen.txt", "x");
  for (const std::string path : {"../../work/r/stolen.txt", "../r/stolen.txt", "/etc/passwd", ".."}) {
    INFO(path);
    auto manifest = nlohmann::json::parse(good);
    manifest["files"].push_back(path);
    ran.folder.write("work/r/manifest.json", manifest.dump());
    const Ended packed = ran.bundle();
    CHECK(packed.status == 3);
    CHECK(has(packed.err, ": expected the path of a file in the folder, found"));
  }
  for (const std::string name : {"../../x", "/tmp/x", ".."}) {
    INFO(name);
    auto manifest = nlohmann::json::parse(good);
    manifest["scenario_file"] = "..";
    manifest["scenario"] = name;
    ran.folder.write("work/r/manifest.json", manifest.dump());
    const Ended packed = ran.bundle();
    INFO(packed.err);
    CHECK(packed.status == 0);
    CHECK(fs::exists(work + "/packed/inputs/level1/" + (name == ".." ? "...json" : "x.json")));
    fs::remove_all(work + "/packed");
  }
  auto manifest = nlohmann::json::parse(good);
  manifest["files"].erase(std::find(manifest["files"].begin(), manifest["files"].end(), "scenario.json"));  // packed all the same
  ran.folder.write("work/r/manifest.json", manifest.dump());
  for (const std::string file : {"jobs.csv", "scenario.json"}) {
    fs::rename(work + "/r/" + file, work + "/elsewhere");
    fs::create_symlink("../elsewhere", work + "/r/" + file);
    const Ended packed = ran.bundle();
    CHECK(packed.status == 3);
    CHECK(has(packed.err, "r/" + file + ": expected a file of the folder's own, found a link to elsewhere"));
    fs::remove(work + "/r/" + file);
    fs::rename(work + "/elsewhere", work + "/r/" + file);
  }
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(work)) entries += !entry.path().empty();
  CHECK(entries == 3);  // r, scenarios, traces
}

TEST_CASE("a graph that a study reads is fingerprinted and packed as any other input") {
  const Bundled ran;
  REQUIRE(run_program(ran.folder.path() + "/work/scenarios", {"graph", "rnnlm", "--json", "step.json"}).status == 0);
  ran.folder.write("work/scenarios/placed.json", R"({ "name": "placed",
    "cluster": { "pools": [ { "name": "k80", "instance": "p2.8xlarge", "nodes": 1 } ] },
    "study": { "name": "placement", "graphs": [ { "file": "step.json", "batch": 8 } ], "machines": [ { "pool": "k80", "gpus": 2 } ],
               "methods": [ "single-gpu" ] } })");
  const Ended first = run_program(ran.folder.path() + "/work", {"run", "scenarios/placed.json", "--out", "r", "--replace"});
  INFO(first.err);
  REQUIRE(first.status == 0);
  const Ended packed = ran.bundle();
  INFO(packed.err);
  REQUIRE(packed.status == 0);
  CHECK(text_of(ran.folder.path() + "/work/packed/inputs/step.json") == text_of(ran.folder.path() + "/work/scenarios/step.json"));
}
