#include "report/table.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <limits>
#include <sstream>

#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

namespace {

using namespace rehearse::report;

const Table kTable{.name = "steps",
                   .title = "Steps",
                   .columns = {{"device", "device"}, {"step_s", "step, s", "{:.2f}"}, {"hidden", ""}},
                   .rows = {{"a \"b\", c", 1.25, 3.0}, {"v100", std::numeric_limits<double>::quiet_NaN(), 0.5}}};

TEST_CASE("a table on the terminal: text flush left, numbers flush right, columns without a heading only in files") {
  CHECK(table_text(kTable) ==
        "Steps\n"
        "device    step, s\n"
        "-----------------\n"
        "a \"b\", c     1.25\n"
        "v100            -\n");
  Table silent = kTable;
  silent.title.clear();
  CHECK(table_text(silent).empty());
}

TEST_CASE("a table in files: quoted as CSV and JSON ask, undefined numbers empty or null") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/steps.csv";
  write_csv(path, kTable);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  CHECK(text.str() == "device,step_s,hidden\n\"a \"\"b\"\", c\",1.25,3\nv100,,0.5\n");
  CHECK(table_json(kTable) == R"([
      {"device": "a \"b\", c", "step_s": 1.25, "hidden": 3},
      {"device": "v100", "step_s": null, "hidden": 0.5}])");
}

TEST_CASE("a row of another length than its table is a bug") {
  const TemporaryFolder folder;
  Table broken = kTable;
  broken.rows.push_back({"k80"});
  CHECK_THROWS_AS(write_csv(folder.path() + "/steps.csv", broken), rehearse::sim::CheckFailed);
}

}  // namespace
