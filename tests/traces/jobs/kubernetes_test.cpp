// Lists of Kubernetes: which pods ran at once, and which of what they asked for is GPUs.
#include <cmath>
#include <map>

#include "sim/base/random.hpp"
#include "tests/traces/jobs/trace_file.hpp"
#include "traces/jobs/mig.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

/// By name: its GPUs, parts as parts.
std::map<std::string, double> gpus_in(const std::string& path, std::string* report = nullptr) {
  traces::TraceStream stream(traces::trace_reader("kubernetes"), path, {}, kModels);
  std::map<std::string, double> gpus;
  while (const traces::TraceJob* job = stream.next()) gpus[job->job_id] = gpus_held(*job);
  if (report != nullptr) *report = to_string(stream.report());
  return gpus;
}

std::map<std::string, double> gpus_of(const std::string& text, std::string* report = nullptr) {
  const TraceFile file(text);
  return gpus_in(file.path(), report);
}

std::string k8s_file(const std::string& name) { return REHEARSE_SOURCE_DIR "/tests/traces/jobs/files/kubernetes/" + name; }

const std::string kDates =
    R"("status": {"startTime": "2026-03-01T00:10:00Z", "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-03-01T01:10:00Z"}]})";

std::string metadata(const std::string& name, const std::string& more = "") {
  return R"("metadata": {"name": ")" + name + R"(", "namespace": "ml", "creationTimestamp": "2026-03-01T00:00:00Z")" + more + "}";
}

std::string container(const std::string& resources, const std::string& more = "") {
  return R"({"name": "c")" + more + R"(, "resources": )" + resources + "}";
}

std::string limits(const std::string& amounts) { return "{\"limits\": {" + amounts + "}}"; }

std::string gpus_only(int count) { return limits("\"nvidia.com/gpu\": " + std::to_string(count)); }

/// A pod's spec.
std::string pod(const std::string& containers, const std::string& init = "", const std::string& more = "") {
  return "{\"containers\": [" + containers + "]" + (init.empty() ? "" : ", \"initContainers\": [" + init + "]") + more + "}";
}

std::string batch(const std::string& name, const std::string& counts, const std::string& spec, const std::string& more = "") {
  return R"({"apiVersion": "batch/v1", "kind": "Job", )" + metadata(name, more) + R"(, "spec": {)" + counts +
         R"("template": {"spec": )" + spec + "}}, " + kDates + "}";
}

std::string list(const std::string& items) { return R"({"apiVersion": "v1", "kind": "List", "items": [)" + items + "]}"; }

/// Of one pod of this spec.
double gpus_of_pod(const std::string& spec) { return gpus_of(list(batch("j", "", spec)))["ml/j"]; }

}  // namespace

TEST_CASE("kubernetes: Workloads of Kueue, Jobs of Volcano and of batch") {
  const auto pods = [](const std::string& resources) {
    return R"("template": {"spec": {"nodeSelector": {"nvidia.com/gpu.product": "A100"}, "containers": [{"resources": )" +
           resources + "}, {\"name\": \"sidecar\"}]}}";
  };
  const auto item = [](const std::string& api, const std::string& kind, const std::string& name, const std::string& rest) {
    return R"({"apiVersion": ")" + api + R"(", "kind": ")" + kind + R"(", "metadata": {"namespace": "vision", "name": ")" + name +
           R"(", "creationTimestamp": "2026-03-01T00:00:00Z", "labels": {"kueue.x-k8s.io/queue-name": "lab"}}, )" + rest + "}";
  };
  const std::string gpus = R"({"limits": {"nvidia.com/gpu": 2, "cpu": "9"}, "requests": {"cpu": "500m", "memory": "1Gi"}})";
  const std::string ended =
      R"({"type": "Finished", "status": "True", "lastTransitionTime": "2026-03-01T00:11:00Z", "reason": "Succeeded"})";
  const std::string admitted = R"({"type": "Admitted", "status": "True", "lastTransitionTime": "2026-03-01T00:01:00Z"})";
  const std::string kueue =
      R"("spec": {"queueName": "gpus", "priority": -5, "maximumExecutionTimeSeconds": 3600, "podSets": [{"count": 3, )" +
      pods(gpus) + "}]}, ";
  const Imported got = import_text(
      "kubernetes",
      R"({"apiVersion": "v1", "items": [)" +
          item("kueue.x-k8s.io/v1beta1", "Workload", "w",
               kueue + R"("status": {"conditions": [)" + admitted + "," + ended + "]}") +
          ",\n" + item("kueue.x-k8s.io/v1beta1", "Workload", "waits", kueue + R"("status": {"conditions": []})") + ",\n" +
          item("kueue.x-k8s.io/v1beta1", "Workload", "runs", kueue + R"("status": {"conditions": [)" + admitted + "]}") + ",\n" +
          item("batch.volcano.sh/v1alpha1", "Job", "v",
               R"("spec": {"queue": "q", "tasks": [{"replicas": 1, )" + pods("{}") + R"(}, {"replicas": 4, )" + pods(gpus) +
                   R"(}]}, "status": {"state": {"phase": "Completed"}, "conditions": [
                    {"status": "Pending", "lastTransitionTime": "2026-03-01T00:00:10Z"},
                    {"status": "Running", "lastTransitionTime": "2026-03-01T00:00:20Z"},
                    {"status": "Restarting", "lastTransitionTime": "2026-03-01T00:01:00Z"},
                    {"status": "Running", "lastTransitionTime": "2026-03-01T00:02:00Z"},
                    {"status": "Completed", "lastTransitionTime": "2026-03-01T01:02:00.5+00:00"}]})") +
          ",\n" +
          item("batch/v1", "Job", "b",
               R"("spec": {"activeDeadlineSeconds": 60, "parallelism": 2, )" + pods(gpus) +
                   R"(}, "status": {"startTime": "2026-03-01T00:05:00Z", "conditions": [
                    {"type": "Failed", "status": "True", "lastTransitionTime": "2026-03-01T00:06:10Z"}]})") +
          ",\n" + item("v1", "Service", "p", R"("spec": {}, "status": {})") + ",\n" +
          item("batch/v1", "Job", "cpu", R"("spec": {)" + pods(R"({"limits": {"cpu": "many"}})") + R"(}, "status": {})") + "]}");
  // 2026-03-01: 56 x 365 + 14 leap days (1972 to 2024) + 59 = 20,513 days x 86,400 s = 1772323200. Kueue's: 3 pods of 2 GPUs,
  // half a core (the request, not the limit) and 2^30 bytes, from 1 to 11 min. Volcano's ran twice: the last run is an hour and
  // half a second.
  CHECK(
      got.csv ==
      "job_id,submit_s,gpus,nodes,duration_s,priority,user,gpu_type,gpu_fraction,cpus,memory_bytes,partition,walltime_s,start_s,"
      "status\n"
      "vision/w,1772323200,6,,600,-5,vision,A100,,1.5,3221225472,gpus,3600,1772323260,Succeeded\n"
      "vision/v,1772323200,8,,3600.5,,vision,A100,,2,4294967296,q,,1772323320,Completed\n"
      "vision/b,1772323200,4,,70,,vision,A100,,1,2147483648,lab,70,1772323500,Failed\n");
  CHECK_THAT(got.report, Contains("a job that was admitted and has started") && Contains("a job that has ended; line") &&
                             Contains("a Workload of kueue.x-k8s.io, a Job of batch or batch.volcano.sh") &&
                             Contains("a quantity like 2, 500m or 8Gi") && Contains("1 kept all the same: walltime_s") &&
                             Contains("1 jobs ran more than once"));
}

TEST_CASE("kubernetes: as many pods as run at once, not as many as are asked for") {
  // min(parallelism 4, completions 1) x 2, min(2, 5) x 1, 1; min(4, 2).
  CHECK(gpus_in(k8s_file("par.json")) == std::map<std::string, double>{{"ml/p4c1", 2}, {"ml/p2c5", 2}, {"ml/p1", 1}});
  CHECK(gpus_in(k8s_file("p4c2.json")) == std::map<std::string, double>{{"ml/p4c2", 2}});
  const auto counted = [](const std::string& counts) {
    return gpus_of(list(batch("j", counts, pod(container(gpus_only(2))))))["ml/j"];
  };
  CHECK(counted("") == 2);
  CHECK(counted("\"parallelism\": 3, ") == 6);  // a queue of work: no number of completions
  CHECK(counted("\"parallelism\": 3, \"completions\": null, ") == 6);
  CHECK(counted("\"completions\": 3, ") == 2);
  CHECK(counted("\"completionMode\": \"Indexed\", \"parallelism\": 8, \"completions\": 3, \"backoffLimit\": 6, ") == 6);
}

TEST_CASE("kubernetes: a pod asks for the larger of what its containers ask for together and what starting it takes") {
  CHECK(gpus_in(k8s_file("init.json")) == std::map<std::string, double>{{"ml/init", 4}});
  const auto of = [](int gpus) { return container(gpus_only(gpus)); };
  const auto sidecar = [](int gpus) { return container(gpus_only(gpus), R"(, "restartPolicy": "Always")"); };
  CHECK(gpus_of_pod(pod(of(1) + "," + of(2))) == 3);
  CHECK(gpus_of_pod(pod(of(1) + "," + of(2), of(2) + "," + of(1))) == 3);
  CHECK(gpus_of_pod(pod(of(2), sidecar(1))) == 3);
  CHECK(gpus_of_pod(pod(of(1), sidecar(2) + "," + of(4))) == 6);  // the sidecar runs beside the init container after it
  CHECK(gpus_of_pod(pod(of(1), of(4) + "," + sidecar(2))) == 4);  // max(4, 2, 1 + 2)
  CHECK(gpus_of_pod(pod(container(R"({"requests": {"nvidia.com/gpu": "3"}, "limits": {"nvidia.com/gpu": "3"}})"))) == 3);
  const Imported got = import_text("kubernetes", list(batch("j", "",
                                                            pod(container(limits(R"("nvidia.com/gpu": 1, "cpu": "2")")), "",
                                                                R"(, "overhead": {"cpu": "500m", "memory": "1Ki"})"))));
  CHECK_THAT(got.csv, Contains(",2.5,1024,"));
}

TEST_CASE("kubernetes: a list of one kind, one object, a bare list and objects in a row") {
  CHECK(gpus_in(k8s_file("single.json")) == std::map<std::string, double>{{"ml/single", 2}});
  const std::string spec = R"("spec": {"template": {"spec": )" + pod(container(gpus_only(2))) + "}}, ";
  const auto untyped = [&](const std::string& name) { return "{" + metadata(name) + ", " + spec + kDates + "}"; };
  const std::map<std::string, double> both{{"ml/a", 2}, {"ml/b", 2}};
  CHECK(gpus_of(R"({"kind": "JobList", "apiVersion": "batch/v1", "items": [)" + untyped("a") + "," + untyped("b") + "]}") ==
        both);
  CHECK(gpus_of(R"({"items": [)" + untyped("a") + "," + untyped("b") +
                R"(], "metadata": {}, "apiVersion": "batch/v1", "kind": "JobList"})") == both);
  const std::string a = batch("a", "", pod(container(gpus_only(2)))), b = batch("b", "", pod(container(gpus_only(2))));
  CHECK(gpus_of("[" + a + "," + b + "]") == both);
  CHECK(gpus_of(a + "\n" + b + "\n") == both);
  CHECK_THAT(import_text("kubernetes", list(untyped("a"))).report, Contains("a key \"kind\""));
  CHECK(gpus_of(list("{\"kind\": \"Job\", " + untyped("a").substr(1) + ", {\"kind\": \"Job\", " + untyped("b").substr(1))) ==
        both);
  CHECK_THAT(refusal("kubernetes", "---\napiVersion: v1\nitems: [\n"), Contains("FILE:"));
}

TEST_CASE("kubernetes: YAML says the same as JSON") {
  const std::string one =
      "- metadata:\n    name: a\n    namespace: ml\n    creationTimestamp: \"2026-03-01T00:00:00Z\"\n"
      "  spec:\n    parallelism: 4\n    completions: 2\n    template:\n      spec:\n        containers:\n"
      "        - name: c\n          resources:\n            limits:\n              nvidia.com/gpu: \"2\"\n"
      "  status:\n    startTime: 2026-03-01T00:10:00Z\n    conditions:\n    - type: Complete\n      status: \"True\"\n"
      "      lastTransitionTime: \"2026-03-01T01:10:00Z\"\n";
  CHECK(gpus_of("apiVersion: batch/v1\nitems:\n" + one + "kind: JobList\n") == std::map<std::string, double>{{"ml/a", 4}});
  const std::string typed = "- apiVersion: batch/v1\n  kind: Job\n  " + one.substr(2);
  CHECK(gpus_of("# jobs\napiVersion: v1\nkind: List\nitems:\n" + typed) == std::map<std::string, double>{{"ml/a", 4}});
  // A mistake has the line on which its object begins.
  CHECK_THAT(import_text("kubernetes", "apiVersion: v1\nitems:\n" + typed + "- kind: Job\n").report, Contains("line 25"));
}

TEST_CASE("kubernetes: what is no whole GPU is a part, or is named") {
  std::string report;
  // r1: two slices of a seventh; r2: four GPUs of AMD. A share of unknown size, memory, other accelerators and half a GPU are
  // none.
  const auto gpus = gpus_in(k8s_file("names.json"), &report);
  CHECK(gpus.size() == 2);
  CHECK(gpus.at("ml/r1") == Approx(2.0 / 7));
  CHECK(gpus.at("ml/r2") == 4);
  CHECK_THAT(report, Contains("4 dropped: spec: expected pods that ask for whole GPUs") && Contains("nvidia.com/gpu.shared: 1") &&
                         Contains("aliyun.com/gpu-mem: 8") && Contains("huawei.com/Ascend910: 8") &&
                         Contains("nvidia.com/gpu: 0.5"));
  for (const auto& [profile, part] : std::map<std::string, double>{{"1g.5gb", 1.0 / 7},
                                                                   {"1g.10gb.me", 1.0 / 7},
                                                                   {"3g.40gb", 3.0 / 7},
                                                                   {"7g.80gb", 1},
                                                                   {"1c.3g.20gb", 1.0 / 7},
                                                                   {"1g.6gb", 0.25},
                                                                   {"2g.12gb", 0.5},
                                                                   {"4g.24gb", 1},
                                                                   {"1g.10gb+me", 1.0 / 7}})
    CHECK(traces::mig_fraction(profile) == part);
  for (const char* none : {"", "shared", "g.5gb", "1g", "0g.0gb"}) CHECK_FALSE(traces::mig_fraction(none));
  const Imported got = import_text(
      "kubernetes",
      list(batch("j", "\"parallelism\": 2, ", pod(container(limits(R"("nvidia.com/gpu": 1, "nvidia.com/mig-3g.20gb": 1)"))))));
  // Two pods of 1 + 3/7: 20/7 GPUs, as three equal parts of 20/21.
  CHECK_THAT(got.csv, Contains("\nml/j,1772323200,3,,3600,,ml,,0.95238"));
  CHECK_THAT(got.report, Contains("read as parts of equal size"));
}

TEST_CASE("kubernetes: Kueue's admitted pods and resources count before those asked for") {
  const auto workload = [](const std::string& name, const std::string& admission) {
    return R"({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", )" + metadata(name) +
           R"(, "spec": {"podSets": [{"name": "driver", "count": 1, "template": {"spec": )" + pod(container(gpus_only(1))) +
           R"(}}, {"name": "workers", "count": 8, "template": {"spec": )" + pod(container(gpus_only(2))) +
           R"(}}]}, "status": {)" + admission +
           R"("conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-03-01T00:01:00Z"},
             {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-03-01T00:02:00Z"},
             {"type": "Finished", "status": "True", "lastTransitionTime": "2026-03-01T01:02:00Z", "reason": "Succeeded"}]}})";
  };
  const auto gpus = gpus_of(list(
      workload("asked", "") + "," +
      workload("counted",
               R"("admission": {"podSetAssignments": [{"name": "workers", "count": 3}, {"name": "driver", "count": 1}]}, )") +
      "," +
      workload("used",
               R"("admission": {"podSetAssignments": [{"name": "driver", "count": 1, "resourceUsage": {"nvidia.com/gpu": "1"}},
        {"name": "workers", "count": 4, "resourceUsage": {"nvidia.com/gpu": "8", "cpu": "4"}}]}, )")));
  CHECK(gpus == std::map<std::string, double>{{"ml/asked", 17}, {"ml/counted", 7}, {"ml/used", 9}});
}

TEST_CASE("kubernetes: training jobs of Kubeflow and Ray, and Pods") {
  CHECK(gpus_in(k8s_file("pytorchjob.json")) == std::map<std::string, double>{{"ml/ddp", 8}});
  const std::string role = R"({"template": {"spec": )" + pod(container(gpus_only(2))) + "}";
  const std::string ended =
      R"("status": {"startTime": "2026-03-01T00:01:00Z", "completionTime": "2026-03-01T01:01:00Z", "conditions": [
      {"type": "Succeeded", "status": "True", "lastTransitionTime": "2026-03-01T01:01:02Z"}]}})";
  const Imported mpi = import_text(
      "kubernetes",
      list(R"({"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", )" + metadata("mpi") +
           R"(, "spec": {"slotsPerWorker": 2, "mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": {"spec": )" +
           pod(container("{}")) + R"(}}, "Worker": )" + role + R"(, "replicas": 3}}}, )" + ended));
  CHECK_THAT(mpi.csv, Contains("\nml/mpi,1772323200,6,,3600,"));
  const Imported ray = import_text(
      "kubernetes", list(R"({"apiVersion": "ray.io/v1", "kind": "RayJob", )" + metadata("ray") +
                         R"(, "spec": {"rayClusterSpec": {"headGroupSpec": {"template": {"spec": )" + pod(container("{}")) +
                         R"(}}, "workerGroupSpecs": [)" + role + R"(, "replicas": 2, "numOfHosts": 2}]}},
                         "status": {"jobStatus": "SUCCEEDED", "startTime": "2026-03-01T00:01:00Z", "endTime": "2026-03-01T00:02:00Z"}})"));
  CHECK_THAT(ray.csv, Contains("\nml/ray,1772323200,8,,60,"));
  const Imported pods = import_text(
      "kubernetes", R"({"apiVersion": "v1", "kind": "PodList", "items": [{)" + metadata("p") +
                        R"(, "spec": {"nodeName": "n1", "containers": [)" + container(gpus_only(4)) +
                        R"(]}, "status": {"phase": "Succeeded", "startTime": "2026-03-01T00:01:00Z", "containerStatuses": [
                        {"state": {"terminated": {"finishedAt": "2026-03-01T00:03:00Z"}}}, {"state": {"terminated": {"finishedAt": "2026-03-01T00:02:00Z"}}}]}}]})");
  CHECK_THAT(pods.csv, Contains("\nml/p,1772323200,4,1,120,"));
  CHECK_THAT(pods.report, Contains("1 Pods, each a job of its own"));
}

TEST_CASE("kubernetes: no GPU is counted twice where a list has a job, its Workload and its Pods") {
  const auto owned = [](const std::string& kind) {
    return R"(, "ownerReferences": [{"apiVersion": "batch/v1", "kind": ")" + kind + R"(", "name": "j"}])";
  };
  const std::string spec = pod(container(gpus_only(2)));
  const std::string job = batch("j", "", spec), other = batch("other", "", spec, owned("CronJob"));
  const std::string of_job = R"({"apiVersion": "v1", "kind": "Pod", )" + metadata("j-x", owned("Job")) + R"(, "spec": )" + spec +
                             R"(, "status": {"phase": "Succeeded", "startTime": "2026-03-01T00:10:00Z", "containerStatuses": [
                             {"state": {"terminated": {"finishedAt": "2026-03-01T01:10:00Z"}}}]}})";
  const std::string workload = R"({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", )" +
                               metadata("job-j-1", owned("Job")) + R"(, "spec": {"podSets": [{"template": {"spec": )" + spec +
                               R"(}}]}, "status": {"conditions": [
      {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-03-01T00:02:00Z"},
      {"type": "Finished", "status": "True", "lastTransitionTime": "2026-03-01T01:02:00Z"}]}})";
  std::string report;
  CHECK(gpus_of(list(of_job + "," + job + "," + other), &report) == std::map<std::string, double>{{"ml/j", 2}, {"ml/other", 2}});
  CHECK_THAT(report, Contains("an object that no other one of the list stands for"));
  CHECK(gpus_of(list(job + "," + of_job + "," + workload)) == std::map<std::string, double>{{"ml/job-j-1", 2}});
  CHECK(gpus_of(list(of_job)) == std::map<std::string, double>{{"ml/j-x", 2}});
}

TEST_CASE("kubernetes: GPU-hours of generated lists are those of a count by hand, in whatever way they are written") {
  sim::Random random(56);
  const auto below = [&](int most) { return static_cast<int>(random.below(static_cast<std::uint64_t>(most))); };
  for (int trial = 0; trial < 200; ++trial) {
    std::string items;
    double expected = 0;
    const int jobs = 1 + below(5);
    const bool typed = below(2) == 0;
    for (int job = 0; job < jobs; ++job) {
      // One pod: containers, then init containers of which some go on.
      int together = 0, starting = 0, beside = 0;
      std::string containers, init;
      const auto write = [&](std::string& into, int gpus, bool stays) {
        const std::string amount = below(2) == 0 ? std::to_string(gpus) : "\"" + std::to_string(gpus) + "\"";
        const std::string one =
            (job % 2 == 0 ? "\"nvidia.com/gpu\": " : "\"amd.com/gpu\": ") + amount + ", \"rdma/hca\": 1, \"cpu\": \"250m\"";
        const std::string resources =
            below(2) == 0 ? "{\"limits\": {" + one + "}}" : "{\"requests\": {" + one + "}, \"limits\": {" + one + "}}";
        into += (into.empty() ? "" : ",") + container(resources, stays ? R"(, "restartPolicy": "Always")" : "");
      };
      for (int n = 1 + below(3); n > 0; --n) {
        const int gpus = 1 + below(4);
        together += gpus;
        write(containers, gpus, false);
      }
      for (int n = below(3); n > 0; --n) {
        const int gpus = below(5);
        const bool stays = below(2) == 0;
        write(init, gpus, stays);
        starting = std::max(starting, beside + gpus);
        if (stays) beside += gpus;
      }
      const int parallelism = 1 + below(5), completions = 1 + below(5);
      std::string counts;
      int pods = 1;
      if (below(2) == 0) counts += "\"parallelism\": " + std::to_string(pods = parallelism) + ", ";
      if (below(2) == 0) {
        counts += "\"completions\": " + std::to_string(completions) + ", ";
        pods = std::min(pods, completions);
      }
      std::string text = batch("j" + std::to_string(job), counts, pod(containers, init));
      if (typed) text = "{" + text.substr(text.find("\"metadata\""));
      items += (items.empty() ? "" : ", ") + text;
      expected += pods * std::max(together + beside, starting);
    }
    const std::string text =
        typed ? R"({"apiVersion": "batch/v1", "items": [)" + items + R"(], "kind": "JobList"})" : list(items);
    double found = 0;
    for (const auto& [name, gpus] : gpus_of(text)) found += gpus;
    INFO(text);
    REQUIRE(found == expected);
  }
}
