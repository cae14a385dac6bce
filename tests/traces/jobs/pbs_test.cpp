#include "tests/traces/jobs/trace_file.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

/// A record that ended, of a job submitted at 1000 that ran from 1600 to 5200.
std::string ended(const std::string& name, const std::string& keys) {
  return "06/15/2024 12:34:56;E;" + name + ";user=ann queue=gpu ctime=1000 etime=1000 start=1600 end=5200 " + keys + "\n";
}

}  // namespace

TEST_CASE("pbs: the keys of a record, and records that are no jobs") {
  const Imported got = import_text(
      "pbs", "06/15/2024 09:00:00;Q;1.s;queue=gpu\n" +
                 ended("1.s",
                       "account=\"my lab\" exec_host=n1/0*8+n2/0*8 exec_vnode=(n1:ncpus=8:ngpus=4)+(n2:ncpus=8:ngpus=4) "
                       "Resource_List.mem=64gb Resource_List.ncpus=16 Resource_List.walltime=02:00:00 Exit_status=0") +
                 ended("2[].s", "Resource_List.ngpus=1") +
                 ended("2[7].s", "Resource_List.ngpus=1 Resource_List.walltime=60 Exit_status=271") +
                 ended("3.s", "Resource_List.ncpus=4") + "06/15/2024 12:34:56;E\n" +
                 "06/15/2024 12:34:56;E;4.s;ctime=1000 start=1600 end=1500 Resource_List.ngpus=1\n");
  // 64 GiB is 68719476736 bytes. The limit of 60 s is raised to the 3600 s that the job ran.
  CHECK(got.csv ==
        "job_id,submit_s,gpus,nodes,duration_s,user,cpus,memory_bytes,partition,account,walltime_s,eligible_s,start_s,status\n"
        "1.s,1000,8,2,3600,ann,16,68719476736,gpu,my lab,7200,1000,1600,completed\n"
        "2[7].s,1000,1,,3600,ann,,,gpu,,3600,1000,1600,cancelled\n");
  CHECK_THAT(got.report, Contains("a job with GPUs (ngpus)") && Contains("a date not before start") &&
                             Contains("1 records are of other types") && Contains("1 records are of whole job arrays"));
}

TEST_CASE("pbs: GPUs as each version of PBS writes them") {
  const auto gpus = [](const std::string& keys) {
    const Imported got = import_text("pbs", ended("1.s", keys));
    const std::size_t first = got.csv.find("1.s,1000,");
    return first == std::string::npos ? got.report : got.csv.substr(first + 9, got.csv.find(",3600", first) - first - 9);
  };
  CHECK(gpus("Resource_List.ngpus=6 Resource_List.nodect=3") == "6,3");
  CHECK(gpus("Resource_List.select=2:ncpus=8:ngpus=4+1:ngpus=1") == "9,");
  CHECK(gpus("Resource_List.nodes=2:ppn=8:gpus=2 exec_host=a/0+a/1+b/0") == "4,2");
  CHECK(gpus("exec_gpus=a-gpu/0+a-gpu/1+b-gpu/0 Resource_List.nodes=2:gpus=2 exec_host=a/0+b/0") == "3,2");
  CHECK(gpus("exec_vnode=(a[0]:ncpus=1:ngpus=1+a[1]:ngpus=1)+(b:ngpus=2) Resource_List.ngpus=9") == "4,");
  CHECK(gpus("exec_host=a/0*8+b/0*8") == "2,");  // no GPU in the file: a node counts as a device
}

TEST_CASE("pbs: of several ends of a job the last one counts; other files are refused") {
  const Imported got = import_text("pbs", ended("1.s", "Resource_List.ngpus=1") + ended("1.s", "Resource_List.ngpus=2"));
  CHECK(got.counts.jobs == 1);
  CHECK_THAT(got.csv, Contains("1.s,1000,2,"));
  CHECK_THAT(got.report, Contains("the last run of a job"));
  CHECK_THROWS_AS(import_text("pbs", "job_id,submit_s\n"), sim::InputError);
  CHECK_THROWS_AS(import_text("pbs", ""), sim::InputError);
}
