// Measured throughputs: the table, what it does to jobs, and what is refused.
#include "traces/measurements/throughputs.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "experiments/run/run.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

const std::string kTable =
    "job_type,pool,workers,batch,steps_per_s,partner\n"
    "a,,1,64,2,\na,,2,64,3,\na,fast,1,64,8,\n"
    "b,,1,32,5,\nb,,1,32,4,a\na,,1,64,1,b\n";
const std::string kScenario = R"({ "name": "measured", "throughputs": "table.csv",
  "cluster": { "pools": [ { "name": "slow", "instance": "p3.8xlarge", "nodes": 1 },
                          { "name": "fast", "instance": "p3.8xlarge", "nodes": 1 } ] },
  "jobs": [ { "job_id": "one", "job_type": "a", "steps": 600, "batch_size": 64, "gpus": 2, "pool": "slow" },
            { "job_id": "two", "job_type": "a", "steps": 800, "batch_size": 64, "pool": "fast", "submit_s": 10 } ],
  "policies": [ "manual" ] })";

std::string complaints_with(const std::string& table, const std::string& scenario = kScenario) {
  const TemporaryFolder folder;
  folder.write("table.csv", table);
  return complaints(folder, scenario);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Seconds from submission to end, by job.
std::map<std::string, double> completions(const std::string& scenario_text) {
  const TemporaryFolder folder;
  folder.write("table.csv", kTable);
  const auto scenario = scenarios::load_scenario(folder.write("s.json", scenario_text), {});
  scenarios::run_scenario(*scenario, {.out = folder.path() + "/out", .processes = 1});
  std::ifstream file(folder.path() + "/out/jobs.csv");
  std::map<std::string, double> ended;
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream row(line);
    for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
    if (names.empty()) {
      names = fields;
      continue;
    }
    const auto at = [&](const std::string& name) {
      return fields.at(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
    };
    ended[at("job")] = std::stod(at("end_s")) - std::stod(at("submit_s"));
  }
  return ended;
}

/// A file's rows as our own CSV.
std::string imported(const char* format, const std::string& name, const std::string& text, std::string* notes = nullptr) {
  const TemporaryFolder folder;
  const std::string path = folder.write(name, text);
  for (const traces::ThroughputFormat& one : traces::throughput_formats()) {
    if (one.name != format) continue;
    const traces::ThroughputList list = one.read({path});
    std::string rows;
    for (const auto& row : list.rows) rows += traces::throughput_row(row);
    for (const std::string& note : list.notes)
      if (notes != nullptr) *notes += note + "\n";
    return rows;
  }
  return {};
}

}  // namespace

TEST_CASE("throughputs: two jobs take what the table says, worked by hand") {
  // No start-up. One: 600 steps on 2 GPUs of slow at 3 a second, 200 s. Two: the fast pool's own row, 800 steps at 8 a second,
  // 100 s, which counts more than the row of every pool (2 a second).
  const std::string free = with(kScenario, R"("name": "measured",)", R"("name": "measured", "switching": {"start_s": 0},)");
  const std::map<std::string, double> ended = completions(free);
  CHECK(ended.at("one") == Approx(200).epsilon(1e-9));
  CHECK(ended.at("two") == Approx(100).epsilon(1e-9));
  // Whoever places operations has none to place.
  CHECK(completions(with(free, R"([ "manual" ])", R"([ { "name": "placing", "place": "heft" } ])")) == ended);
  // Whatever the world's errors are.
  CHECK(completions(with(free, R"("name": "measured",)", R"("name": "measured", "world": "datasheet",)")) == ended);
}

TEST_CASE("throughputs: partners slow each other as measured") {
  // Alone a does 2 steps a second and b 5; together 1 and 4: slowdowns of 2 and 1.25, in both pools; but a of the fast pool does
  // 8 alone.
  const TemporaryFolder folder;
  folder.write("table.csv", kTable);
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kScenario), {});
  const sim::Profile a{.model = "a"}, b{.model = "b"};
  const sim::Job one{.profile = &a, .work = sim::Work::steps}, other{.profile = &b, .work = sim::Work::steps};
  CHECK(scenario->sharing.slowdown(one, other, 0) == 2);
  CHECK(scenario->sharing.slowdown(one, other, 1) == 8);
  CHECK(scenario->sharing.slowdown(other, one, 0) == 1.25);
  CHECK(scenario->sharing.slowdown(one, one, 0) == sim::kMeasuredSlowdown);
  // A model that is called like a type was not measured.
  const sim::Profile model{.model = "a", .dataset = "imagenet"};
  const sim::Job named_alike{.profile = &model, .work = sim::Work::steps};
  CHECK(scenario->sharing.slowdown(named_alike, other, 0) == sim::kMeasuredSlowdown);
}

TEST_CASE("throughputs: what was not measured is a mistake that says what was") {
  const auto job = [](const char* what, const char* instead) { return complaints_with(kTable, with(kScenario, what, instead)); };
  CHECK(complaints_with(kTable).empty());
  CHECK(has(job(R"("job_type": "a", "steps": 600)", R"("job_type": "aa", "steps": 600)"), "did you mean \"a\"?"));
  CHECK(has(job(R"("batch_size": 64, "gpus": 2)", R"("batch_size": 65, "gpus": 2)"),
            "/jobs/0/batch_size: expected a batch that was measured of this job_type in its pool: 64"));
  CHECK(has(job(R"("gpus": 2)", R"("gpus": 4)"),
            "/jobs/0/gpus: expected a number that was measured of this job_type and batch in its pool: 1, 2"));
  CHECK(has(job(R"("steps": 600)", R"("duration_s": 600)"),
            "/jobs/0/steps: expected the number of steps of a job with a job_type"));
  CHECK(has(job(R"("steps": 600)", R"("steps": 600, "model": "resnet50")"), "nothing beside job_type"));
  CHECK(has(job(R"("throughputs": "table.csv",)", ""), "/jobs/0/job_type"));
  CHECK(has(job(R"("throughputs": "table.csv",)", R"("throughputs": "tables.csv",)"), "/throughputs"));
}

TEST_CASE("throughputs: a hostile table is refused, each row with its mistake") {
  const auto table = [](const std::string& row) { return complaints_with(kTable + row + "\n"); };
  CHECK(
      has(table("a,,1,64,2,"), "table.csv:8: steps_per_s: expected one row for each job_type, pool, workers, batch and partner"));
  CHECK(has(table("c,,1,64,0,"), "table.csv:8: steps_per_s"));
  CHECK(has(table("c,,1,64,1e-310,"), "table.csv:8: steps_per_s"));
  CHECK(has(table("c,,1,64,nan,"), "table.csv:8: steps_per_s"));
  CHECK(has(table("c,,0,64,1,"), "table.csv:8: workers"));
  CHECK(has(table("c,,3,64,1,"), "table.csv:8: batch: expected a global batch that 3 workers can share evenly"));
  CHECK(has(table(",,1,64,1,"), "table.csv:8: job_type"));
  CHECK(has(table("b,,2,32,4,a"), "table.csv:8: workers: expected 1"));
  CHECK(has(table("b,,1,64,4,a"), "table.csv:8: partner: expected a row of the same job_type, pool, workers and batch"));
  CHECK(has(table("b,slow,1,32,4,aa"), "did you mean \"a\"?"));
  CHECK(has(table("b,,1,32"), "table.csv:8"));
  CHECK(has(table("b,,1,1e300,4,"), "table.csv:8: batch"));
  CHECK(has(complaints_with("job_type,workers,batch\na,1,1\n"), "steps_per_s"));
  CHECK(has(complaints_with("job_type,workers,batch,steps_per_s\n"), "at least one throughput"));
  CHECK(has(complaints_with(""), "table.csv"));
  // Rows of other clusters' pools are nobody's mistake.
  CHECK(table("a,elsewhere,1,64,3,").empty());
}

TEST_CASE("throughputs: Gavel's table sums over workers, ElasticFlow's does not") {
  std::string notes;
  CHECK(imported("gavel", "t.json",
                 R"json({"k80": {"('X (batch size 16)', 1)": {"null": 3, "('Y', 1)": [2, 1], "('Y', 2)": [2, 1]},
                                               "('X (batch size 16)', 4)": {"null": 8}, "('Y', 1)": {"null": 0.0}, "odd": {}
}
, "k80_unconsolidated" : {}
})json",
                 &notes) == "X (batch size 16),k80,1,16,3,\nX (batch size 16),k80,1,16,2,Y\nX (batch size 16),k80,4,64,2,\n");
  CHECK(has(notes, "left out, pairs of jobs with several workers: 1"));
  CHECK(has(notes, "left out, types that did not run on a device: 1"));
  CHECK(has(notes, "left out, keys that are not ('TYPE', workers): 1"));
  CHECK(imported("elasticflow", "bert.csv", "global_batch_size,1,2,4\n64,6,8.5,\n2,1,nan,3\n") ==
        "bert,,1,64,6,\nbert,,2,64,8.5,\nbert,,1,2,1,\n");
  CHECK_THROWS_AS(imported("elasticflow", "bert.csv", "global_batch_size,1\n64,-6\n"), sim::InputError);
  CHECK_THROWS_AS(imported("gavel", "t.json", "{}"), sim::InputError);
}

TEST_CASE("throughputs: what several files have alike stands once in what is written") {
  const TemporaryFolder folder;
  const std::vector<std::string> paths{folder.write("one.json", R"json({"k80": {"('X (batch size 16)', 1)": {"null": 3}}})json"),
                                       folder.write("two.json", R"json({"k80": {"('X (batch size 16)', 1)": {"null": 4},
        "('X (batch size 16', 1)": {"null": 4}, "('Y', 1)": {"null": 5}, "('Z', 1000001)": {"null": 5}}})json")};
  for (const traces::ThroughputFormat& format : traces::throughput_formats()) {
    if (format.name != "gavel") continue;
    const traces::ThroughputList list = format.read(paths);
    REQUIRE(list.rows.size() == 2);
    CHECK(list.rows[0].steps_per_s == 3);
    CHECK(list.rows[1].job_type == "Y");
    CHECK(std::ranges::find(list.notes, "left out, settings that were there already: 1") != list.notes.end());
    CHECK(std::ranges::find(list.notes, "left out, keys that are not ('TYPE', workers): 2") != list.notes.end());
  }
}

TEST_CASE("throughputs: traces of measured jobs drop what the table has not") {
  const TemporaryFolder folder;
  folder.write("table.csv", "job_type,workers,batch,steps_per_s\nbert,1,64,6\nbert,2,64,8\nX (batch size 16),2,32,1\n");
  folder.write("ef.csv",
               "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
               "good,0,100,bert,500,64,2,10\nsize,0,100,bert,500,64,4,10\nbatch,0,100,bert,500,65,1,10\nname,0,1,vgg,5,1,1,1\n");
  folder.write("gavel.trace", "X (batch size 16)\tc\td\t-n\t1\t21\t2\t1\t-1\t0\nZ\tc\td\t-n\t1\t21\t2\t1\t-1\t0\n");
  const auto scenario =
      scenarios::load_scenario(folder.write("s.json", R"({ "name": "n", "throughputs": "table.csv", "policies": ["manual"],
        "cluster": { "pools": [ { "name": "p", "instance": "p3.8xlarge", "nodes": 1 } ] },
        "jobs": [ { "trace": "ef.csv", "format": "elasticflow-measured" }, { "trace": "gavel.trace", "format": "gavel-measured" } ] })"),
                               {});
  REQUIRE(scenario->jobs.size() == 2);
  CHECK(scenario->jobs[0].profile->model == "bert");
  CHECK(scenario->jobs[0].duration_s == 0);
  // 21 mini-batches of two workers are 11 steps.
  CHECK(scenario->jobs[1].steps == 11);
  CHECK(scenario->jobs[1].batch_size == 32);
}
