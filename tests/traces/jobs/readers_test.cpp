#include "tests/traces/jobs/trace_file.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

TEST_CASE("philly: dates become seconds, the virtual cluster is user and partition") {
  // 2017-10-09 is day 17,448 since 1970: 47 x 365 + 12 leap days (1972 to 2016) + 281 = 17,448; x 86,400 + 7 h 1 min 55 s.
  const Imported got = import_text("philly",
                                   "timestamp,duration,num_gpus,gpu_time,cluster\n"
                                   "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                                   "2017-10-09 06:13:03,2951.0,2,5902.0,6214e9\n");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,user,partition\n"
        "philly-1,1507532515,1,66,11cb48,11cb48\n"
        "philly-2,1507529583,2,2951,6214e9,6214e9\n");
  CHECK_THAT(got.report,
             Contains("2 dates name no time zone") && Contains("1 kept all the same: submit_s: expected dates that never"));
}

TEST_CASE("philly: contradictions are listed by reason") {
  const Imported got = import_text("philly",
                                   "timestamp,duration,num_gpus,gpu_time,cluster\n"
                                   "2017-10-09 07:01:55,66.0,2,66.0,a\n"   // 2 x 66 is 132
                                   "2017-02-29 07:01:55,66.0,1,66.0,a\n"   // no leap year
                                   "2017-10-09 07:01:55,-66.0,1,66.0,a\n"  // ends before it starts
                                   "2017-10-09 07:01:55,66.0,0,66.0,a\n"
                                   "2017-10-09 07:01:55,66.0,1.5,66.0,a\n"
                                   "2017-10-09 07:01:55,66.0,1,a\n");
  CHECK(got.counts.jobs == 1);
  CHECK(got.counts.rows_dropped == 5);
  CHECK_THAT(got.report, Contains("1 kept all the same: gpu_time: expected duration x num_gpus") &&
                             Contains("1 dropped: timestamp: expected a date like 2017-10-09 07:01:55; line 3") &&
                             Contains("1 dropped: duration: expected a number above 0") &&
                             Contains("dropped: num_gpus: expected a whole number from 1 to 1000000; lines 5") &&
                             Contains("expected 5 fields"));
}

TEST_CASE("a row with two mistakes is dropped once: the reasons add up to the rows") {
  const Imported got = import_text("philly",
                                   "timestamp,duration,num_gpus,gpu_time,cluster\n"
                                   "2017-10-09 07:01:55,66.0,1,66.0,a\n"
                                   "2017-10-09 07:01:55,-66.0,0,66.0,a\n"
                                   "2017-10-09 07:01:55,66.0,0,66.0,a\n");
  CHECK(got.counts.rows_dropped == 2);
  CHECK_THAT(got.report,
             Contains("1 dropped: duration: expected a number above 0 and of at most 8589934592; line 3") &&
                 Contains("1 dropped, and 1 of the others: num_gpus: expected a whole number from 1 to 1000000; line"));
}

TEST_CASE("philly-json: a job's length is the sum of its attempts, its GPUs those of the last") {
  // Attempts of 74 s on 8 and of 100 s on 2 GPUs, after one that lost its end.
  const Imported got = import_text("philly-json", R"([
    {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1", "submitted_time": "2017-10-07 01:11:39", "user": "ce2f4c",
     "attempts": [
       {"start_time": "2017-10-07 01:11:50", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
       {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
        "detail": [{"ip": "m47", "gpus": ["gpu0","gpu1","gpu2","gpu3"]}, {"ip": "m48", "gpus": ["gpu0","gpu1","gpu2","gpu3"]}]},
       {"start_time": "2017-10-07 02:00:00", "end_time": "2017-10-07 02:01:40", "detail": [{"ip": "m47", "gpus": ["gpu0","gpu1"]}]}]},
    {"status": "Killed", "vc": "e", "jobid": "application_2", "submitted_time": "2017-10-07 01:11:39", "user": "c", "attempts": []},
    {"status": "Pass", "vc": "e", "jobid": "application_3", "submitted_time": null, "user": "c", "attempts": []},
    {"jobid": "application_4", "submitted_time": "2017-10-07 01:11:39", "attempts": [
       {"start_time": "2017-10-07 02:00:00", "end_time": "2017-10-07 01:00:00", "detail": [{"gpus": ["gpu0"]}]}]},
    [1, 2], 7
  ])");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,user,partition,status\n"
        "application_1,1507338699,2,174,ce2f4c,ee9e8c,Pass\n");
  CHECK(got.counts.rows_dropped == 5);
  CHECK_THAT(got.report, Contains("2 dropped: attempts: expected an attempt with both dates and GPUs") &&
                             Contains("1 dropped: submitted_time: expected a date") &&
                             Contains("1 kept all the same: attempts: expected both dates and GPUs of each attempt"));
}

TEST_CASE("tiresias: a model that we do not have is left out, and said") {
  const Imported got = import_text("tiresias",
                                   "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
                                   "0,1,0,606,vgg19,164,30\n"
                                   "1,8,30,133,vgg11,147,23\n"
                                   "1,8,30,133,vgg11,147,23\n");
  CHECK(got.csv == "job_id,submit_s,gpus,duration_s,model,dataset\n0,0,1,164,vgg19,\n1,30,8,147,,\n");
  CHECK_THAT(got.report,
             Contains("1 kept all the same: model: expected the name of a model (--map-model says which): left out; line 3 "
                      "(found \"vgg11\")") &&
                 Contains("1 dropped: job_id: expected a name that no job before has; line 4"));
}

TEST_CASE("gavel: both layouts; the steps of all workers become steps at the global batch") {
  // 3948 batches of 64 on 4 workers: 3948 / 4 = 987 steps at 4 x 64 = 256. 2931 on 2: 1465.5, so 1466.
  const Imported got = import_text("gavel",
                                   "ResNet-18 (batch size 64)\tpython3 main.py\t--num_steps\t1\t3948\t7.500000\t4\n"
                                   "ResNet-50 (batch size 64)\tpython3 main.py\tdir\t--n\t1\t2931\t2\t3\t1.200000\t9\n"
                                   "CycleGAN\tpython3\tdir\t--n\t1\t2931\t2\t3\t-1.000000\t9\n"
                                   "LM (batch size 5)\tpython3\tdir\t--n\t1\t2931\t2\t3\t-1.000000\t9\n"
                                   "ResNet-50 (batch size 64)\tpython3 main.py\t1\n"
                                   "ResNet-50 (batch size 64)\tpython3 main.py\t--num_steps\t1\t3948\t7.5s\t4\n");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,model,dataset,batch_size,steps,priority\n"
        "gavel-1,7.5,4,resnet18,cifar10,256,987,\n"
        "gavel-2,9,2,resnet50,imagenet,128,1466,3\n");
  CHECK_THAT(got.report, Contains("dropped: job_type: expected a model and a batch") &&
                             Contains("dropped: model: expected the name of") &&
                             Contains("expected 7, 10, 11 or 12 fields between tabs; line 5 (found 3)") &&
                             Contains("dropped: arrival_time: expected a number from 0") && Contains("1 rows have an SLO"));
}

TEST_CASE("helios: Slurm's dates are checked against one another") {
  const std::string header = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";
  const Imported got = import_text(
      "helios", header +
                    "1425511,uXBbc,vcJkd,1,4,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
                    "1425512,u,v,0,4,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
                    "1425513,u,v,1,4,1,FAILED,2020-06-09 18:41:01,2020-06-09 18:40:00,2020-06-10 04:55:09,36848,0\n"
                    "1425514,u,v,1,4,1,FAILED,2020-06-09 18:41:01,2020-06-09 19:00:00,2020-06-09 18:55:09,36848,0\n"
                    "1425515,u,v,1,4,1,TIMEOUT,2020-06-09 18:41:02,2020-06-09 18:41:02,2020-06-09 20:41:02,3600,0\n");
  // 2020-06-09: 50 x 365 + 12 leap days (1972 to 2016) + 160 (31 + 29 + 31 + 30 + 31 + 8) = 18,422 days; + 67,261 s.
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,user,cpus,partition,status\n"
        "1425511,1591728061,1,36848,uXBbc,4,vcJkd,COMPLETED\n"
        "1425515,1591728062,1,3600,u,4,v,TIMEOUT\n");
  CHECK_THAT(got.report, Contains("1 dropped: gpu_num") && Contains("1 dropped: start_time: expected a date not before submit") &&
                             Contains("1 dropped: end_time: expected a date not before start_time") &&
                             Contains("1 kept all the same: duration: expected end_time - start_time (a clock that was set?)"));
}

TEST_CASE("alibaba-pai-2020: no line of names; hundredths of GPUs and cores, GiB") {
  // 2 instances of half a GPU, 6 cores and 29.296875 GiB: 2 x 29.296875 x 2^30 = 62914560000 bytes.
  const Imported got = import_text("alibaba-pai-2020",
                                   "4f05,tensorflow,2.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n"
                                   "4f05,ps,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,0.0,\n"
                                   "4f06,worker,1.0,Running,1739162.0,,600.0,29.0,200.0,V100\n"
                                   "4f07,worker,3.0,Failed,1739163.0,1739164.0,,,200.0,V100\n");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,gpu_type,gpu_fraction,cpus,memory_bytes,status\n"
        "4f05/tensorflow,1739162,2,38,MISC,0.5,12,62914560000,Terminated\n"
        "4f07/worker,1739163,6,1,V100,,,,Failed\n");
  CHECK(got.counts.rows_dropped == 2);
}

TEST_CASE("alibaba-gpu-2023: a pod runs from scheduled_time to deletion_time") {
  const Imported got = import_text("alibaba-gpu-2023",
                                   "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
                                   "deletion_time,scheduled_time\n"
                                   "p1,6000,12288,1,460,,LS,Running,427061,12902960,427061\n"
                                   "p2,16000,32768,2,1000,V100M16|V100M32,BE,Succeeded,10,30,20\n"
                                   "p3,16000,32768,0,0,,BE,Succeeded,10,30,20\n"
                                   "p4,16000,32768,1,1000,,BE,Pending,10,30,\n"
                                   "p5,16000,32768,1,1000,,BE,Failed,10,15,20\n");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,gpu_type,gpu_fraction,cpus,memory_bytes,partition,status\n"
        "p1,427061,1,12475899,,0.46,6,12884901888,LS,Running\n"
        "p2,10,2,10,V100M16|V100M32,,16,34359738368,BE,Succeeded\n");
  CHECK_THAT(got.report, Contains("dropped: deletion_time: expected a date after scheduled_time; line 6"));
}

TEST_CASE("alibaba-gpu-2025: instances of services; those without GPUs, or with an end beyond the trace, are dropped") {
  // 120 GiB are 120 x 2^30 = 128849018880 bytes; scheduled 29 s after its creation, it served 1435760 - 1435629 = 131 s.
  const Imported got = import_text("alibaba-gpu-2025",
                                   "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,"
                                   "scheduled_time,deletion_time\n"
                                   "instance_1,HN,app_0,12,1,120.0,1435600.0,1435629.0,1435760.0\n"
                                   "instance_2,HN,app_0,12,1,120.0,,,\n"
                                   "instance_3,HN,app_0,12,1,120.0,1435600.0,1435629.0,NaN\n"
                                   "instance_4,CN,app_1,64,0,320.0,1435629.0,1435629.0,1435760.0\n");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,user,gpu_fraction,cpus,memory_bytes,partition\n"
        "instance_1,1435600,1,131,app_0,,12,128849018880,HN\n");
  CHECK_THAT(got.report, Contains("dropped: gpu_request") && Contains("others: deletion_time") &&
                             Contains("inference services, no training"));
}

TEST_CASE("alibaba-spot-2026: GPUs of a job are those of a worker times workers; HP before Spot") {
  // Sixteen workers with a GPU and 15 cores each: 16 GPUs, 240 cores. Two workers with half a GPU each hold two.
  const Imported got =
      import_text("alibaba-spot-2026",
                  "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
                  "239255,13,A10,20,1,1,0,2764799,HP\n"
                  "437260,57,A100-SXM4-80GB,15,1,16,9589663,41060,Spot\n"
                  "437261,57,A10,15,0.5,2,9589663,41060,Spot\n"
                  "437262,57,A10,15,8,1000000,9589663,41060,Spot\n"
                  "437263,57,A10,15,8,1,9589663,0,Spot\n");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,priority,user,gpu_type,gpu_fraction,cpus,partition\n"
        "239255,0,1,2764799,1,13,A10,,20,HP\n"
        "437260,9589663,16,41060,0,57,A100-SXM4-80GB,,240,Spot\n"
        "437261,9589663,2,41060,0,57,A10,0.5,30,Spot\n");
  CHECK_THAT(got.report, Contains("at most a million GPUs together") && Contains("dropped: duration"));
}

TEST_CASE("swf: the fields of version 2.2") {
  // 512 KiB on each of 4 processors: 2097152 bytes; job 3 has no requested memory, but used 100 KiB on each of its 2.
  const Imported got = import_text("swf",
                                   "; Version: 2.2\n; UnixStartTime: 1000000000\n\n"
                                   "  1 0 5 100 4 -1 -1 4 200 512 1 7 -1 -1 -1 3 -1 -1\n"
                                   "2 10 0 0 -1 -1 -1 2 -1 -1 5 -1 -1 -1 2 -1 1 60\n"
                                   "3 10 0 1.5 2 -1 100 2 -1 -1 0 8 -1 -1 -1 -1 9 -1\n"
                                   "4 10 0 15 2 -1 100 2 -1 -1 3 8 -1 -1 -1 -1 9 -1\n"
                                   "5 10 0 -1 2 -1 100 2 -1 -1 0 8 -1 -1 -1 -1 9 -1\n"
                                   "6 10 0 1\n"
                                   "7 10 0 x 2 -1 100 2 -1 -1 0 8 -1 -1 -1 -1 9 -1\n");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,model,dataset,user,memory_bytes,partition,walltime_s,after,status\n"
        "1,0,4,100,,,7,2097152,3,200,,completed\n"
        "2,10,2,0.5,,,,,2,,1,cancelled\n"
        "3,10,2,1.5,,,8,204800,,,,failed\n");
  CHECK_THAT(got.report, Contains("1 kept all the same: run time: expected above 0: 0 is less than 0.5 s") &&
                             Contains("1 kept all the same: after: expected a job before this one") &&
                             Contains("dropped: status: expected a whole job") && Contains("dropped: run time") &&
                             Contains("expected 18 fields; line 9 (found 4)") &&
                             Contains("dropped: field 4: expected a number; line 10 (found \"x\")") &&
                             Contains("UnixStartTime 1000000000") && Contains("a processor of the file counts as a GPU") &&
                             Contains("think times of 1 jobs"));
}

TEST_CASE("swf: a limit below the run time of a job is raised unless the job failed or was cancelled") {
  const auto job_with = [](const std::string& status) {
    const Imported got = import_text("swf", "1 0 0 3700 4 -1 -1 4 3600 -1 " + status + " 1 1 -1 1 -1 -1 -1\n");
    REQUIRE(got.counts.jobs == 1);
    return got.csv.substr(got.csv.find('\n') + 1);
  };
  CHECK(job_with("1") == "1,0,4,3700,,,1,,1,3700,,completed\n");
  CHECK(job_with("-1") == "1,0,4,3700,,,1,,1,3700,,\n");
  CHECK(job_with("0") == "1,0,4,3700,,,1,,1,3600,,failed\n");
  CHECK(job_with("5") == "1,0,4,3700,,,1,,1,3600,,cancelled\n");
}

TEST_CASE("swf: fields behind the eighteenth are set aside, and said; a line with fewer is no job") {
  const Imported got = import_text("swf",
                                   "1 0 5 100 4 -1 -1 4 200 -1 1 7 -1 -1 -1 3 -1 -1 17 x\n"
                                   "2 0 5 100 4 -1 -1 4 200 -1 1 7 -1 -1 -1 3 -1 -1\n"
                                   "3 0 5 100 4 -1 -1 4 200 -1 1 7 -1 -1 -1 3 -1\n");
  CHECK(got.counts.jobs == 2);
  CHECK(got.counts.rows_dropped == 1);
  CHECK_THAT(import_text("swf", "1 0 5 100 -1 -1 -1 4 200 -1 1 7 -1 -1 -1 3 -1 -1\n").report,
             Contains("1 jobs have no allocated processors: the requested ones count"));
  CHECK_THAT(got.report, Contains("1 lines have more than 18 fields") && Contains("expected 18 fields; line 3 (found 17)"));
}

TEST_CASE("batsim: delay profiles, old and new names, whatever the order of the file's keys") {
  const Imported got = import_text("batsim", R"({"description": "x [", "nb_res": 4, "jobs": [
      {"id": 1, "subtime": 10, "walltime": 100, "res": 4, "profile": "a"},
      {"id": "w0!2", "subtime": 20.5, "walltime": -1, "res": 2, "profile": "b", "dependencies": [1], "user": "u"},
      {"id": 3, "subtime": 20.5, "res": 2, "profile": "c"},
      {"id": 4, "subtime": 20.5, "res": 2, "profile": "none"},
      {"id": 5, "subtime": -1, "res": 0, "profile": "a"},
      {"id": 6}
    ],
    "profiles": {"a": {"type": "delay", "delay": 20.25}, "b": {"type": "DelayProfile", "delay": 7},
                 "c": {"type": "parallel_homogeneous", "cpu": 1e6, "com": 0}, "d": 3}})");
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,user,partition,walltime_s,after\n"
        "1,10,4,20.25,,,100,\n"
        "w0!2,20.5,2,7,u,,,1\n");
  CHECK(got.counts.rows_dropped == 4);
  CHECK_THAT(got.report,
             Contains("a delay profile, or a sequence of them: others last as long as the platform makes them; line 4") &&
                 Contains("expected the name of a profile; line 5 (found \"none\")") && Contains("dropped: subtime"));
}

TEST_CASE("batsim: a delay that is none drops the jobs that use it; a limit that is none is set aside") {
  const Imported got = import_text("batsim", R"({"jobs": [
      {"id": 1, "subtime": 0, "res": 1, "profile": "zero"}, {"id": 2, "subtime": 0, "res": 1, "profile": "text"},
      {"id": 3, "subtime": 0, "res": 1, "profile": "none"}, {"id": 4, "subtime": 0, "res": 1, "profile": "good", "walltime": 0},
      {"id": 5, "subtime": 0, "res": 1, "profile": "good", "walltime": -1}],
    "profiles": {"zero": {"type": "delay", "delay": 0}, "text": {"type": "delay", "delay": "5"}, "none": {"type": "delay"},
                 "good": {"type": "delay", "delay": 5}}})");
  CHECK(got.csv == "job_id,submit_s,gpus,duration_s,user,partition,walltime_s,after\n4,0,1,5,,,,\n5,0,1,5,,,,\n");
  CHECK_THAT(got.report,
             Contains("3 dropped: profile: expected a profile with a delay") && Contains("1 kept all the same: walltime"));
}

TEST_CASE("elasticflow-rigid: the deadline counts from the submission") {
  const Imported got = import_text("elasticflow-rigid",
                                   "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
                                   "a,3715485,3249,inception3,3716178,32,1,1075\n"
                                   "b,3715486,3249,gpt2,3715486,32,1,1075\n");
  CHECK(got.csv == "job_id,submit_s,gpus,duration_s,model,dataset,deadline_s\na,3715485,1,1075,inception-v3,,693\n");
}

TEST_CASE("files that are something else say what they are") {
  const std::string tar = std::string(257, 'x') + "ustar" + std::string(250, '0');
  CHECK_THAT(refusal("philly", "timestamp;duration;num_gpus\n"),
             Contains("expected columns separated by commas, found semicolons"));
  CHECK_THAT(refusal("philly", "timestamp\tduration\tnum_gpus\n"), Contains("found tabs"));
  CHECK_THAT(refusal("philly", "timestamp,duration\n"), Contains("expected a column \"num_gpus\""));
  CHECK_THAT(refusal("philly", ""), Contains("an empty file"));
  for (const char* format : {"philly", "swf", "gavel", "batsim", "philly-json", "kubernetes", "alibaba-spot-2026"}) {
    CAPTURE(format);
    CHECK_THAT(refusal(format, "PK\x03\x04rest"), Contains("a zip archive"));
    CHECK_THAT(refusal(format, "\xFF\xFEt"), Contains("text in UTF-16"));
    CHECK_THAT(refusal(format, tar), Contains("a tar archive"));
    CHECK_THAT(refusal(format, "PAR1\x15"), Contains("a Parquet file: write it as CSV with pandas.read_parquet(file)"));
    CHECK_THAT(refusal(format, "\x89HDF\r\n\x1A\n"), Contains("an HDF5 file"));
  }
  CHECK_THAT(refusal("swf", std::string("1 2\0 3", 6)), Contains("a NUL character"));
  CHECK_THAT(refusal("swf", std::string((1u << 20) + 1, '1')), Contains("lines of at most 1 MiB"));
  CHECK_THAT(refusal("kubernetes", "{\"kind\": \"List\"}"), Contains("expected a key \"items\""));
  CHECK_THAT(refusal("batsim", "{\"jobs\": []}"), Contains("expected a key \"profiles\""));
  CHECK_THAT(refusal("batsim", "{\"jobs\": 3, \"profiles\": {}}"), Contains("a list or an object at \"jobs\""));
  CHECK_THAT(refusal("philly-json", "[{\"jobid\": \"a\""), Contains("expected the end of this value, found the end of the file"));
  CHECK_THAT(refusal("philly-json", "[" + std::string(200, '[')), Contains("at most 100 brackets"));
  CHECK(import_text("philly-json", "[1 2, {}, {\"jobid\": \"\\q\"}]").counts.rows_dropped ==
        3);  // no JSON inside of a list that is
}

TEST_CASE("real files of every format that there is data of") {
  struct Real {
    const char* format;
    const char* file;
    std::int64_t rows, jobs;
  };
  // Rows as `wc -l` counts them. Tiresias' second file has one job twice. Of Gavel's models we have ResNet-18 and ResNet-50.
  for (const Real& real : {Real{"philly", "pollux_osdi21/traces/philly.csv.gz", 82247, 82247},
                           {"tiresias", "tiresias/60_job.csv", 60, 60},
                           {"tiresias", "tiresias/tf_job.csv", 2, 1},
                           {"gavel", "gavel/traces/msr_seed0/11cb48.trace", 2000, 692},
                           {"gavel", "gavel/traces/physical_cluster/max_min_fairness.trace", 96, 47},
                           {"elasticflow-rigid", "elasticflow/cluster03.csv.gz", 3011, 3011}}) {
    const std::string path = data_file(real.file);
    if (path.empty()) continue;
    CAPTURE(real.file);
    const Imported got = import_file(real.format, path);
    CHECK(got.counts.rows == real.rows);
    CHECK(got.counts.jobs == real.jobs);
  }
}

TEST_CASE("philly-json: GPU-hours are those of all attempts; other numbers of GPUs are said") {
  // An hour on one GPU and an hour on two: 3 GPU-hours. The job has the last attempt's two GPUs for both hours: 4.
  const auto attempt = [](const std::string& from, const std::string& to, const std::string& gpus) {
    return R"({"start_time": "2017-10-07 )" + from + R"(:00:00", "end_time": "2017-10-07 )" + to +
           R"(:00:00", "detail": [{"gpus": [)" + gpus + "]}]}";
  };
  const Imported got = import_text(
      "philly-json", R"([{"jobid": "a", "submitted_time": "2017-10-07 00:00:00", "user": 5, "attempts": []}, {"jobid": "b",
                          "submitted_time": "2017-10-07 00:00:00", "attempts": [)" +
                         attempt("01", "02", R"("g0")") + "," + attempt("03", "04", R"("g0", "g1")") + "]}]");
  CHECK_THAT(got.csv, Contains("b,1507334400,2,7200,"));
  CHECK_THAT(got.report, Contains("GPU-hours: 3 read, 4 kept") && Contains("1 kept all the same: attempts: expected equal GPUs"));
}

TEST_CASE("a file whose last line has no end may have been cut off") {
  const std::string text = "job_id,submit_s,gpus,duration_s\na,0,1,3600\nb,0,1,36";
  CHECK_THAT(import_text("native", text).report, Contains("the last line has no line end") && Contains("GPU-hours: 1.01 read"));
  CHECK(import_text("native", text + "00\n").report.find("no line end") == std::string::npos);
  CHECK(import_text("philly-json", "[{}]").report.find("no line end") == std::string::npos);
}

TEST_CASE("native: what a cluster recorded of a job is kept; scaling moves its dates together") {
  // --scale-load 2: b comes 50 s after a, not 100. It could start 10 s after its submission and started 30 s after, as before.
  const std::string text =
      "job_id,submit_s,gpus,nodes,duration_s,partition,qos,account,eligible_s,start_s\n"
      "a,0,8,2,60,gpu,high,\"lab, x\",0,5\n"
      "b,100,8,,60,,,,110,130\n";
  CHECK(import_text("native", text).csv == text);
  CHECK_THAT(import_text("native", text, {.scale_load = 2}).csv, Contains("b,50,8,,60,,,,60,80\n"));
  CHECK(import_text("native", "job_id,submit_s,gpus,nodes,duration_s\na,0,8,0,60\nb,0,8,1.5,60\nc,0,8,1e7,60\n")
            .counts.rows_dropped == 3);
}

TEST_CASE("mistakes at different places of a list are one reason") {
  // The second attempt of the first job, the first attempt of the second.
  const std::string good =
      R"({"start_time": "2017-10-07 01:11:50", "end_time": "2017-10-07 01:12:50", "detail": [{"gpus": ["gpu0"]}]})";
  const std::string bad = R"({"start_time": 7, "end_time": "2017-10-07 01:12:50", "detail": []})";
  const auto job = [](const std::string& name, const std::string& attempts) {
    return "{\"jobid\": \"" + name + R"(", "submitted_time": "2017-10-07 01:11:39", "attempts": [)" + attempts + "]}";
  };
  const Imported got =
      import_text("philly-json", "[" + job("a", good + "," + bad) + ",\n" + job("b", bad) + ",\n" + job("c", good) + "]");
  CHECK(got.counts.jobs == 1);
  CHECK_THAT(
      got.report,
      Contains("2 dropped: attempts/start_time: expected a date like 2017-10-07 01:12:09; lines 1 (found 7), 2 (found 7)"));
}

TEST_CASE("numbers in SWF that are no program's are no model") {
  const Imported got = import_text("swf",
                                   "; Executable: 1 resnet18\n; Executable: -1 vgg16\n"
                                   "1 0 5 100 4 -1 -1 4 200 512 1 1 -1 1e300 -1 3 -1 -1\n"
                                   "2 0 5 100 4 -1 -1 4 200 512 1 1 -1 -1 -1 3 -1 -1\n"
                                   "3 0 5 100 4 -1 -1 4 200 512 1 1 -1 1 -1 3 -1 -1\n");
  CHECK(got.counts.jobs == 3);
  CHECK(got.csv.find("vgg16") == std::string::npos);
  CHECK_THAT(got.csv, Contains("\n3,0,4,100,resnet18,"));
}
