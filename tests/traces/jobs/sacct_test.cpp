#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tests/traces/jobs/trace_file.hpp"
#include "traces/jobs/slurm_texts.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

/// The named columns of each job, with bars between them.
std::vector<std::string> columns_of(const Imported& got, const std::vector<std::string>& names) {
  std::vector<std::string> rows;
  std::vector<std::string_view> header;
  for (const std::string_view line : traces::fields_between(got.csv, "\n")) {
    const std::vector<std::string_view> fields = traces::fields_between(line, ",");
    if (header.empty()) header = fields;
    if (line.empty() || header == fields) continue;
    std::string row;
    for (const std::string& name : names)
      for (std::size_t c = 0; c < header.size(); ++c)
        if (header[c] == name) row += (row.empty() ? "" : "|") + std::string(fields.at(c));
    rows.push_back(row);
  }
  return rows;
}

using Rows = std::vector<std::string>;

/// One job that ran for an hour on what `resources` says, under the name of their column.
Imported with(const std::string& column, const std::string& resources, const std::string& nodes = "1") {
  return import_text("sacct", "JobID|Submit|Start|End|Elapsed|NNodes|" + column +
                                  "|State\n1|2026-05-01T10:00:00|2026-05-01T10:05:00|2026-05-01T11:05:00|01:00:00|" + nodes +
                                  "|" + resources + "|COMPLETED\n");
}

}  // namespace

TEST_CASE("sacct: bars, steps, limits with days, GPUs among resources") {
  const Imported got = import_text(
      "sacct",
      "JobID|User|Partition|Submit|Start|End|Timelimit|AllocTRES|State|Priority\n"
      "7|ann|gpu|2020-06-09T18:41:01|2020-06-09T18:42:01|2020-06-09T20:42:01|1-02:00:00|billing=8,cpu=8,gres/"
      "gpu=2,node=1|COMPLETED|4294901759\n"
      "7.batch|||2020-06-09T18:42:01|2020-06-09T18:42:01|2020-06-09T20:42:01||cpu=8,gres/gpu=2,node=1|COMPLETED|\n"
      "8_1|bob|gpu|2020-06-09T18:41:02|2020-06-09T18:41:02|2020-06-09T18:41:42|00:30|cpu=4,gres/gpu:a100=1,gres/"
      "gpu:v100=2|TIMEOUT|\n"
      "9|bob|cpu|2020-06-09T18:41:03|2020-06-09T18:41:03|2020-06-09T18:42:03|UNLIMITED|cpu=4,node=1|FAILED|1\n"
      "10|bob|gpu|2020-06-09T18:41:04|Unknown|Unknown|01:00:00|gres/gpu=1|PENDING|1\n"
      "11|bob|gpu|2020-06-09T18:41:05|2020-06-09T18:41:04|2020-06-09T18:42:04|01:00:00|gres/gpu=1|CANCELLED by 1000|1\n"
      "12|bob|gpu|2020-06-09T18:41:06|2020-06-09T18:41:06|2020-06-09T18:42:06|soon|gres/gpu=1|COMPLETED|1\n"
      "13|too|few\n");
  // 18:41:01 of that day is 1591728061. 1-02:00:00 is 26 h. 00:30 is half a minute, of which the job took 40 s.
  CHECK(got.csv ==
        "job_id,submit_s,gpus,nodes,duration_s,priority,user,gpu_fraction,cpus,memory_bytes,partition,qos,account,walltime_s,"
        "eligible_s,start_s,status\n"
        "7,1591728061,2,1,7200,4294901759,ann,,8,,gpu,,,93600,,1591728121,COMPLETED\n"
        "8_1,1591728062,3,,40,,bob,,4,,gpu,,,40,,1591728062,TIMEOUT\n");
  CHECK_THAT(got.report, Contains("dropped: AllocTRES: expected a job with GPUs") &&
                             Contains("dropped: Start: expected a date: the job has started") &&
                             Contains("dropped: Start: expected a date not before Submit") &&
                             Contains("dropped: Timelimit: expected [days-]hours:minutes:seconds") &&
                             Contains("expected 10 fields between \"|\"") && Contains("kept all the same: Timelimit") &&
                             Contains("1 lines are steps of jobs") && Contains("no column Elapsed"));
  // Read: 2 GPUs x 2 h, 3 x 40 s, and 60 s of each of 11 and 12. Kept: the first two.
  CHECK_THAT(got.report, Contains("GPU-hours: 4.06666666667 read, 4.03333333333 kept"));
}

TEST_CASE("sacct without resources: a node counts as a device") {
  const Imported got = import_text("sacct", "JobID|NNodes|Submit|Start|End\n1|4|2020-06-09|2020-06-09|2020-06-10\n");
  CHECK(columns_of(got, {"job_id", "submit_s", "gpus", "nodes", "duration_s"}) == Rows{"1|1591660800|4||86400"});
  CHECK_THAT(got.report, Contains("a node counts as a device"));
  CHECK_THROWS_AS(import_text("sacct", "JobID|Submit|Start|End\n"), sim::InputError);
  CHECK_THROWS_AS(import_text("sacct", "JobID,Submit,Start,End\n"), sim::InputError);
  CHECK_THROWS_AS(import_text("sacct", ""), sim::InputError);
}

TEST_CASE("sacct: a length is Elapsed, whatever the clock did and however long a job was suspended") {
  // The clock went from 03:00 back to 02:00 on 25 October, and from 02:00 on to 03:00 on 29 March. Job 603 was suspended for an
  // hour; job 604's start seems to lie before its submission.
  const std::string gpu = "|gres/gpu=1|COMPLETED\n";
  const Imported got =
      import_text("sacct",
                  "JobID|Submit|Start|End|Elapsed|Suspended|AllocTRES|State\n"
                  "602|2026-03-29T00:50:00|2026-03-29T01:00:00|2026-03-29T04:00:00|02:00:00|00:00:00" +
                      gpu + "600|2026-10-24T23:50:00|2026-10-25T00:00:00|2026-10-25T06:00:00|07:00:00|00:00:00" + gpu +
                      "601|2026-10-25T02:40:00|2026-10-25T02:50:00|2026-10-25T02:20:00|00:30:00|00:00:00" + gpu +
                      "604|2026-10-25T02:50:00|2026-10-25T02:10:00|2026-10-25T02:20:00|00:10:00|00:00:00" + gpu +
                      "603|2026-10-26T02:40:00|2026-10-26T02:40:00|2026-10-26T05:40:00|02:00:00|01:00:00" + gpu);
  CHECK(columns_of(got, {"job_id", "duration_s"}) == Rows{"602|7200", "600|25200", "601|1800", "604|600", "603|7200"});
  CHECK_THAT(got.report, Contains("3 lines whose End - Start is not Elapsed") &&
                             Contains("1 kept all the same: Start: expected a date not before Submit"));
  CHECK(columns_of(got, {"start_s"})[3].empty());
  // Without Elapsed what was suspended is known from its own column; a raw length counts as well.
  const std::string dates = "1|2026-10-26T02:40:00|2026-10-26T02:40:00|2026-10-26T05:40:00|";
  CHECK(columns_of(import_text("sacct", "JobID|Submit|Start|End|Suspended|AllocTRES|State\n" + dates + "01:00:00" + gpu),
                   {"duration_s"}) == Rows{"7200"});
  CHECK(columns_of(import_text("sacct", "JobID|Submit|Start|End|ElapsedRaw|AllocTRES|State\n" + dates + "7200" + gpu),
                   {"duration_s"}) == Rows{"7200"});
  CHECK(columns_of(import_text("sacct", "JobID|Submit|Elapsed|AllocTRES|State\n1|2026-10-26T02:40:00|1-00:00:01" + gpu),
                   {"duration_s", "start_s"}) == Rows{"86401|"});
}

TEST_CASE("sacct: of equal job ids the last run counts, whatever the order of the lines") {
  const std::string header = "JobID|User|Submit|Start|End|Elapsed|AllocTRES|State\n";
  const std::vector<std::string> runs{
      "500|ann|2026-02-01T10:00:00|2026-02-01T10:00:10|2026-02-01T11:04:59|01:04:49|gres/gpu=2|REQUEUED\n",
      "500|ann|2026-02-01T11:06:59|2026-02-01T11:07:00|2026-02-01T12:21:33|01:14:33|gres/gpu=2|REQUEUED\n",
      "500|ann|2026-02-01T12:23:33|2026-02-01T12:24:00|2026-02-01T14:06:02|01:42:02|gres/gpu=2|COMPLETED\n",
      "501|bob|2026-02-01T10:30:00|2026-02-01T10:31:00|2026-02-01T10:41:00|00:10:00|gres/gpu=1|COMPLETED\n"};
  std::vector<std::size_t> order{0, 1, 2, 3};
  do {
    std::string text = header;
    for (const std::size_t r : order) text += runs[r];
    const Imported got = import_text("sacct", text);
    Rows rows = columns_of(got, {"job_id", "gpus", "duration_s", "status"});
    std::sort(rows.begin(), rows.end());
    // 1:42:02 are 6,122 s. 2 x (3,889 + 4,473 + 6,122) + 600 = 29,568 GPU-seconds were used, 2 x 6,122 + 600 = 12,844 are kept.
    CHECK(rows == Rows{"500|2|6122|COMPLETED", "501|1|600|COMPLETED"});
    CHECK(got.counts.rows_dropped == 2);
    CHECK(got.counts.gpu_time->read_s == 29568);
    CHECK(got.counts.gpu_time->kept_s == 12844);
    CHECK_THAT(got.report, Contains("2 dropped: JobID: expected the last run of a job"));
  } while (std::next_permutation(order.begin(), order.end()));
  // A job that waits for its next run has not ended. Equal ids of two clusters are two jobs.
  const Imported waits =
      import_text("sacct", header + runs[0] + "500|ann|2026-02-01T11:06:59|Unknown|Unknown|00:00:00||PENDING\n" + runs[3]);
  CHECK(columns_of(waits, {"job_id"}) == Rows{"501"});
  const Imported clusters = import_text("sacct",
                                        "Cluster|JobID|Submit|Start|End|Elapsed|AllocTRES|State\n"
                                        "a|1|2026-02-01|2026-02-01|2026-02-02|1-00:00:00|gres/gpu=1|COMPLETED\n"
                                        "b|1|2026-02-01|2026-02-01|2026-02-02|1-00:00:00|gres/gpu=1|COMPLETED\n");
  CHECK(columns_of(clusters, {"job_id"}) == Rows{"a/1", "b/1"});
}

TEST_CASE("sacct: the parts of a heterogeneous job are one job") {
  const std::string text =
      "JobID|Submit|Start|End|Elapsed|Timelimit|AllocTRES|State\n"
      "700+0|2026-05-01T10:00:00|2026-05-01T10:05:00|2026-05-01T11:05:00|01:00:00|02:00:00|cpu=8,mem=4G,gres/"
      "gpu=4,node=1|COMPLETED\n"
      "701|2026-05-01T10:01:00|2026-05-01T10:05:00|2026-05-01T11:05:00|01:00:00|02:00:00|cpu=8,gres/gpu=1,node=1|COMPLETED\n"
      "700+1|2026-05-01T10:00:00|2026-05-01T10:05:00|2026-05-01T11:04:00|00:59:00|02:00:00|cpu=8,mem=4G,gres/"
      "gpu=2,node=1|COMPLETED\n"
      "700+2|2026-05-01T10:00:00|2026-05-01T10:05:00|2026-05-01T11:05:00|01:00:00|02:00:00|cpu=2,mem=1G,node=3|COMPLETED\n"
      "700+0.batch|2026-05-01T10:00:00|2026-05-01T10:05:00|2026-05-01T11:05:00|01:00:00||gres/gpu=4|COMPLETED\n";
  const Imported got = import_text("sacct", text);
  // 4 + 2 GPUs on two nodes (the third part has none), 18 cores, 9 GiB; the longest part's hour for all six.
  CHECK(columns_of(got, {"job_id", "gpus", "nodes", "duration_s", "cpus", "memory_bytes"}) ==
        Rows{"700|6|2|3600|18|9663676416", "701|1|1|3600|8|"});
  CHECK(got.counts.rows == 4);
  CHECK(got.counts.rows_joined == 2);
  CHECK(got.counts.gpu_time->read_s == 4 * 3600 + 2 * 3540 + 3600);
  CHECK(got.counts.gpu_time->kept_s == 6 * 3600 + 3600);
  CHECK_THAT(got.report, Contains("2 lines are further parts of heterogeneous jobs") &&
                             Contains("1 kept all the same: Elapsed: expected parts of a heterogeneous job that end together"));
  // A part that is wrong makes the job wrong.
  std::string wrong = text;
  wrong.replace(wrong.find("11:04:00|00:59:00"), 17, "Unknown|00:59:00");
  CHECK(columns_of(import_text("sacct", wrong), {"job_id"}) == Rows{"701"});
}

TEST_CASE("sacct: GPUs, slices of them, and counts of one node") {
  struct Case {
    const char *column, *resources, *nodes, *gpus, *part;
    double all;  ///< in whole GPUs
  };
  const std::string seventh = "0.14285714285714285";
  for (const Case& c : {
           Case{"AllocTRES", "billing=8,gres/gpu=8,gres/gpu:a100=8,node=1", "1", "8", "", 8},
           {"AllocTRES", "gres/gpu:a100=2,gres/gpu:h100=1,node=2", "2", "3", "", 3},
           {"ReqTRES", "billing=8,cpu=8,gres/gpu=2,gres/gpumem=9G,gres/gpuutil=50", "1", "2", "", 2},
           {"AllocTRES", "gres/gpu:nvidia_a100_1g.5gb=1,gres/gpu=1", "1", "1", seventh.c_str(), 1.0 / 7},
           {"AllocTRES", "gres/gpu:1g.10gb=1", "1", "1", seventh.c_str(), 1.0 / 7},
           {"AllocTRES", "gres/gpu:a100_3g.20gb=2", "1", "2", "0.42857142857142855", 6.0 / 7},
           {"AllocTRES", "gres/gpu:nvidia_h100_80gb_hbm3_7g.80gb=1", "1", "1", "", 1},
           {"AllocTRES", "gres/gpu:1g.5gb+me=1", "1", "1", seventh.c_str(), 1.0 / 7},
           {"AllocTRES", "gres/gpu:a100-1g5gb=1", "1", "1", seventh.c_str(), 1.0 / 7},
           {"AllocTRES", "gres/gpu:mig_1g_10gb=1", "1", "1", seventh.c_str(), 1.0 / 7},
           {"AllocTRES", "gres/gpu:a100_80gb=1,gres/gpu:gh200_96gb=1,gres/gpu:rtx_4090_24gb=1", "1", "3", "", 3},
           {"AllocTRES", "gres/gpu:a30_1g.6gb=1", "1", "1", "0.25", 0.25},
           {"AllocTRES", "gres/gpu:2g.12gb=2", "1", "2", "0.5", 1},
           {"AllocTRES", "gres/gpu=3,gres/gpu:a100=2,gres/gpu:1g.5gb=1", "1", "3", "0.7142857142857143", 2 + 1.0 / 7},
           {"AllocGRES", "gpu:a100:4", "3", "12", "", 12},
           {"AllocGRES", "gpu:2(IDX:0-1),nic:1", "2", "4", "", 4},
           {"AllocGRES", "gres:gpu:v100:1", "2", "2", "", 2},
           {"AllocGRES", "gpu:(null):2", "2", "4", "", 4},
           {"AllocGRES", "gpu", "2", "2", "", 2},
           {"ReqGRES", "gpu:a100_3g.20gb:2", "1", "2", "0.42857142857142855", 6.0 / 7},
       }) {
    CAPTURE(c.resources);
    const Imported got = with(c.column, c.resources, c.nodes);
    CHECK(columns_of(got, {"gpus", "gpu_fraction", "nodes"}) == Rows{fmt::format("{}|{}|{}", c.gpus, c.part, c.nodes)});
    CHECK(got.counts.gpu_time->read_s == Approx(3600 * c.all).epsilon(1e-12));
    CHECK(got.counts.gpu_time->kept_s == Approx(3600 * c.all).epsilon(1e-12));
  }
  CHECK_THAT(with("AllocTRES", "gres/gpu:1g.5gb=1").report, Contains("1 jobs hold slices of GPUs (MIG)"));
  CHECK_THAT(with("AllocTRES", "gres/gpu:1g.5gb=1,gres/gpu:a100=1").report, Contains("1 kept all the same: gpu_fraction"));
  CHECK_THAT(with("ReqTRES", "gres/gpu=2").report, Contains("1 lines name no allocated GPUs: the requested ones count"));
  for (const char* shared : {"gres/shard=4", "gres/mps=50"}) {
    const Imported got = with("AllocTRES", std::string("cpu=8,") + shared);
    CHECK(got.counts.jobs == 0);
    CHECK_THAT(got.report, Contains("does not tell how large a part shards or MPS are"));
  }
}

TEST_CASE("sacct: where GPUs are not tracked, the column to add or to leave out is named") {
  const std::string row = "|2026-05-01T10:00:00|2026-05-01T10:05:00|2026-05-01T11:05:00|2|";
  const std::string untracked =
      "JobID|Submit|Start|End|NNodes|AllocTRES|State\n1" + row + "billing=192,cpu=192,node=2|COMPLETED\n";
  CHECK_THAT(refusal("sacct", untracked), Contains("add AllocGRES and NNodes to sacct's --format") &&
                                              Contains("leave AllocTRES out and NNodes in") && Contains("no GPU in any row"));
  // The two ways out.
  CHECK(columns_of(import_text("sacct", "JobID|Submit|Start|End|NNodes|AllocTRES|AllocGRES|State\n1" + row +
                                            "billing=192,node=2|gpu:a100:4|COMPLETED\n"),
                   {"gpus", "nodes"}) == Rows{"8|2"});
  CHECK(columns_of(import_text("sacct", "JobID|Submit|Start|End|NNodes|State\n1" + row + "COMPLETED\n"), {"gpus"}) == Rows{"2"});
  CHECK_THAT(refusal("sacct", "JobID|Submit|Elapsed|AllocGRES|State\n"), Contains("a column NNodes next to AllocGRES"));
}

TEST_CASE("sacct: jobs that have not ended are none, whatever dates were written for them") {
  const std::string header = "JobID|Submit|Start|End|Elapsed|AllocTRES|State\n";
  const std::string ran = "|2026-05-01T10:00:00|2026-05-01T10:05:00|2026-05-01T11:05:00|01:00:00|gres/gpu=1|";
  for (const char* state : {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING"})
    CHECK_THAT(import_text("sacct", header + "1" + ran + state + "\n").report,
               Contains("1 dropped: State: expected a state in which a job has ended"));
  for (const char* state : {"COMPLETED", "CANCELLED by 1000", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"})
    CHECK(import_text("sacct", header + "1" + ran + state + "\n").counts.jobs == 1);
  const Imported got = import_text("sacct", header +
                                                "1|2026-05-01T10:00:00|2026-05-01T10:20:00|Unknown|00:30:00|gres/gpu=2|RUNNING\n"
                                                "2|2026-05-01T10:00:00|None|2026-05-01T10:20:00|00:00:00||CANCELLED by 1000\n"
                                                "3_[4-6%2]|2026-05-01T10:00:00|Unknown|Unknown|00:00:00||PENDING\n");
  CHECK(got.counts.jobs == 0);
  CHECK(got.counts.rows_dropped == 3);
  CHECK(got.counts.gpu_time->read_s == 3600);  // 2 GPUs for the half hour that the first has run
}

TEST_CASE("sacct: dates as seconds, names kept, other separators") {
  const std::string header = "JobID|User|Account|QOS|Partition|Submit|Eligible|Start|End|Elapsed|NNodes|AllocTRES|State";
  const std::string row = "830|ann|lab|high|gpu|1777629600|1777629660|1777629900|1777633500|01:00:00|2|gres/gpu=4|COMPLETED";
  const std::vector<std::string> names{"job_id", "submit_s", "nodes", "qos", "account", "eligible_s", "start_s"};
  const Rows expected{"830|1777629600|2|high|lab|1777629660|1777629900"};
  const Imported got = import_text("sacct", header + "\n" + row + "\n");
  CHECK(columns_of(got, names) == expected);
  CHECK(got.report.find("time zone") == std::string::npos);
  CHECK(columns_of(import_text("sacct", header + "|\n" + row + "|\n"), names) == expected);  // --parsable
  for (const std::string separator : {",", ";", "\t", "@@"}) {
    std::string text = header + "\r\n" + row + "\r\n";
    for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + separator.size()))
      text.replace(at, 1, separator);
    CAPTURE(separator);
    CHECK(columns_of(import_text("sacct", text), names) == expected);
  }
  // Commas inside of one field's resources are no separators; between those of two fields nothing can tell.
  CHECK(columns_of(
            import_text("sacct", "JobID,Submit,Elapsed,AllocTRES,State\n1,1777629600,01:00:00,cpu=8,gres/gpu=2,node=1,FAILED\n"),
            {"gpus", "nodes", "status"}) == Rows{"2|1|FAILED"});
  CHECK_THAT(refusal("sacct", "JobID           Submit     Elapsed\n------- --------- ---------\n"),
             Contains("add --parsable2 to its command"));
  CHECK_THAT(refusal("sacct", "JobID|Submit|Elapsed|AllocTRES\n"), Contains("add State to sacct's --format"));
  CHECK_THAT(refusal("sacct", "JobID|Submit|Start|AllocTRES|State\n"), Contains("add Elapsed to sacct's --format"));
}

TEST_CASE("sacct: files from practice") {
  struct File {
    const char* name;
    Rows jobs;  ///< id, GPUs, part of one, seconds, nodes, status
  };
  for (const File& file : {
           File{"clock", {"600|1||25200|1|COMPLETED", "601|1||1800|1|COMPLETED", "602|1||7200|1|COMPLETED"}},
           {"requeued", {"500|2||6122|1|COMPLETED", "501|1||600|1|COMPLETED"}},
           {"parts", {"700|6||3600|2|COMPLETED", "701_1|1||600|1|COMPLETED"}},
           {"slices", {"800|1|0.14285714285714285|3600|1|COMPLETED", "801|3||3600|2|COMPLETED"}},
       }) {
    CAPTURE(file.name);
    const Imported got = import_file("sacct", std::string(REHEARSE_SOURCE_DIR "/tests/fuzz/corpus/sacct/") + file.name);
    CHECK(columns_of(got, {"job_id", "gpus", "gpu_fraction", "duration_s", "nodes", "status"}) == file.jobs);
  }
}

TEST_CASE("texts of Slurm") {
  struct Seconds {
    const char* text;
    std::optional<double> seconds;
  };
  for (const Seconds& c : {Seconds{"1-02:03:04", 93784},
                           {"02:03:04", 7384},
                           {"03:04", 184},
                           {"00:00.123", 0.123},
                           {"1-02", 93600},
                           {"1-02:03", 93780},
                           {"10-00:00:00", 864000},
                           {"7", {}},
                           {"", {}},
                           {"1:2:3:4", {}},
                           {"-1-:::", {}},
                           {"a:b", {}}}) {
    CAPTURE(c.text);
    CHECK(traces::slurm_seconds(c.text) == c.seconds);
  }
  struct Memory {
    const char* text;
    std::optional<double> bytes;
  };
  for (const Memory& c : {Memory{"4G", 4294967296},
                          {"62.50G", 67108864000},
                          {"16000", 16000 * 1048576.0},
                          {"512K", 524288},
                          {"", {}},
                          {"G", {}},
                          {"4X", {}}}) {
    CAPTURE(c.text);
    CHECK(traces::slurm_memory_bytes(c.text) == c.bytes);
  }
  CHECK(traces::slurm_count("4K") == 4096.0);
  CHECK(traces::slurm_tres("billing=8,cpu=12,node=2", "node") == "2");
  CHECK(traces::slurm_tres("billing=8,cpu=12", "cp").empty());
  // 4 GiB of each of two nodes, of each of eight cores.
  const auto memory = [](const std::string& asked) {
    const std::string row = "1|1777629600|01:00:00|cpu=8,gres/gpu=1,node=2|" + asked + "|COMPLETED\n";
    return columns_of(import_text("sacct", "JobID|Submit|Elapsed|AllocTRES|ReqMem|State\n" + row), {"memory_bytes"});
  };
  CHECK(memory("4Gn") == Rows{"8589934592"});
  CHECK(memory("4Gc") == Rows{"34359738368"});
  CHECK(memory("4G") == Rows{"4294967296"});
}
