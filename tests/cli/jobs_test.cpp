#include <catch2/catch.hpp>

#include "tests/cli/program.hpp"

using Catch::Matchers::Contains;

namespace {

Ended program(const TemporaryFolder& folder, std::vector<std::string> arguments) {
  return Program(folder.path(), std::move(arguments)).wait();
}

const std::string kPhilly =
    "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    "2017-10-09 06:13:03,2951.0,0,2951.0,6214e9\n"
    "2017-10-10 06:13:03,2951.0,1,2951.0,6214e9\n";

}  // namespace

TEST_CASE("a trace is imported, and what is imported runs") {
  const TemporaryFolder folder;
  folder.write("philly.csv", kPhilly);
  const Ended import = program(folder, {"import", "jobs", "philly", "philly.csv", "--to", "2017-10-10", "-o", "jobs.csv"});
  CHECK(import.err.empty());
  REQUIRE(import.status == 0);
  CHECK_THAT(import.out, Contains("3 rows, 1 job, 1 row dropped, 1 left out") && Contains("jobs.csv: 1 job\n"));
  CHECK(text_of(folder.path() + "/jobs.csv") ==
        "job_id,submit_s,gpus,duration_s,user,partition\nphilly-1,1507532515,1,66,11cb48,11cb48\n");
  folder.write("s.json", R"({"name": "s", "cluster": {"pools": [{"name": "k80", "instance": "p2.xlarge", "nodes": 1}]},
    "jobs": [{"trace": "jobs.csv"}], "policies": ["manual"]})");
  CHECK(program(folder, {"run", "s.json"}).status == 0);
}

TEST_CASE("import of jobs refuses what it cannot do, and leaves no file") {
  const TemporaryFolder folder;
  folder.write("philly.csv", kPhilly);
  const auto import = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"import", "jobs", "philly", "philly.csv", "-o", "jobs.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return program(folder, arguments);
  };
  CHECK_THAT(import({"--from", "yesterday"}).err, Contains("--from: expected seconds as the file counts them, or a date"));
  CHECK_THAT(import({"--map-model", "vgg"}).err, Contains("expected THEIRS=OURS"));
  CHECK(import({"--sample", "2"}).status == 2);
  CHECK_THAT(import({"--scale-load", "nan"}).err, Contains("expected a number from 1e-06 to 1000000, found nan"));
  CHECK_THAT(program(folder, {"import", "jobs", "philly", "philly.csv", "-o", "./philly.csv"}).err,
             Contains("expected another file than the one that is read"));
  CHECK(import({"--to", "0"}).status == 3);  // no job is left
  CHECK_FALSE(std::ifstream(folder.path() + "/jobs.csv"));
  CHECK_FALSE(std::ifstream(folder.path() + "/jobs.csv.part"));
}

TEST_CASE("jobs and results leave in other people's formats") {
  const TemporaryFolder folder;
  folder.write("philly.csv", kPhilly);
  const Ended swf = program(folder, {"export", "jobs", "swf", "philly.csv", "--format", "philly", "-o", "jobs.swf"});
  CHECK(swf.status == 0);
  CHECK_THAT(swf.out, Contains("3 rows, 2 jobs, 1 row dropped") && Contains("jobs.swf: 2 jobs"));
  folder.write("s.json", R"({"name": "s", "cluster": {"pools": [{"name": "k80", "instance": "p2.xlarge", "nodes": 1}]},
    "jobs": [{"trace": "jobs.swf", "format": "swf"}], "policies": ["manual"]})");
  REQUIRE(program(folder, {"run", "s.json"}).status == 0);
  CHECK(program(folder, {"export", "results", "batsim-jobs", "results/s", "-o", "jobs.csv"}).status == 0);
  CHECK_THAT(text_of(folder.path() + "/jobs.csv"),
             Contains("philly-1,rehearse,,0,1,,1,COMPLETED_SUCCESSFULLY,0,66,66,0,66,1,,,"));
  CHECK(program(folder, {"export", "results", "paje", "results/s", "-o", "jobs.paje"}).status == 0);
  CHECK_THAT(text_of(folder.path() + "/jobs.paje"), Contains("8 0 BUSY p0 1"));
}

TEST_CASE("a log in SWF is replayed as it was recorded, and accounted for in check and in the results") {
  // Job 1 ran for 3,700 s and completed, beyond its limit of 3,600; job 3 ran for less than a second, half of one by the
  // standard; job 4 did not run. Nothing waits on eight GPUs: the mean is (3700 + 120 + 0.5 + 100) / 4 = 980.125 s. GPU-hours of
  // the log: (4 x 3700 + 2 x 120 + 2 x 100) / 3600 = 15240 / 3600, and 2 x 0.5 s more of what is kept.
  const TemporaryFolder folder;
  folder.write("over.swf",
               "; Version: 2.2\n; MaxProcs: 8\n"
               "1 0 0 3700 4 -1 -1 4 3600 -1 1 1 1 -1 1 -1 -1 -1\n"
               "2 10 -1 120 2 -1 -1 2 600 -1 1 2 1 -1 1 -1 -1 -1\n"
               "3 20 5 0 2 -1 -1 2 600 -1 5 2 1 -1 1 -1 -1 -1\n"
               "4 30 5 -1 0 -1 -1 2 600 -1 5 2 1 -1 1 -1 -1 -1\n"
               "5 40 0 100 -1 -1 -1 2 600 -1 1 2 1 -1 1 -1 -1 -1 17\n");
  folder.write("s.json", R"({"name": "s", "cluster": {"pools": [{"name": "v100", "instance": "p3.16xlarge", "nodes": 1}]},
    "jobs": [{"trace": "over.swf", "format": "swf"}], "policies": [{"name": "fifo"}, {"name": "easy", "queue": "easy"}]})");
  CHECK_THAT(program(folder, {"check", "s.json"}).out,
             Contains("5 rows, 4 used") && Contains("requested time: a limit of at least the time run") &&
                 Contains("GPU-hours: 4.23333333333 read, 4.23361111111 kept") && Contains("more than 18 fields"));
  REQUIRE(program(folder, {"run", "s.json", "--out", "results"}).status == 0);
  const std::string summary = text_of(folder.path() + "/results/summary.json");
  CHECK_THAT(summary, Contains("\"jct_mean_s\": {\"mean\": 980.125") &&
                          Contains("\"GPU-hours: 4.23333333333 read, 4.23361111111 kept\"") && Contains("more than 18 fields"));
  CHECK_THAT(program(folder, {"describe", "over.swf", "--format", "swf"}).out, Contains("GPU-hours: 4.23333333333 read"));
  // Of a part of the file the notes are those on what was read.
  CHECK_THAT(program(folder, {"import", "jobs", "swf", "over.swf", "--count", "1", "-o", "first.csv"}).out,
             Contains("1 row, 1 job") && Contains("GPU-hours: 4.11111111111 read") && Contains("counts as a GPU"));
}

TEST_CASE("import of the first jobs tells their mean load, and check of a cluster that is too small for it") {
  const TemporaryFolder folder;
  // Two GPUs for 100 s, every 100 s: 200 GPU-seconds a job, 40 of them over 39 gaps.
  std::string rows = "job_id,submit_s,gpus,duration_s\n";
  for (int job = 0; job < 60; ++job) rows += "j" + std::to_string(job) + "," + std::to_string(100 * job) + ",2,100\n";
  folder.write("all.csv", rows);
  const Ended import = program(folder, {"import", "jobs", "native", "all.csv", "--count", "40", "-o", "jobs.csv"});
  REQUIRE(import.status == 0);
  CHECK_THAT(import.out, Contains("jobs.csv: 40 jobs, mean load 2.051 GPUs"));
  CHECK_THAT(text_of(folder.path() + "/jobs.csv"), Contains("j39,") && !Contains("j40,"));
  const auto checked = [&](int nodes) {
    folder.write("s.json", R"({"cluster": {"pools": [{"name": "v100", "instance": "p3.2xlarge", "nodes": )" +
                               std::to_string(nodes) + R"(}]}, "jobs": [{"trace": "jobs.csv"}], "policies": ["manual"]})");
    return program(folder, {"check", "s.json"}).err;
  };
  CHECK_THAT(checked(2), Contains("the mean load of the jobs, 2.051 GPUs, is more than the 2 of the cluster"));
  CHECK(checked(3).empty());
}

TEST_CASE("import, describe and synthesize tell no mean load of a burst, and check does not warn of it") {
  const TemporaryFolder folder;
  folder.write("all.csv", "job_id,submit_s,gpus,duration_s\na,0,1,3600\nb,1,1,3600\n");
  const Ended import = program(folder, {"import", "jobs", "native", "all.csv", "-o", "jobs.csv"});
  CHECK_THAT(import.out, Contains("jobs.csv: 2 jobs\n") && !Contains("mean load"));
  CHECK_THAT(program(folder, {"describe", "jobs.csv"}).out,
             Contains("mean load           none: a burst") && Contains("; 2 GPU-hours"));
  CHECK_THAT(program(folder, {"synthesize", "jobs.csv", "-o", "new.csv"}).out,
             Contains("new.csv: 2 jobs\n") && !Contains("mean load"));
  folder.write("s.json", R"({"cluster": {"pools": [{"name": "v100", "instance": "p3.2xlarge", "nodes": 1}]},
    "jobs": [{"trace": "jobs.csv"}], "policies": ["manual"]})");
  CHECK_THAT(program(folder, {"check", "s.json"}).err, !Contains("mean load"));
}

TEST_CASE("check says whose decisions its estimate leaves out") {
  const TemporaryFolder folder;
  const auto checked = [&](const std::string& policies) {
    folder.write("s.json", R"({"cluster": {"pools": [{"name": "v100", "instance": "p3.2xlarge", "nodes": 4}]},
      "jobs": [{"gpus": 1, "duration_s": 60, "submit_s": 0}], "policies": [)" +
                               policies + "]}");
    return program(folder, {"check", "s.json"}).out;
  };
  CHECK_THAT(checked(R"("manual", {"name": "srtf", "queue": "srtf"})"), !Contains("comes on top"));
  CHECK_THAT(checked(R"("manual", {"name": "lp", "queue": "gavel"}, {"name": "mine", "queue": {"process": ["true"]}})"),
             Contains("; what lp, mine take to decide comes on top"));
}

TEST_CASE("describe and synthesize") {
  const TemporaryFolder folder;
  folder.write("philly.csv", kPhilly);
  const Ended described = program(folder, {"describe", "philly.csv", "--format", "philly", "--plots", "plots"});
  CHECK(described.status == 0);
  CHECK_THAT(described.out, Contains("2, 2 of them with a duration") && Contains("2017-10-10 06:13:03 UTC"));
  if (described.out.find("Figures are left out: gnuplot") == std::string::npos)
    for (const char* name : {"durations", "sizes", "gpu_time", "hours", "days"})
      CHECK_THAT(text_of(folder.path() + "/plots/" + name + ".svg"), Contains("<svg") && Contains("</svg>"));
  const Ended made = program(folder, {"synthesize", "philly.csv", "--format", "philly", "--count", "10", "-o", "new.csv"});
  CHECK(made.status == 0);
  CHECK_THAT(text_of(folder.path() + "/new.csv"), Contains("job_id,submit_s,gpus,duration_s\nsynthetic-1,0,1,"));
  CHECK(program(folder, {"describe", "new.csv"}).status == 0);
  CHECK(program(folder, {"synthesize", "none.csv", "-o", "x.csv"}).status == 3);
}
