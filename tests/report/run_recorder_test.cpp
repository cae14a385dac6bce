#include "report/run_recorder.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "policies/queue/line_orders.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "tests/sim/replay/toy.hpp"

using namespace toy;
using namespace rehearse::report;
using rehearse::policies::Fifo;

namespace {

const Profile kProfile{.model = "toy", .dataset = "tenths"};
constexpr double kReferenceUsd = 0.002, kProfilingUsd = 0.001;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  if (!text.empty() && text.back() == by && by == ',') parts.emplace_back();
  return parts;
}

/// Numbers to rounding, the rest exactly.
void check_row(const std::string& row, const std::string& expected) {
  INFO(row);
  INFO(expected);
  const std::vector<std::string> cells = split(row, ','), wanted = split(expected, ',');
  REQUIRE(cells.size() == wanted.size());
  for (std::size_t c = 0; c < cells.size(); ++c) {
    char* end = nullptr;
    const double number = std::strtod(wanted[c].c_str(), &end);
    INFO("cell " << c);
    if (wanted[c].empty() || *end != '\0')
      CHECK(cells[c] == wanted[c]);
    else
      CHECK(std::strtod(cells[c].c_str(), nullptr) == Approx(number).epsilon(1e-9));
  }
}

/// A folder with the records of one run.
class Recorded {
 public:
  Recorded() : folder_((std::filesystem::temp_directory_path() / "rehearse_records_XXXXXX").string()) {
    REQUIRE(::mkdtemp(folder_.data()) != nullptr);
  }
  ~Recorded() { std::filesystem::remove_all(folder_); }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  RunOutcome run(World& world, std::vector<Job> jobs, Queue& queue, RecordFiles files) {
    RunRecorder recorder({.folder = folder_,
                          .policy = "p",
                          .repetition = 2,
                          .files = files,
                          .cluster = &world.cluster,
                          .reference_cost_usd = [](const Job&) { return kReferenceUsd; },
                          .profiling_usd = [](const Profile&) { return kProfilingUsd; }});
    world.recorder = &recorder;
    return recorder.finish(world.run(std::move(jobs), queue));
  }
  /// Without the header, which is checked.
  std::vector<std::string> rows(const RecordFile& file) const {
    std::vector<std::string> lines = split(rehearse::sim::read_file(folder_ + "/" + std::string(file.name), 1 << 20), '\n');
    if (file.header.empty()) return lines;
    REQUIRE(!lines.empty());
    CHECK(lines.front() == file.header);
    lines.erase(lines.begin());
    for (const std::string& line : lines) CHECK(split(line, ',').size() == split(std::string(file.header), ',').size());
    return lines;
  }
  bool has(const RecordFile& file) const { return std::filesystem::exists(folder_ + "/" + std::string(file.name)); }

 private:
  std::string folder_;
};

constexpr RecordFiles kAll{.events = true, .stages = true, .curves = true, .predictions = true, .utilization = true};

/// 4 GPUs on a node at 0.001 dollars a second; "late" holds 2 for 10 s and had 5; "t" trains on the other 2 from 1 s on.
struct TwoJobs {
  World world{.cluster = cluster({{1, 4}}), .costs = {.start_s = 30}, .samples = true};
  Job late = rigid("late", 0, 2, 10);
  Job t{.name = "t", .user = "ann", .profile = &kProfile, .submit_s = 1, .work = Work::train, .target_accuracy = 0.3};
  TwoJobs() {
    late.deadline_s = 5;
    world.menus.menu.ranked = {choice(0, 2, 25)};
    world.menus.menu.ranked[0].predicted = {.time_s = 40, .accuracy = 0.25, .cost_usd = 0.02, .epochs = 4, .note = "a guess"};
    world.menus.menu.remedy = "nothing";
  }
};

}  // namespace

TEST_CASE("records of two jobs by hand") {
  TwoJobs jobs;
  jobs.t.cost_limit_usd = 0.02;
  Fifo fifo;
  Recorded recorded;
  const RunOutcome outcome = recorded.run(jobs.world, {jobs.late, jobs.t}, fifo, kAll);

  // late: 2 of 4 GPUs for 10 s: 0.005 dollars, 2 x 300 W x 10 s = 6000 J, 20 device-seconds; effective 0.005 + 0.002.
  // t: 30 s of start, then 3 epochs of 2 steps of 1 s and an evaluation of 0.25 s: 6.75 s; ends at 37.75 s. 36.75 s x 0.0005 =
  // 0.018375 dollars; 2 x (100 W x 30 s + 200 W x 6.75 s) = 8700 J; 73.5 device-seconds.
  const std::vector<std::string> rows = recorded.rows(kJobsFile);
  REQUIRE(rows.size() == 2);
  check_row(rows[0], "p,2,late,,,,0,0,10,finished,,pool0,2,0,0,5,false,,,,0.005,0.007,6000,20,0,0,,,0.005");
  check_row(
      rows[1],
      "p,2,t,ann,toy,tenths,1,1,37.75,finished,,pool0,2,50,3,,,0.3,0.3,true,0.018375,0.018375,8700,73.5,0,0,0.02,true,0.018375");

  const std::vector<std::string> decisions = recorded.rows(kDecisionsFile);
  REQUIRE(decisions.size() == 3);
  check_row(decisions[0], "p,2,0,late,start,0,pool0,2,0,0,10,,0.005,true,false,");
  check_row(decisions[1], "p,2,1,t,configure,0,pool0,2,50,0,40,0.25,0.02,true,false,a guess; nothing");
  check_row(decisions[2], "p,2,1,t,start,0,pool0,2,50,0,40,0.25,0.02,true,false,a guess; nothing");

  // Progress is not counted in this toy world; its noise scale is 10 and nobody saw it.
  const std::vector<std::string> stages = recorded.rows(kStagesFile);
  REQUIRE(stages.size() == 2);
  check_row(stages[1], "p,2,t,0,pool0,2,50,0,1,37.75,1,0,10,,0.3,0.3,0.018375,0.015");

  // The first step is at 31 s; epochs end 2.25 s apart. Money since the stage's start: 32.25, 34.5, 36.75 s at 0.0005.
  const std::vector<std::string> curves = recorded.rows(kCurvesFile);
  REQUIRE(curves.size() == 3);
  check_row(curves[0], "p,2,t,1,33.25,100,0.1,0.1,0.016125");
  check_row(curves[1], "p,2,t,2,35.5,200,0.2,0.2,0.01725");
  check_row(curves[2], "p,2,t,3,37.75,300,0.3,0.3,0.018375");

  // late was predicted too: a rigid job's own duration and its cost.
  const std::vector<std::string> predictions = recorded.rows(kPredictionsFile);
  REQUIRE(predictions.size() == 6);
  check_row(predictions[0], "p,2,late,time_s,10,10");
  check_row(predictions[1], "p,2,late,cost_usd,0.005,0.005");
  check_row(predictions[2], "p,2,t,time_s,40,36.75");
  check_row(predictions[3], "p,2,t,epochs,4,3");
  check_row(predictions[4], "p,2,t,accuracy,0.25,0.3");
  check_row(predictions[5], "p,2,t,cost_usd,0.02,0.018375");

  CHECK(
      recorded.rows(kEventsFile) ==
      std::vector<std::string>{
          R"({"policy":"p","repetition":2,"time_s":0,"event":"submitted","job":"late"})",
          R"({"policy":"p","repetition":2,"time_s":0,"event":"started","job":"late","pool":"pool0","workers":2,"batch_size":0})",
          R"({"policy":"p","repetition":2,"time_s":0,"event":"running","job":"late","pool":"pool0","workers":2,"batch_size":0})",
          R"({"policy":"p","repetition":2,"time_s":1,"event":"submitted","job":"t"})",
          R"({"policy":"p","repetition":2,"time_s":1,"event":"started","job":"t","pool":"pool0","workers":2,"batch_size":50})",
          R"({"policy":"p","repetition":2,"time_s":10,"event":"finished","job":"late","pool":"pool0","workers":2,"batch_size":0})",
          R"({"policy":"p","repetition":2,"time_s":31,"event":"running","job":"t","pool":"pool0","workers":2,"batch_size":50})",
          R"({"policy":"p","repetition":2,"time_s":37.75,"event":"finished","job":"t","pool":"pool0","workers":2,"batch_size":50})"});

  // Nobody waits, so nothing is fragmented. After 1 s: late computes on 2, t holds 2 and starts: 2 x 300 + 2 x 100 W. From 31 s
  // on t alone, half busy: 2 x 200 + 200 W.
  const std::vector<std::string> use = recorded.rows(kUtilizationFile);
  REQUIRE(use.size() == 5);
  check_row(use[0], "p,2,0,pool0,2,2,0,800,0");
  check_row(use[1], "p,2,1,pool0,2,4,0,800,0");
  check_row(use[2], "p,2,10,pool0,0,2,0,400,0");
  check_row(use[3], "p,2,31,pool0,1,2,0,600,0");
  check_row(use[4], "p,2,37.75,pool0,0,0,0,400,0");

  REQUIRE(outcome.jobs.size() == 2);
  CHECK(outcome.jobs[0].seconds_late == 5);
  CHECK_FALSE(outcome.jobs[0].keeps_limits);
  CHECK(outcome.jobs[0].effective_cost_usd == Approx(0.007));
  CHECK(outcome.jobs[1].effective_cost_usd == Approx(0.018375));
  CHECK(outcome.jobs[1].keeps_limits);
  CHECK(outcome.jobs[1].completion_s == 36.75);
  CHECK(outcome.metrics.profiling_cost_usd == Approx(kProfilingUsd));
  CHECK(outcome.metrics.cost_usd == Approx(0.005 + 0.018375 + 0.001));
  CHECK(outcome.metrics.effective_cost_usd == Approx(0.007 + 0.018375 + 0.001));
  CHECK(outcome.metrics.cost_switch_usd == Approx(0.015));
  CHECK(outcome.metrics.energy_kwh == Approx(14700 / 3.6e6));
}

TEST_CASE("a job that costs more than its limit breaks it") {
  TwoJobs jobs;
  jobs.t.cost_limit_usd = 0.018;  // of 0.018375
  Fifo fifo;
  Recorded recorded;
  const RunOutcome outcome = recorded.run(jobs.world, {jobs.t}, fifo, kAll);
  CHECK(recorded.rows(kJobsFile)[0].ends_with(",0.018,false,0.018375"));
  CHECK_FALSE(outcome.jobs[0].keeps_limits);
  CHECK(outcome.jobs[0].effective_cost_usd == Approx(0.018375 + kReferenceUsd));
}

TEST_CASE("files that nobody asked for are not written") {
  TwoJobs jobs;
  Fifo fifo;
  Recorded recorded;
  recorded.run(jobs.world, {jobs.late}, fifo, {});
  CHECK(recorded.has(kJobsFile));
  CHECK(recorded.has(kDecisionsFile));
  for (const RecordFile* file : {&kEventsFile, &kStagesFile, &kCurvesFile, &kPredictionsFile, &kUtilizationFile})
    CHECK_FALSE(recorded.has(*file));
}

TEST_CASE("a job that never ran has a row without a start, and pays its reference") {
  TwoJobs jobs;
  Fifo fifo;
  Recorded recorded;
  const RunOutcome outcome = recorded.run(jobs.world, {rigid("big, too", 3, 9, 10)}, fifo, kAll);
  const std::vector<std::string> rows = recorded.rows({kJobsFile.name, ""});
  REQUIRE(rows.size() == 2);
  CHECK(rows[1] == "p,2,\"big, too\",,,,3,,3,failed,does_not_fit,,0,0,0,,,,,,0,0.002,0,0,0,0,,,0");
  CHECK(recorded.rows(kPredictionsFile).empty());
  CHECK(outcome.jobs[0].effective_cost_usd == kReferenceUsd);
  CHECK(outcome.metrics.jobs_failed == 1);
}

TEST_CASE("a folder that is not there is the user's mistake") {
  const Cluster none;
  CHECK_THROWS_AS(RunRecorder({.folder = std::string("/no/such/folder"), .policy = "p", .cluster = &none}),
                  rehearse::sim::InputError);
}

TEST_CASE("the life of a job, and what happens to its node") {
  // Start to 5 s, 4 steps, checkpoint to 11, 1 step; the node is down from 12 to 20. Start to 25, 4 steps, checkpoint to 31, 2
  // steps to 33. Held 12 + 13 s: 10 steps, 1 lost, 2 starts of 5 s and 2 checkpoints of 2 s. 0.001 dollars a second.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.checkpoints.interval_s = 4;
  world.nodes.measured = {{0, 0, 12, 8}};
  Fifo fifo;
  Recorded recorded;
  recorded.run(world, {{.name = "t", .profile = &kProfile, .work = Work::steps, .steps = 10}}, fifo,
               {.events = true, .life = true});
  REQUIRE(recorded.rows(kLifeFile).size() == 1);
  check_row(recorded.rows(kLifeFile)[0], "p,2,t,25,10,14,1,0.001,2,1");
  const std::vector<std::string> events = recorded.rows(kEventsFile);
  REQUIRE(events.size() == 9);
  CHECK(events[3] == R"({"policy":"p","repetition":2,"time_s":12,"event":"node_failed","node":"pool0/0"})");
  CHECK(events[4].find(R"("event":"interrupted","job":"t")") != std::string::npos);
  CHECK(events[5] == R"({"policy":"p","repetition":2,"time_s":20,"event":"node_repaired","node":"pool0/0"})");
}
