#include "traces/nodes/availability.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "sim/base/errors.hpp"

namespace {

using namespace rehearse;
namespace fs = std::filesystem;

const std::string kHeader = "start_date,zone,gpu,gpus_per_node,time_s,available_nodes,length_s\n";

class File {
 public:
  explicit File(const std::string& text)
      : path_(fs::temp_directory_path() / ("rehearse_spot_" + std::to_string(::getpid()) + ".csv")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string complaint(const std::string& text) {
  const File file(text);
  try {
    traces::read_spot_series(file.path(), 100);
  } catch (const sim::InputError& error) {
    return error.what();
  }
  return "";
}

// Steps of 100 s: 250 s up are steps 0 and 1; what changes in step 2 counts as what comes. The series ends at 480 s: four steps.
TEST_CASE("runs become steps, series are kept apart") {
  const File file(kHeader + "d,a,v100,1,0,2,250\nd,b,v100,1,0,0,300\nd,a,v100,1,250,0,230\n");
  const auto all = traces::read_spot_series(file.path(), 100);
  REQUIRE(all.size() == 2);
  CHECK(all[0].zone == "a");
  CHECK(all[0].up == std::vector<std::uint8_t>{1, 1, 0, 0});
  CHECK(all[1].up == std::vector<std::uint8_t>{0, 0, 0});
}

TEST_CASE("availability of other forms is refused, with line and column") {
  const auto has = [](const std::string& said, const std::string& part) { return said.find(part) != std::string::npos; };
  const std::string good = "d,a,v100,1,0,1,100\n";
  CHECK(has(complaint("zone,gpu\n"), "start_date"));
  CHECK(complaint(kHeader) != "");
  for (const auto& [row, column] :
       std::vector<std::pair<std::string, std::string>>{{"d,a,v100,1,90,1,100", "time_s"},        // overlaps
                                                        {"d,a,v100,1,200,1,100", "time_s"},       // a gap
                                                        {"d,b,v100,1,100,1,100", "time_s"},       // begins late
                                                        {"d,a,v100,1,100,1,0", "length_s"},       // nothing
                                                        {"d,a,v100,1,100,1,-5", "length_s"},      //
                                                        {"d,a,v100,1,100,1,1e300", "length_s"},   // centuries
                                                        {"d,a,v100,1,100,1,nan", "length_s"},     //
                                                        {"d,a,v100,1,100,-1,100", "available"},   //
                                                        {"d,a,v100,1,100,0.5,100", "available"},  //
                                                        {"d,a,v100,0,100,1,100", "gpus_per_node"},
                                                        {"d,,v100,1,100,1,100", "zone"},
                                                        {"d,a,v100,1", ""}}) {
    INFO(row);
    const std::string said = complaint(kHeader + good + row + "\n");
    CHECK(has(said, ":3:"));
    CHECK(has(said, column));
  }
}

// Shares as of the files themselves, in steps of 180 s.
TEST_CASE("the traces of Can't Be Late: twelve series, their availability") {
  const char* data = std::getenv("REHEARSE_DATA");
  const std::string path = std::string(data == nullptr ? "" : data) + "/spot_traces/availability.csv";
  if (data == nullptr || !fs::exists(path)) {
    WARN("skipped: REHEARSE_DATA holds no spot_traces/availability.csv");
    return;
  }
  const auto all = traces::read_spot_series(path, 180);
  CHECK(all.size() == 12);
  for (const traces::SpotSeries& series : all) {
    if (series.gpu != "v100" || series.gpus_per_node != 1 || series.start_date != "02-15-2023") continue;
    const double share = std::accumulate(series.up.begin(), series.up.end(), 0.0) / static_cast<double>(series.up.size());
    if (series.zone == "us-east-1a") CHECK(share == Approx(0.1667).margin(0.001));
    if (series.zone == "us-west-2b") CHECK(share == Approx(0.9050).margin(0.001));
  }
}

}  // namespace
