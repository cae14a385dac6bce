#include "experiments/run/results_folder.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/version.hpp"

using rehearse::scenarios::ResultsFolder;
namespace fs = std::filesystem;

namespace {

/// An empty working directory, left and removed at the end.
class WorkingDirectory {
 public:
  WorkingDirectory() : before_(fs::current_path()) {
    std::string name = (fs::temp_directory_path() / "rehearse_test_XXXXXX").string();
    here_ = ::mkdtemp(name.data());
    fs::current_path(here_);
  }
  ~WorkingDirectory() {
    fs::current_path(before_);
    fs::remove_all(here_);
  }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  fs::path before_, here_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("results appear whole, in a new folder beside us or below folders that do not exist yet") {
  const WorkingDirectory here;
  for (const std::string path : {"mine", "some/where/else"}) {
    {
      ResultsFolder results({.path = path});
      results.write("summary.json", "{\n  \"scenario\": \"a\"\n}\n");
      CHECK(!fs::exists(path));
      results.publish();
    }
    CHECK(content(path + "/summary.json") == "{\n  \"scenario\": \"a\"\n}\n");
  }
}

TEST_CASE("earlier results are replaced, other files are not, and what is not published leaves nothing") {
  const WorkingDirectory here;
  for (const std::string scenario : {"first", "second"}) {
    ResultsFolder results({.path = "mine"});
    results.write("summary.json", "{\n  \"scenario\": \"" + scenario + "\"\n}\n");
    results.publish();
  }
  CHECK(content("mine/summary.json") == "{\n  \"scenario\": \"second\"\n}\n");
  { const ResultsFolder abandoned({.path = "mine"}); }
  CHECK(content("mine/summary.json") == "{\n  \"scenario\": \"second\"\n}\n");
  CHECK(std::distance(fs::directory_iterator("."), fs::directory_iterator()) == 1);

  fs::create_directory("letters");
  std::ofstream("letters/summary.json") << "Dear Sir\n";
  CHECK_THROWS_AS(ResultsFolder({.path = "letters"}), rehearse::sim::InputError);
  CHECK_THROWS_AS(ResultsFolder({.path = "letters/summary.json"}), rehearse::sim::InputError);
}

namespace {

using rehearse::scenarios::ResultsPlace;
using rehearse::sim::InputError;

constexpr const char* kSummary = "{\n  \"scenario\": \"s\"\n}\n";

/// Publishes a run of these files; what it told.
std::vector<std::string> publish(ResultsPlace place, const std::vector<std::string>& names = {"jobs.csv", "logs/a.txt"}) {
  std::vector<std::string> told;
  place.tell = [&](const std::string& text) { told.push_back(text); };
  ResultsFolder results(place);
  results.make_subfolder("logs");
  for (const std::string& name : names) results.write(name, "new");
  results.write("summary.json", kSummary);
  results.publish();
  return told;
}

std::set<std::string> tree(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) paths.insert(entry.path().lexically_relative(folder));
  return paths;
}

const ResultsPlace kMine{.path = "mine", .owner = {.scenario = "s", .file = "s.json"}};

}  // namespace

TEST_CASE("a user's files in a results folder stay when a run publishes into it again") {
  const WorkingDirectory here;
  CHECK(publish(kMine, {"jobs.csv", "stale.csv", "logs/a.txt", "logs/b.txt"}).empty());
  fs::create_directories("mine/pictures/deep");
  std::ofstream("mine/notes.txt") << "mine";
  std::ofstream("mine/pictures/deep/a.png") << "mine";
  std::ofstream("mine/logs/own.txt") << "mine";
  fs::create_directory("mine/empty");
  fs::create_symlink("/nowhere", "mine/link");
  CHECK(publish(kMine).empty());
  CHECK(tree("mine") == std::set<std::string>{"empty", "jobs.csv", "link", "logs", "logs/a.txt", "logs/own.txt", "manifest.json",
                                              "notes.txt", "pictures", "pictures/deep", "pictures/deep/a.png", "summary.json"});
  CHECK(content("mine/logs/own.txt") == "mine");
  CHECK(content("mine/jobs.csv") == "new");
  CHECK(std::distance(fs::directory_iterator("."), fs::directory_iterator()) == 1);
}

TEST_CASE("a user's file whose name the new results take is kept beside them, and told of") {
  const WorkingDirectory here;
  publish(kMine);
  std::ofstream("mine/curves.csv") << "mine";
  const std::vector<std::string> told = publish(kMine, {"jobs.csv", "curves.csv"});
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Catch::Contains(".old: curves.csv"));
  CHECK(content("mine/curves.csv") == "new");
  std::set<std::string> beside = tree(".");
  std::erase_if(beside, [](const std::string& path) { return !path.ends_with(".old/curves.csv"); });
  REQUIRE(beside.size() == 1);
  CHECK(content(*beside.begin()) == "mine");
  // The next start says so again; what it holds is not touched.
  CHECK_THAT(publish(kMine, {"jobs.csv"}).at(0),
             Catch::Contains("left of an earlier run") && Catch::Contains("holds curves.csv"));
  CHECK(content(*beside.begin()) == "mine");
}

TEST_CASE("results of before there was a manifest: what we could have written goes, all else stays") {
  const WorkingDirectory here;
  fs::create_directories("mine/logs");
  for (const char* name :
       {"jobs.csv", "events.jsonl", "heat-a.svg", "logs/a-0-queue.txt", "placement.csv", "notes.txt", "own.csv"})
    std::ofstream(std::string("mine/") + name) << "old";
  std::ofstream("mine/summary.json")
      << "{\n  \"scenario\": \"s\",\n  \"study\": \"placement\",\n  \"tables\": {\"placement\": []}\n}\n";
  publish(kMine, {"jobs.csv"});
  CHECK(tree("mine") == std::set<std::string>{"jobs.csv", "logs", "manifest.json", "notes.txt", "own.csv", "summary.json"});
}

TEST_CASE("another scenario's results are replaced only when that is asked for") {
  const WorkingDirectory here;
  publish(kMine);
  for (const auto& [scenario, file] : {std::pair("s", "copy.json"), std::pair("t", "s.json")}) {
    ResultsPlace other{.path = "mine", .owner = {.scenario = scenario, .file = file}};
    CHECK_THROWS_WITH(publish(other), Catch::Contains("--replace") && Catch::Contains("found results of \"s\" (s.json)"));
    other.replace = true;
    publish(other);
    other = kMine;
    other.replace = true;
    publish(other);
  }
  CHECK(std::distance(fs::directory_iterator("."), fs::directory_iterator()) == 1);
}

TEST_CASE("a file of the same name elsewhere is another scenario, as long as it is there") {
  const WorkingDirectory here;
  for (const char* folder : {"a", "b", "moved"}) fs::create_directory(folder);
  for (const char* file : {"a/s.json", "b/s.json"}) std::ofstream(file) << "{}";
  const auto of = [](const std::string& file) {
    return ResultsPlace{.path = "mine",
                        .owner = {.scenario = "s", .file = "s.json", .path = rehearse::scenarios::seen_from("mine", file)}};
  };
  CHECK(rehearse::scenarios::seen_from("mine", "a/s.json") == "../a/s.json");
  publish(of("a/s.json"));
  publish(of("a/../a/s.json"));
  CHECK_THROWS_WITH(publish(of("b/s.json")), Catch::Contains("--out") && Catch::Contains("found results of \"s\" (a/s.json)"));
  publish(kMine);  // whoever names the folder knows what is there
  publish(of("a/s.json"));
  // A scenario that was moved, or is reached by a link, is the same.
  fs::create_symlink("a/s.json", "link.json");
  publish(of("link.json"));
  fs::rename("a/s.json", "moved/s.json");
  publish(of("moved/s.json"));
  ResultsPlace other = of("b/s.json");
  other.replace = true;
  publish(other);
}

TEST_CASE("folders that results cannot take the place of are refused at the start") {
  const WorkingDirectory here;
  const auto refused = [](const std::string& path, const std::string& why) {
    INFO(path);
    CHECK_THROWS_WITH(ResultsFolder({.path = path}), Catch::Contains(why));
  };
  refused(".", "the folder that this was started in");
  refused("./", "the folder that this was started in");
  refused(fs::current_path().string(), "the folder that this was started in");
  refused("/proc", "a mount point");
  fs::create_symlink("nothing", "dangling");
  refused("dangling", "a link to nothing: nothing");
  refused(std::string(241, 'x'), "a folder's name of at most 240 bytes");
  refused(std::string("a\0b", 3), "a name with a NUL character");
  CHECK(tree(".") == std::set<std::string>{"dangling"});
}

TEST_CASE("results behind a link replace what it leads to, and the link stays") {
  const WorkingDirectory here;
  fs::create_directories("far/away");
  fs::create_directory_symlink("far/away", "link");
  for (int i = 0; i < 2; ++i) publish({.path = "link", .owner = kMine.owner});
  CHECK(fs::is_symlink("link"));
  CHECK(content("far/away/jobs.csv") == "new");
  CHECK(std::distance(fs::directory_iterator("far"), fs::directory_iterator()) == 1);
}

TEST_CASE("of two runs into one folder the second is refused at its start; one that was killed is told of") {
  const WorkingDirectory here;
  {
    const ResultsFolder first(kMine);
    CHECK_THROWS_WITH(ResultsFolder(kMine), Catch::Contains("that no other run writes to"));
    publish({.path = "other", .owner = kMine.owner});
  }
  fs::create_directories("mine.123.part/manual-0");
  fs::create_directory("mine.more.123.part");  // of another place
  const std::vector<std::string> told = publish(kMine);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Catch::Contains("mine.123.part is left of an earlier run") && Catch::Contains("holds manual-0;"));
  CHECK(fs::exists("mine.123.part/manual-0"));
}

TEST_CASE("a folder keeps its permissions when results take its place") {
  const WorkingDirectory here;
  fs::create_directory("mine");
  fs::permissions("mine", fs::perms::owner_all);
  publish(kMine);
  CHECK(fs::status("mine").permissions() == fs::perms::owner_all);
}

TEST_CASE("the manifest names owner, version and every file") {
  const WorkingDirectory here;
  publish(kMine);
  CHECK(content("mine/manifest.json") ==
        "{\n  \"version\": \"" + std::string(rehearse::sim::program_version()) +
            "\",\n  \"scenario\": \"s\",\n  \"scenario_file\": \"s.json\",\n  \"files\": [\n"
            "    \"jobs.csv\",\n    \"logs/a.txt\",\n    \"manifest.json\",\n    \"summary.json\"\n  ]\n}\n");
}
