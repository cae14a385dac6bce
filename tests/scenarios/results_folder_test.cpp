#include "scenarios/results_folder.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/base/errors.hpp"

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
      ResultsFolder results(path);
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
    ResultsFolder results("mine");
    results.write("summary.json", "{\n  \"scenario\": \"" + scenario + "\"\n}\n");
    results.publish();
  }
  CHECK(content("mine/summary.json") == "{\n  \"scenario\": \"second\"\n}\n");
  { const ResultsFolder abandoned("mine"); }
  CHECK(content("mine/summary.json") == "{\n  \"scenario\": \"second\"\n}\n");
  CHECK(std::distance(fs::directory_iterator("."), fs::directory_iterator()) == 1);

  fs::create_directory("letters");
  std::ofstream("letters/summary.json") << "Dear Sir\n";
  CHECK_THROWS_AS(ResultsFolder("letters"), rehearse::sim::InputError);
  CHECK_THROWS_AS(ResultsFolder("letters/summary.json"), rehearse::sim::InputError);
}
