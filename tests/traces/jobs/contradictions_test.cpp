#include <sys/stat.h>

#include <thread>

#include "tests/traces/jobs/trace_file.hpp"
#include "traces/jobs/to_job.hpp"
#include "traces/jobs/trace_job.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

/// Two pools: 4 nodes of 2 GPUs, and 1 of 4.
const traces::ClusterLimits kCluster{.pool_gpus = {8, 4}, .node_gpus = 4, .gpu_types = {"v100", "p100-sxm2"}};

}  // namespace

TEST_CASE("sizes against pools and nodes") {
  CHECK(kCluster.too_many(8, {}).empty());
  CHECK(kCluster.too_many(9, {}) == "at most 8 GPUs, all of the largest pool");
  CHECK(kCluster.too_many(5, {1}) == "at most 4 GPUs, all of its pool");
  CHECK(kCluster.too_many_for_a_node(4).empty());
  CHECK(kCluster.too_many_for_a_node(5) == "at most 4 GPUs, all of the largest node: spread over several");
  CHECK(traces::ClusterLimits{}.too_many(1e6, {3}).empty());
  CHECK(traces::ClusterLimits{}.too_many_for_a_node(1e6).empty());
}

TEST_CASE("nodes that the cluster has, and that divide the GPUs") {
  // 4 nodes of 2 GPUs, and 1 of 4.
  const traces::ClusterLimits cluster{.pool_gpus = {8, 4}, .pool_nodes = {4, 1}, .node_gpus = 4};
  CHECK(cluster.has_nodes(4, 2, {}));
  CHECK(cluster.has_nodes(1, 4, {}));
  CHECK_FALSE(cluster.has_nodes(1, 4, {0}));
  CHECK_FALSE(cluster.has_nodes(2, 4, {}));
  CHECK_FALSE(cluster.has_nodes(5, 1, {}));
  CHECK(traces::ClusterLimits{}.has_nodes(99, 99, {}));
  const TraceFile file(
      "job_id,submit_s,gpus,nodes,duration_s,pool\n"
      "two,0,4,2,60,\n"
      "one,1,4,1,60,\n"
      "not-there,2,4,1,60,large\n"
      "uneven,3,5,2,60,\n"
      "unsaid,4,5,,60,\n");
  workloads::ProfileTable profiles;
  const traces::JobList list =
      traces::read_trace("native", file.path(), {.pools = {"large", "small"}, .cluster = cluster}, profiles);
  REQUIRE(list.jobs.size() == 5);
  CHECK(list.jobs[0].nodes == 2);
  CHECK(list.jobs[1].nodes == 1);
  for (std::size_t job = 2; job < 5; ++job) CHECK(list.jobs[job].nodes == 0);
  const std::string report = to_string(list.report);
  CHECK_THAT(report,
             Contains("nodes: expected as many nodes with as many GPUs as its pool has: set aside, its GPUs are counted"));
  CHECK_THAT(report, Contains("nodes: expected a number that divides its GPUs: set aside, its GPUs are counted"));
}

TEST_CASE("several pools in one column") {
  const TraceFile file(
      "job_id,submit_s,gpus,duration_s,pool\n"
      "both,0,2,60,large;small:2.5\n"
      "one,1,2,60,small:2\n"
      "plain,2,2,60,small\n"
      "twice,3,2,60,small;small:2\n"
      "unknown,4,2,60,small;tiny\n"
      "slow,5,2,60,small:0\n");
  workloads::ProfileTable profiles;
  const traces::JobList list =
      traces::read_trace("native", file.path(), {.pools = {"large", "small"}, .cluster = kCluster}, profiles);
  REQUIRE(list.jobs.size() == 3);
  REQUIRE(list.jobs[0].pools.size() == 2);
  CHECK(list.jobs[0].pool == -1);
  CHECK(list.jobs[0].duration_on_s(0) == 60);
  CHECK(list.jobs[0].duration_on_s(1) == 24);
  CHECK(list.jobs[1].duration_on_s(1) == 30);
  CHECK(list.jobs[2].pools.empty());
  CHECK(list.jobs[2].pool == 1);
  CHECK(list.report.rows_dropped == 3);
  CHECK(traces::to_trace_job(list.jobs[0], {"large", "small"}).pool == "large;small:2.5");
  CHECK(traces::to_trace_job(list.jobs[1], {"large", "small"}).pool == "small:2");
}

TEST_CASE("types of GPUs as traces write them") {
  for (const char* known : {"V100", "v100", "V100M32", "V100-SXM2-16GB", "P100", "G2|V100M16"})
    CHECK(kCluster.has_gpu_type(known));
  for (const char* unknown : {"T4", "MISC", "V", "G2|G3", "|", "Tesla V100"}) CHECK_FALSE(kCluster.has_gpu_type(unknown));
  CHECK(traces::ClusterLimits{}.has_gpu_type("T4"));
}

TEST_CASE("a trace that contradicts its cluster and its own clock is listed by reason and count, and the rest kept") {
  const std::string text =
      "job_id,submit_s,gpus,duration_s,gpu_type,pool\n"
      "fits,0,4,60,V100M32,\n"
      "too-large,1,9,60,,\n"
      "wide,2,8,60,,\n"
      "too-large-for-its-pool,2,5,60,,small\n"
      "other-gpu,3,1,60,T4,\n"
      "earlier,1,1,60,,\n"
      "a-year-later,31536004,1,60,,\n"
      "then,31536005,1,60,,\n";
  const TraceFile file(text);
  workloads::ProfileTable profiles;
  const traces::JobList list =
      traces::read_trace("native", file.path(), {.pools = {"large", "small"}, .cluster = kCluster}, profiles);
  CHECK(list.jobs.size() == 6);
  std::string report = to_string(list.report);
  report.erase(0, report.find(": "));
  // 31536004 - 3 is a year and a second.
  CHECK(
      report ==
      ": 8 rows, 6 jobs, 2 rows dropped, 4 kept all the same\n"
      "  GPU-hours: 0.5 read, 0.266666666667 kept\n"
      "  1 dropped: gpus: expected at most 8 GPUs, all of the largest pool; line 3 (found \"9\")\n"
      "  1 dropped: gpus: expected at most 4 GPUs, all of its pool; line 5 (found \"5\")\n"
      "  1 kept all the same: gpus: expected at most 4 GPUs, all of the largest node: spread over several; line 4 (found \"8\")\n"
      "  1 kept all the same: gpu_type: expected a GPU of the cluster: set aside, the job runs on any; line 6 (found \"T4\")\n"
      "  1 kept all the same: submit_s: expected dates that never decrease: sorted; line 7 (found \"1\")\n"
      "  1 kept all the same: submit_s: expected a date within 365 days of those before, or their clock jumped: taken as it is; "
      "line 8 "
      "(found \"31536004\")\n");
  CHECK_THROWS_WITH(traces::refuse_any(list.report), Contains(".trace:3: gpus: expected at most 8 GPUs") &&
                                                         Contains(".trace:8: submit_s: expected a date within 365 days"));
  CHECK_NOTHROW(traces::refuse_any({.file = "f", .rows = 1, .jobs = 1}));
}

TEST_CASE("jobs of a native trace wait for rows before and behind them; those that were dropped are set aside") {
  const std::string text =
      "job_id,submit_s,gpus,duration_s,after\n"
      "first,0,1,60,last\n"
      "lost,1,0,60,\n"
      "too-large,1,9,60,\n"
      "both,2,1,60,lost;first\n"
      "alone,3,1,60,too-large\n"
      "other,4,1,60,of-another-file\n"
      "last,5,1,60,\n";
  const TraceFile file(text);
  workloads::ProfileTable profiles;
  const traces::JobList list =
      traces::read_trace("native", file.path(), {.pools = {"large", "small"}, .cluster = kCluster}, profiles);
  REQUIRE(list.jobs.size() == 5);
  using Names = std::vector<std::string>;
  CHECK(list.jobs[0].after == Names{"last"});
  CHECK(list.jobs[1].after == Names{"first"});
  CHECK(list.jobs[2].after.empty());
  CHECK(list.jobs[3].after == Names{"of-another-file"});  // a scenario has other traces, and looks itself
  CHECK_THAT(to_string(list.report),
             Contains("2 kept all the same: after: expected another job that is kept: set aside; lines 5 (found \"lost\"), 6"));
  // Of the file alone: what waits for nobody that is kept waits for nobody. Without a cluster the large job is kept.
  const Imported got = import_text("native", text);
  CHECK_THAT(got.csv, Contains("first,0,1,60,last\n") && Contains("both,2,1,60,first\n") &&
                          Contains("alone,3,1,60,too-large\n") && Contains("other,4,1,60,\n"));
}

TEST_CASE("of a pipe, which is read once, jobs wait for rows before them") {
  const std::string pipe = TraceFile("").path() + ".pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer(
      [&] { std::ofstream(pipe) << "job_id,submit_s,gpus,duration_s,after\nfirst,0,1,60,last\nlast,1,1,60,first\n"; });
  const Imported got = import_file("native", pipe);
  writer.join();
  std::filesystem::remove(pipe);
  CHECK_THAT(got.csv, Contains("first,0,1,60,\n") && Contains("last,1,1,60,first\n"));
  CHECK_THAT(got.report, Contains("1 kept all the same: after: expected a job before this one that is kept: set aside"));
}

TEST_CASE("a replay above the cluster's capacity is told") {
  // 12 devices. Three jobs of 4 for 60 s are all that they can do in 60 s; with a fourth it is 4/3 of that. Half of a job's
  // devices, or a cluster that is not known, and nothing is said.
  const auto notes = [](const std::string& rows, const traces::ClusterLimits& cluster) {
    const TraceFile file("job_id,submit_s,gpus,duration_s\n" + rows);
    workloads::ProfileTable profiles;
    return traces::read_trace("native", file.path(), {.cluster = cluster}, profiles).report.notes;
  };
  const std::string three = "a,0,4,60\nb,0,4,60\nc,0,4,60\n";
  CHECK(notes(three, kCluster).empty());
  CHECK(notes(three + "d,0,4,60\n", {}).empty());
  CHECK(notes(three + "d,20,4,60\n", kCluster).empty());  // 960 of 12 x 80
  CHECK(notes(three + "d,0,4,60\n", kCluster) ==
        std::vector<std::string>{"above capacity: rigid jobs are 1.333 times the work of the cluster's 12 devices from the first "
                                 "submission to the last end, if nobody waited"});
}

TEST_CASE("other people's traces are compared with the cluster too") {
  const TraceFile file(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
      "a,1,1,8,1000,V100M16|V100M32,LS,Succeeded,0,10,1\n"
      "b,1,1,9,1000,,LS,Succeeded,1,10,1\n"
      "c,1,1,1,1000,T4,LS,Succeeded,40000000,40000010,40000001\n"
      "d,1,1,1,1000,,LS,Succeeded,40000010,40000009,40000020\n");
  workloads::ProfileTable profiles;
  const traces::JobList list = traces::read_trace("alibaba-gpu-2023", file.path(), {.cluster = kCluster}, profiles);
  CHECK(list.jobs.size() == 2);
  CHECK_THAT(to_string(list.report),
             Contains("1 dropped: gpus: expected at most 8 GPUs, all of the largest pool; line 3 (found \"9\")") &&
                 Contains("1 kept all the same: gpus: expected at most 4 GPUs, all of the largest node: spread over "
                          "several; line 2 (found \"8\")") &&
                 Contains("1 kept all the same: gpu_type: expected a GPU of the cluster: set aside, the job runs on "
                          "any; line 4 (found \"T4\")") &&
                 Contains("their clock jumped: taken as it is; line 4 (found \"40000000\")"));
}

TEST_CASE("a row that is dropped for its size leaves its name to the next") {
  const TraceFile file("job_id,submit_s,gpus,duration_s\na,0,9,60\na,1,2,60\na,2,2,60\n");
  workloads::ProfileTable profiles;
  const traces::JobList list = traces::read_trace("native", file.path(), {.cluster = kCluster}, profiles);
  REQUIRE(list.jobs.size() == 1);
  CHECK(list.jobs[0].gpus == 2);
  CHECK_THAT(to_string(list.report), Contains("1 dropped: gpus: expected at most 8 GPUs, all of the largest pool; line 2") &&
                                         Contains("1 dropped: job_id: expected a name that no job before has; line 4"));
}

TEST_CASE("a row with several mistakes counts once, and each of them is told") {
  // Line 3 has two, of which one is line 4's only one; line 5 has that one second.
  const TraceFile file("job_id,submit_s,gpus,duration_s\na,0,1,60\nb,1,x,-1\nc,2,y,60\nd,z,1,-2\n");
  workloads::ProfileTable profiles;
  std::string report = to_string(traces::read_trace("native", file.path(), {.cluster = kCluster}, profiles).report);
  CHECK_THAT(report, Contains("4 rows, 1 job, 3 rows dropped") && Contains("  2 dropped: gpus: expected") &&
                         Contains("  1 dropped: submit_s: expected") &&
                         Contains("  2 of those dropped also: duration_s: expected") &&
                         Contains("lines 3 (found \"-1\"), 5 (found \"-2\")"));
  CHECK(traces::counted_words(3, 0, "dropped") == "3 dropped");
  CHECK(traces::counted_words(3, 1, "dropped") == "3 dropped, and 1 of the others");
}
