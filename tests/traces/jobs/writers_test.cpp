#include "traces/jobs/writers.hpp"

#include <rapidcheck/catch.h>

#include "tests/traces/jobs/trace_file.hpp"
#include "traces/jobs/results.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

std::string exported(std::string_view format, std::span<const traces::TraceJob> jobs, std::string* report = nullptr) {
  for (const traces::TraceWriterEntry& entry : traces::trace_writers()) {
    if (entry.name != format) continue;
    traces::TraceExport out(entry);
    std::string text;
    out.begin(text);
    for (const traces::TraceJob& job : jobs) out.add(text, job);
    out.end(text);
    if (report != nullptr) *report = out.report();
    return text;
  }
  FAIL("no such writer");
  return {};
}

/// Jobs as the rows of a native CSV with every column that `columns` names.
std::string native(std::span<const traces::TraceJob> jobs, std::string_view columns) {
  traces::TraceColumns kept;
  for (const traces::JobField& column : traces::job_fields())
    if (("," + std::string(columns) + ",").find("," + std::string(column.name) + ",") != std::string::npos)
      kept.push_back(&column);
  std::string text;
  append_native_header(text, kept);
  for (const traces::TraceJob& job : jobs) append_native_row(text, job, kept);
  return text;
}

std::vector<traces::TraceJob> read_back(std::string_view format, const std::string& text) {
  const TraceFile file(text);
  traces::TraceStream stream(traces::trace_reader(format), file.path(), {}, kModels);
  std::vector<traces::TraceJob> jobs;
  while (const traces::TraceJob* job = stream.next()) jobs.push_back(*job);
  RC_ASSERT(stream.report().rows_dropped == 0);
  return jobs;
}

template <class T>
T one_of(std::initializer_list<T> choices) {
  return *rc::gen::elementOf(std::vector<T>(choices));
}

std::vector<traces::TraceJob> some_jobs() {
  std::vector<traces::TraceJob> jobs;
  const int count = *rc::gen::inRange(1, 12);
  double date_s = 0;
  for (int i = 0; i < count; ++i) {
    traces::TraceJob job;
    // Names that are numbers, in and out of order, names with blanks, quotes and commas.
    job.job_id = one_of<std::string>({"", "job ", "\"x\", ", " ", "é"}) + std::to_string((i * 7) % 12 + 1);
    job.submit_s = date_s += one_of({0.0, 1.0, 0.125, 1e6});
    job.gpus = *rc::gen::inRange(1, 9);
    job.duration_s = one_of({0.5, 1e-5, 3600.0, 1.0 / 3, 2e6});
    if (*rc::gen::arbitrary<bool>()) job.walltime_s = one_of({1.0, 86400.0, 0.1});
    if (*rc::gen::arbitrary<bool>()) job.memory_bytes = 1024 * job.gpus * *rc::gen::inRange(1, 1 << 30);
    job.user = one_of<std::string>({"", "1", "2", "alice", "bob, jr. \"b\"", "x "});
    job.partition = one_of<std::string>({"", "0", "gpu", "1"});
    job.model = one_of<std::string>({"", "resnet50", "vgg16"});
    job.status = one_of<std::string>({"", "failed", "completed", "cancelled"});
    if (i > 0 && *rc::gen::arbitrary<bool>()) job.after = {jobs[static_cast<std::size_t>(*rc::gen::inRange(0, i))].job_id};
    if (jobs.end() != std::find_if(jobs.begin(), jobs.end(), [&](const auto& other) { return other.job_id == job.job_id; }))
      continue;
    jobs.push_back(job);
  }
  return jobs;
}

/// As SWF gives them back: a job that is not said to have failed cannot have run beyond its limit.
std::vector<traces::TraceJob> with_limits_raised(std::vector<traces::TraceJob> jobs) {
  for (traces::TraceJob& job : jobs)
    if (job.walltime_s < job.duration_s && job.status != "failed" && job.status != "cancelled") job.walltime_s = job.duration_s;
  return jobs;
}

}  // namespace

TEST_CASE("swf, line by line") {
  // 3 GiB on 2 GPUs: 3 x 2^20 / 2 = 1572864 KiB each.
  traces::TraceJob a{.job_id = "7", .user = "alice", .status = "Pass"}, b{.job_id = "x", .after = {"7"}};
  a.submit_s = 0, a.duration_s = 60, a.gpus = 2, a.memory_bytes = 3 * 0x1p30, a.deadline_s = 5;
  b.submit_s = 1.5, b.duration_s = 0.25, b.gpus = 1, b.walltime_s = 9;
  traces::TraceJob c = b;
  c.job_id = "y", c.duration_s = traces::kNotGiven;
  std::string report;
  const std::string text = exported("swf", std::vector{a, b, c}, &report);
  CHECK_THAT(text, Contains("\n; User: 1 alice\n7 0 -1 60 2 -1 -1 2 -1 1572864 1 1 -1 -1 -1 -1 -1 -1\n"
                            "; Job: 8 x\n8 1.5 -1 0.25 1 -1 -1 1 9 -1 -1 -1 -1 -1 -1 -1 7 -1\n"));
  CHECK(report == "  1 jobs without a measured duration are not written\n  deadline_s of 1 jobs has no place in the format\n");
}

TEST_CASE("native -> SWF -> native, and Batsim, keep every common field") {
  for (const traces::TraceWriterEntry& entry : traces::trace_writers()) {
    rc::prop(std::string(entry.name), [&] {
      const std::vector<traces::TraceJob> jobs = some_jobs();
      const std::vector<traces::TraceJob> again = read_back(entry.name, exported(entry.name, jobs));
      const std::vector<traces::TraceJob> expected = entry.name == "swf" ? with_limits_raised(jobs) : jobs;
      RC_ASSERT(native(again, entry.columns) == native(expected, entry.columns));
      // And the native file itself is read as it was written.
      std::string all = "job_id";
      for (const traces::JobField& column : traces::job_fields()) all += "," + std::string(column.name);
      RC_ASSERT(native(read_back("native", native(jobs, all)), all) == native(jobs, all));
    });
  }
}

TEST_CASE("names that SWF cannot hold are left out; the file stays whole") {
  traces::TraceJob job{.job_id = "a\nb", .user = "u\nv"};
  job.submit_s = 0, job.duration_s = 60, job.gpus = 2;
  const std::vector<traces::TraceJob> again = read_back("swf", exported("swf", std::vector{job}));
  REQUIRE(again.size() == 1);
  CHECK(again[0].job_id == "1");
  CHECK(again[0].user.empty());
}

namespace {

const std::string kResults =
    "policy,repetition,job,user,submit_s,start_s,end_s,state,reason,pool,workers\n"
    "p,0,\"a,1\",u,0,5,15,finished,,k80,2\n"
    "p,0,b,u,10,,10,failed,rejected,,0\n"
    "p,1,a,u,0,6,16,finished,,k80,2\n"
    "q,0,a,u,0,7,17,failed,out_of_memory,k80,2\n";

}  // namespace

TEST_CASE("results as Batsim writes them") {
  const TraceFile file(kResults);
  // Runs 10 s, waits 5, stays 15: stretch 15 / 10.
  CHECK(traces::batsim_jobs_csv(traces::read_results(file.path(), "", 0)) ==
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,starting_"
        "time,"
        "execution_time,finish_time,waiting_time,turnaround_time,stretch,consumed_energy,allocated_resources,metadata\n"
        "\"a,1\",rehearse,,0,2,,1,COMPLETED_SUCCESSFULLY,5,10,15,5,15,1.5,,,\n"
        "b,rehearse,,10,,,0,REJECTED,,,,,,,,,\n");
  CHECK_THAT(traces::batsim_jobs_csv(traces::read_results(file.path(), "q", 0)), Contains("COMPLETED_KILLED,7,10,17"));
  CHECK_THROWS_WITH(traces::read_results(file.path(), "pp", 0), Contains("one of the policies p, q"));
  CHECK_THROWS_WITH(traces::read_results(file.path(), "p", 2), Contains("repetition 2"));
}

TEST_CASE("results as a Paje trace: dates never decrease, workers that come go") {
  const TraceFile file(kResults);
  const std::string text = traces::paje_trace(traces::read_results(file.path(), "p", 0));
  CHECK_THAT(text, Contains("4 0 p0 POOL c \"k80\"\n7 0 BUSY p0 0\n"
                            "4 0 j0 JOB c \"a,1\"\n6 0 STATE j0 QUEUED\n"
                            "6 5 STATE j0 RUNNING\n8 5 BUSY p0 2\n"
                            "4 10 j1 JOB c \"b\"\n6 10 STATE j1 QUEUED\n5 10 JOB j1\n"
                            "9 15 BUSY p0 2\n5 15 JOB j0\n5 15 POOL p0\n5 15 CLUSTER c\n"));
}
