#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/layering/rules.hpp"

using namespace rehearse::tests;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Every C++ file below the house's top-level folders, in order.
std::vector<fs::path> sources(const fs::path& root) {
  static const std::set<std::string> kinds = {".hpp", ".cpp", ".h", ".hh", ".cc", ".ipp", ".inc"};
  std::set<std::string> tops;
  for (const Room& room : rooms()) tops.emplace(room.path.substr(0, room.path.find('/')));
  std::vector<fs::path> files;
  for (const std::string& top : tops)
    for (const auto& entry : fs::recursive_directory_iterator(root / top))
      if (entry.is_regular_file() && kinds.contains(entry.path().extension())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// The one broken rule of a line, without the file and the line's text; "" when it breaks none.
std::string rule(std::string_view path, std::string_view line) {
  const auto broken = broken_rules(path, line);
  REQUIRE(broken.size() <= 1);
  return broken.empty() ? "" : broken[0].substr(broken[0].rfind(": ") + 2);
}

}  // namespace

TEST_CASE("every include keeps to the table") {
  const fs::path root = REHEARSE_SOURCE_DIR;
  const auto files = sources(root);
  REQUIRE(files.size() > 5);
  std::string broken;
  for (const fs::path& file : files)
    for (const std::string& message : broken_rules(file.lexically_relative(root).generic_string(), read(file)))
      broken += message + "\n";
  CHECK(broken == "");
}

// A name that no include begins with fences nothing in, and a room that needs a library no more has no door to it.
TEST_CASE("whoever may include a library does") {
  const fs::path root = REHEARSE_SOURCE_DIR;
  std::set<std::pair<std::string_view, std::string_view>> used;
  for (const fs::path& file : sources(root)) {
    const std::string path = file.lexically_relative(root).generic_string(), folder = path.substr(0, path.rfind('/'));
    const std::string text = read(file);
    for (const Fenced& library : fenced())
      if (text.find("\n#include <" + std::string(library.prefix)) != text.npos)
        for (const std::string_view owner : library.owners)
          if (owner == folder || owner == path) used.emplace(library.prefix, owner);
  }
  for (const Fenced& library : fenced())
    for (const std::string_view owner : library.owners) {
      INFO("<" << library.prefix << "...> in " << owner);
      CHECK(used.contains({library.prefix, owner}));
    }
}

// The linker keeps one of two equal names of destructors, constructors and members that are not inlined, and frees the one class
// by the other's members; no compiler sees both.
TEST_CASE("no two types of a namespace have one name") {
  static const std::regex opens(R"(namespace ([\w:]*) ?\{)"), closes(R"(\}.*// namespace.*)"),
      defines(R"((template <.*> )?(struct|class|enum class) (\w+)( final)?( :.*)?( \{.*)?)");
  const fs::path root = REHEARSE_SOURCE_DIR;
  std::map<std::string, std::set<std::string>> files_of;
  for (const fs::path& file : sources(root)) {
    std::vector<std::string> inside;
    std::istringstream text(read(file));
    for (std::string line; std::getline(text, line);) {
      std::smatch found;
      if (std::regex_match(line, found, opens))
        inside.push_back(found[1]);
      else if (std::regex_match(line, closes) && !inside.empty())
        inside.pop_back();
      else if (std::regex_match(line, found, defines) && line.back() != ';' && !inside.empty() &&
               std::find(inside.begin(), inside.end(), "") == inside.end())
        files_of[inside.front() + "::" + found[3].str()].insert(file.lexically_relative(root).generic_string());
    }
  }
  CHECK(files_of.size() > 500);
  std::string twice;
  for (const auto& [name, files] : files_of)
    if (files.size() > 1) twice += name + ": " + *files.begin() + ", " + *std::next(files.begin()) + "\n";
  CHECK(twice == "");
}

TEST_CASE("the table runs one way, and nobody sees through a neighbour what the table hides") {
  std::vector<std::string_view> above;
  for (const Room& room : rooms()) {
    for (const std::string_view seen : room.sees) {
      INFO(room.path << " sees " << seen);
      CHECK(std::count(above.begin(), above.end(), seen) == 1);
      const auto neighbour = std::find_if(rooms().begin(), rooms().end(), [&](const Room& r) { return r.path == seen; });
      REQUIRE(neighbour != rooms().end());
      for (const std::string_view beyond : neighbour->sees) {
        INFO("which sees " << beyond);
        CHECK(std::count(room.sees.begin(), room.sees.end(), beyond) == 1);
      }
    }
    above.push_back(room.path);
  }
  for (const Fenced& library : fenced())
    for (const std::string_view owner : library.owners) {
      const std::string_view room = owner.ends_with(".cpp") ? owner.substr(0, owner.rfind('/')) : owner;
      CHECK(std::count(above.begin(), above.end(), room) == 1);
    }
}

TEST_CASE("a broken rule names file, line and rule") {
  CHECK(broken_rules("policies/queue/fifo.cpp", "#include <vector>\n\n  #  include \"sim/io/json.hpp\"  // why\n") ==
        std::vector<std::string>{
            "policies/queue/fifo.cpp:3: #include \"sim/io/json.hpp\"  // why: policies/queue may not see sim/io"});
  const auto two = broken_rules("sim/step/timer.cpp", "#include <simgrid/s4u.hpp>\n#include \"sim/replay/replay.hpp\"\n");
  REQUIRE(two.size() == 2);
  CHECK(two[0] == "sim/step/timer.cpp:1: #include <simgrid/s4u.hpp>: <simgrid/...> belongs to sim/engine alone");
  CHECK(two[1] == "sim/step/timer.cpp:2: #include \"sim/replay/replay.hpp\": sim/step may not see sim/replay");
}

TEST_CASE("made-up lines: allowed") {
  const auto [path, line] = GENERATE(table<const char*, const char*>({
      {"sim/engine/clock.cpp", "#include <simgrid/kernel/resource/Model.hpp>"},
      {"sim/io/json.cpp", "#include <nlohmann/json.hpp>"},
      {"cli/options.cpp", "#include <CLI/CLI.hpp>"},
      {"cli/main.cpp", "#include \"scenarios/read/loader.hpp\""},
      {"sim/replay/replay.cpp", "#include \"sim/engine/events.hpp\""},
      {"policies/learn/isotonic.cpp", "#include \"policies/learn/isotonic.hpp\""},
      {"policies/configure/manual.cpp", "#include \"workloads/world/belief.hpp\""},
      {"report/table.cpp", "#include <fmt/format.h>"},
      {"traces/jobs/job_list.cpp", "// #include <nlohmann/json.hpp>"},
      {"traces/jobs/job_list.cpp", "const char* included = \"sim/io\";"},
  }));
  INFO(path << ": " << line);
  CHECK(rule(path, line) == "");
}

TEST_CASE("made-up lines: forbidden") {
  const std::string root_only = "a path is written from the repository's root, without ./ and ../";
  const std::string no_row = "its folder is in no row of the table (tests/layering/rules.cpp)";
  const auto [path, line, expected] = GENERATE_COPY(table<const char*, const char*, std::string>({
      {"sim/base/errors.cpp", "#include \"sim/cluster/cluster.hpp\"", "sim/base may not see sim/cluster"},
      {"sim/engine/clock.cpp", "#include \"sim/step/op_graph.hpp\"", "sim/engine may not see sim/step"},
      {"sim/replay/replay.cpp", "#include \"sim/io/json.hpp\"", "sim/replay may not see sim/io"},
      {"sim/cluster/cluster.cpp", "#include \"workloads/zoo/zoo.hpp\"", "sim/cluster may not see workloads/zoo"},
      {"workloads/zoo/zoo.cpp", "#include <policies/queue/queue.hpp>", "workloads/zoo may not see policies/queue"},
      {"policies/queue/fifo.cpp", "#include \"traces/jobs/job_list.hpp\"", "policies/queue may not see traces/jobs"},
      {"report/table.cpp", "#include \"scenarios/read/loader.hpp\"", "report may not see scenarios/read"},
      {"report/table.cpp", "#include \"workloads/zoo/zoo.hpp\"", "report may not see workloads/zoo"},
      {"scenarios/read/loader.cpp", "#include \"cli/main.hpp\"", "scenarios/read may not see cli"},
      {"policies/queue/fifo.cpp", "#include <nlohmann/json_fwd.hpp>", "<nlohmann/...> belongs to sim/io alone"},
      {"scenarios/read/loader.cpp", "#include \"nlohmann/json.hpp\"", "<nlohmann/...> belongs to sim/io alone"},
      {"sim/replay/replay.cpp", "\t#include<simgrid/s4u.hpp>", "<simgrid/...> belongs to sim/engine alone"},
      {"experiments/run/run.cpp", "#include <CLI/CLI.hpp>", "<CLI/...> belongs to cli/options.cpp alone"},
      {"cli/main.cpp", "#include <CLI/CLI.hpp>", "<CLI/...> belongs to cli/options.cpp alone"},
      {"policies/place/placement.cpp", "#include \"policies/place/methods/methods.hpp\"",
       "policies/place may not see policies/place/methods"},
      {"scenarios/read/loader.cpp", "#include \"experiments/studies/study.hpp\"",
       "scenarios/read may not see experiments/studies"},
      {"workloads/zoo/zoo.cpp", "#include \"workloads/calibration/energy.hpp\"",
       "workloads/zoo may not see workloads/calibration"},
      {"policies/learn/isotonic.cpp", "#include <pagmo/problem.hpp>", "<pagmo/...> belongs to policies/search alone"},
      {"policies/search/methods.cpp", "#include <coin/ClpSimplex.hpp>",
       "<coin/...> belongs to policies/queue, policies/place/methods alone"},
      {"sim/engine/engine.cpp", "#include <xbt/log.h>", "<xbt/...> belongs to nobody"},
      {"experiments/run/run.cpp", "#include <sqlite3.h>", "<sqlite3.h...> belongs to experiments/sweep alone"},
      {"sim/io/csv.cpp", "#include \"../base/errors.hpp\"", root_only},
      {"sim/io/csv.cpp", "#include \"sim/io/../replay/replay.hpp\"", root_only},
      {"sim/io/csv.cpp", "#include \"./csv.hpp\"", root_only},
      {"sim/io/csv.cpp", "#include </usr/include/simgrid/s4u.hpp>", root_only},
      {"sim/io/csv.cpp", "#include \"csv.hpp\"", "a header of ours is named from the repository's root, any other in <>"},
      {"sim/io/csv.cpp", "#include HEADER", "an include names its file"},
      {"sim/io/csv.cpp", "#include", "an include names its file"},
      {"sim/io/csv.cpp", "#include \"sim/base/errors.hpp", "an include names its file"},
      {"sim/io/csv.cpp", "#include \"sim/attic/old.hpp\"", no_row},
      {"sim/attic/old.cpp", "int x;", no_row},
      {"sim/sim.cpp", "int x;", no_row},
  }));
  INFO(path << ": " << line);
  CHECK(rule(path, line) == expected);
}
