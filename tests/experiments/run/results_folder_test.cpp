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
#include "sim/io/seal.hpp"

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

TEST_CASE("the manifest names owner, version and every file, with its size and SHA-256 where two runs leave the same bytes") {
  const WorkingDirectory here;
  publish(kMine, {"jobs.csv", "timing.json", "logs/a.txt"});
  const std::string text = content("mine/manifest.json");
  const std::string files = "{\n  \"version\": \"" + std::string(rehearse::sim::program_version()) +
                            "\",\n  \"scenario\": \"s\",\n  \"scenario_file\": \"s.json\",\n  \"files\": [\n"
                            // printf new | sha256sum
                            "    {\"path\": \"jobs.csv\", \"bytes\": 3, \"sha256\": "
                            "\"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437\"},\n"
                            "    {\"path\": \"logs/a.txt\"},\n    {\"path\": \"manifest.json\"},\n"
                            "    {\"path\": \"summary.json\", \"bytes\": 22, \"sha256\": "
                            "\"f237826a965a860e2645e79272a79ad2308c60d41a25c112b53485f1d0170865\"},\n"
                            "    {\"path\": \"timing.json\"}\n  ]";
  CHECK(text == rehearse::sim::sealed(files + "\n}\n"));
}

TEST_CASE("results are read only as they were written; files that are not the run's are nobody's business") {
  const WorkingDirectory here;
  publish(kMine, {"jobs.csv", "report.html"});
  using rehearse::scenarios::check_results;
  const auto refused = [](const std::string& why, const std::string& path = "mine") {
    INFO(why);
    CHECK_THROWS_WITH(check_results(path), Catch::Contains(why) && Catch::Contains("rehearse run s.json --out mine --replace"));
  };
  check_results("mine");
  std::ofstream("mine/notes.txt") << "mine";
  std::ofstream("mine/report.html") << "no command reads it";
  check_results("mine");
  CHECK_THROWS_AS(rehearse::scenarios::check_results_and_page("mine"), InputError);
  rehearse::scenarios::take_page("mine");  // as `rehearse report` does
  rehearse::scenarios::check_results_and_page("mine");
  for (const char* changed : {"neu", "new\n", ""}) {
    std::ofstream("mine/jobs.csv") << changed;
    refused("mine/jobs.csv: expected 3 bytes");
    refused("mine/jobs.csv: expected 3 bytes", "mine/jobs.csv");
    check_results("mine/summary.json");
  }
  fs::remove("mine/jobs.csv");
  refused("found no file");
  std::ofstream("mine/jobs.csv") << "new";
  check_results("mine");
  const std::string manifest = content("mine/manifest.json");
  std::ofstream("mine/manifest.json") << std::string(manifest).replace(manifest.find("\"bytes\": 3"), 10, "\"bytes\": 4");
  CHECK_THROWS_WITH(check_results("mine"), Catch::Contains("mine/manifest.json: expected a text with the SHA-256"));
  CHECK_THROWS_AS(publish(kMine), InputError);
  publish({.path = "mine", .owner = kMine.owner, .replace = true});
  check_results("mine");
  CHECK(content("mine/notes.txt") == "mine");
}

TEST_CASE("a damaged summary does not keep new results from taking the place of the old ones") {
  const WorkingDirectory here;
  publish(kMine, {"jobs.csv", "stale.csv"});
  std::ofstream("mine/summary.json") << "x";
  publish(kMine, {"jobs.csv"});
  CHECK(tree("mine") == std::set<std::string>{"jobs.csv", "logs", "manifest.json", "summary.json"});
}

TEST_CASE("results of versions that wrote names alone are read unchecked") {
  const WorkingDirectory here;
  publish(kMine, {"jobs.csv"});
  std::ofstream("mine/manifest.json")
      << "{\"scenario\": \"s\", \"scenario_file\": \"s.json\", \"files\": [\"jobs.csv\", \"manifest.json\", "
         "\"stale.csv\", \"summary.json\"]}\n";
  std::ofstream("mine/stale.csv") << "old";
  std::ofstream("mine/jobs.csv") << "other";
  rehearse::scenarios::check_results("mine");
  publish(kMine, {"jobs.csv"});
  CHECK_FALSE(fs::exists("mine/stale.csv"));
}
