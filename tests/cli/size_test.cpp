// What the program says of large scenarios, and that it keeps to the memory it may take.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/cli/program.hpp"

namespace {

namespace fs = std::filesystem;

const std::string kGenerated = R"({ "name": "s",
  "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 10, "arrivals_per_hour": 1000 } ],
  "policies": [ "manual" ] })";

/// Names of scenarios that need files of the optional data, which may not be there.
bool needs_data(const fs::path& scenario) { return has(text_of(scenario), "${REHEARSE_DATA}"); }

// Sanitized, "every shipped scenario loads" reads them all, at one start.
TEST_CASE("check accepts every scenario that ships, studies included", "[unsanitized]") {
  const TemporaryFolder folder;
  const fs::path root = REHEARSE_SOURCE_DIR "/scenarios";
  int studies = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const std::string folder_name = entry.path().parent_path().filename();
    if (entry.path().extension() != ".json" || entry.path().filename() == "suite.json" || folder_name == "schema" ||
        has(entry.path().string(), "/recorded/"))
      continue;
    if (needs_data(entry.path()) && std::getenv("REHEARSE_DATA") == nullptr) continue;
    const Ended ended = run_program(folder.path(), {"check", entry.path().string()});
    INFO(entry.path() << ": " << ended.err);
    CHECK(ended.status == 0);
    studies += has(ended.out, "no mistakes; study ");
  }
  CHECK(studies >= 16);
}

TEST_CASE("check reads a study by its own reader and tells all its mistakes; only a sweep refuses one") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "study": { "name": "placement", "graphs": [ { "model": "resnet5", "batch": 32 } ],
  "machines": [ { "pool": "w" } ], "methods": [ "mets" ] },
  "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] } })");
  const Ended ended = run_program(folder.path(), {"check", "s.json"});
  CHECK(ended.status == 3);
  for (const char* pointer : {"/study/graphs/0", "/study/machines/0/pool", "/study/methods/0"}) CHECK(has(ended.err, pointer));
  const std::string shipped = REHEARSE_SOURCE_DIR "/scenarios/place/placement-zoo.json";
  const Ended swept = run_program(folder.path(), {"sweep", shipped});
  CHECK(swept.status == 3);
  CHECK(has(swept.err, "/study: expected a scenario without a study to sweep"));
}

TEST_CASE("a large run is told of before it starts, a small one is not") {
  const TemporaryFolder folder;
  folder.write("s.json", kGenerated);
  CHECK(run_program(folder.path(), {"check", "s.json"}).err == "");
  // 10,000,000 jobs of 7,800 bytes, and 27 MB: 78 GB.
  const Ended many = run_program(folder.path(), {"check", "s.json", "--set", "/jobs/0/count=10000000"});
  CHECK(many.status == 0);
  CHECK(has(many.err, "warning: this is large: 10,000,000 jobs and about 40,000,000 events a run; in all about 78 GB of memory"));
  // A failure and its repair every 1 + 1 seconds for a year of 3.2e7 s on 10,000 nodes: 3.2e11 events.
  folder.write("f.json", R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 10000 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 3.2e7 } ], "failures": { "mtbf_s": 1, "repair_s": 1 }, "policies": [ "manual" ] })");
  CHECK(has(run_program(folder.path(), {"check", "f.json"}).err, "1 job and about 320,000,000,000 events a run"));
}

// Of a sanitized program the sanitizer's shadow would be counted.
TEST_CASE("a run that takes more memory than it may is a failed row with a message", "[unsanitized]") {
  const TemporaryFolder folder;
  folder.write("s.json", kGenerated);
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--set", "/jobs/0/count=300000", "--max-memory", "100MB"});
  CHECK(ended.status == 5);
  CHECK(has(ended.out, "manual  FAILED: out of memory: 100 MB (--max-memory"));
  CHECK(!has(ended.err, "bug"));
  CHECK(!has(ended.out + ended.err, "bad_alloc"));
}

TEST_CASE("two runs at once share the memory", "[unsanitized]") {
  const TemporaryFolder folder;
  folder.write("s.json", kGenerated);
  const Ended ended =
      run_program(folder.path(), {"run", "s.json", "--set", "/jobs/0/count=300000", "--set",
                                  "/policies=[\"manual\", \"resource-only\"]", "--processes", "2", "--max-memory", "200MB"});
  CHECK(ended.status == 5);
  CHECK(has(ended.out, "its share of 200 MB"));
}

TEST_CASE("a sweep's run that takes more memory than it may is a failed row", "[unsanitized]") {
  const TemporaryFolder folder;
  folder.write("s.json", kGenerated);
  const Ended ended = run_program(folder.path(), {"sweep", "s.json", "--set", "/jobs/0/count={\"sweep\": [5, 300000]}",
                                                  "--processes", "1", "--max-memory", "100MB"});
  CHECK(ended.status == 5);
  CHECK(has(ended.out, "1 ok"));
  CHECK(has(ended.out, "1 failed, the first of them: out of memory: 100 MB"));
}

TEST_CASE("a trace that does not fit into the memory ends check with a message", "[unsanitized]") {
  const TemporaryFolder folder;
  std::string trace = "job_id,submit_s,gpus,duration_s\n";
  for (int i = 0; i < 300000; ++i) trace += "job-" + std::to_string(i) + "," + std::to_string(i) + ",1,60\n";
  folder.write("t.csv", trace);
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "trace": "t.csv" } ], "policies": [ "manual" ] })");
  const Ended ended = run_program(folder.path(), {"check", "s.json", "--max-memory", "60MB"});
  CHECK(ended.status == 3);
  CHECK(ended.err == "out of memory: 60 MB (--max-memory; 80 % of the machine's memory if left out)\n");
}

}  // namespace
