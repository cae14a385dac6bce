// Job lists of Kubernetes, `kubectl get ... -o json` or `-o yaml`: Workloads of Kueue (its documentation, "Workload"), Jobs of
// Volcano (batch.volcano.sh/v1alpha1) and of Kubernetes itself (batch/v1), training jobs of Kubeflow (kubeflow.org/v1), RayJobs
// of KubeRay (ray.io/v1) and Pods (v1): one list of any, a mixture, or one object. A job has the GPUs of the pods that ran at
// once.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "sim/io/civil_date.hpp"
#include "sim/io/file.hpp"
#include "sim/io/text_input.hpp"
#include "sim/io/yaml.hpp"
#include "traces/jobs/pod_resources.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

/// What the pods of a job ask for together.
struct Pods {
  PodResources asked;
  std::string gpu_type;
};

/// From the first character that is neither blank nor part of a comment of YAML, up to some thousand of them.
std::string begin_of(const std::string& path) {
  std::string text(4096, '\0');
  text.resize(sim::ByteSource(path).read(text.data(), text.size()));
  if (text.starts_with(sim::kByteOrderMark)) text.erase(0, sim::kByteOrderMark.size());
  while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.front())) != 0 || text.front() == '#'))
    text.erase(0, text.front() == '#' ? std::min(text.find('\n'), text.size()) : 1);
  return text;
}

/// What a file holds: the objects, and what the list around them says that they are.
struct Listed {
  std::function<bool(sim::JsonItem&)> next;
  std::string kind, version;  ///< empty where it is no list of one kind
};

std::function<bool(sim::JsonItem&)> one_by_one(std::shared_ptr<sim::JsonItems> items) {
  return [items = std::move(items)](sim::JsonItem& item) { return items->next(item); };
}

/// `kubectl get ... -o yaml`: the elements of "items", or the one object.
Listed yaml_objects(const std::string& path) {
  const auto document = std::make_shared<sim::JsonDocument>(sim::parse_yaml(sim::read_file(path, sim::kMaxYamlBytes), path));
  Listed listed;
  std::vector<sim::JsonValue> objects;
  bool is_list = false;
  for (const sim::JsonMember member : document->root().members()) {
    const std::string_view key = member.key.text();
    if (key == "kind" && member.value.is_string()) listed.kind = member.value.text();
    if (key == "apiVersion" && member.value.is_string()) listed.version = member.value.text();
    if (key != "items") continue;
    is_list = true;
    for (const sim::JsonValue one : member.value.elements()) objects.push_back(one);
  }
  if (!is_list) objects.push_back(document->root());
  listed.next = [document, objects = std::move(objects), at = std::size_t{0}](sim::JsonItem& item) mutable {
    if (at == objects.size()) return false;
    const sim::JsonValue one = objects[at++];
    item = {.name = {}, .text = one.json(), .line = one.mistake({}).line};
    return true;
  };
  return listed;
}

/// Of a list at "items", of a list without an object around it, of one object or of several in a row.
Listed kubernetes_objects(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))  // it gives its bytes once
    return {.next = one_by_one(std::make_shared<sim::JsonItems>(path, "items")), .kind = {}, .version = {}};
  const std::string begin = begin_of(path);
  Listed listed;
  if (begin.starts_with("---") || begin.starts_with("apiVersion:") || begin.starts_with("kind:") || begin.starts_with("items:")) {
    listed = yaml_objects(path);
  } else if (begin.starts_with('[')) {
    listed.next = one_by_one(std::make_shared<sim::JsonItems>(path));
  } else {
    listed.kind = sim::root_text(path, "kind").value_or("List");
    listed.version = sim::root_text(path, "apiVersion").value_or("");
    const bool is_list = sim::root_text(path, "items") || listed.kind.ends_with("List");
    listed.next = one_by_one(is_list ? std::make_shared<sim::JsonItems>(path, "items")
                                     : std::make_shared<sim::JsonItems>(path, sim::JsonItems::Values()));
  }
  if (listed.kind == "List" || !listed.kind.ends_with("List")) listed.kind = listed.version = "";
  if (!listed.kind.empty()) listed.kind.resize(listed.kind.size() - 4);
  return listed;
}

/// "Job vision/b".
std::string name_of_object(std::string_view kind, std::string_view space, std::string_view name) {
  return fmt::format("{} {}/{}", kind, space, name);
}

class Kubernetes final : public JsonTrace {
 public:
  explicit Kubernetes(const std::string& path) : Kubernetes(path, kubernetes_objects(path)) {}

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (evicted_ > 0)
      notes.push_back(
          fmt::format("{} jobs ran more than once: their last run is told, and all before it counts as waiting", evicted_));
    if (pods_ > 0) notes.push_back(fmt::format("{} Pods, each a job of its own here", pods_));
    return notes;
  }

 private:
  struct Run {
    std::optional<double> start_s, end_s;
  };

  Kubernetes(const std::string& path, Listed listed)
      : JsonTrace(path, std::move(listed.next)), kind_(std::move(listed.kind)), version_(std::move(listed.version)) {
    std::error_code ignored;
    if (kind_.empty() && std::filesystem::is_regular_file(path, ignored)) look_for_owners();
  }

  /// Who has which place in a list of several kinds: a Workload stands for the object that it was made for, and an object for
  /// those that it has made.
  void look_for_owners() {
    const Listed listed = kubernetes_objects(path());
    sim::JsonItem item;
    TraceRow row;
    sim::Mistakes mistakes;
    while (listed.next(item)) {
      const auto document = parse_item(item, path(), row);
      if (!document || !document->root().is_object()) continue;
      sim::ObjectReader in(document->root(), mistakes);
      const auto metadata = in.child("metadata");
      if (!metadata || !metadata->is_object()) continue;
      sim::ObjectReader names(*metadata, mistakes);
      const std::string kind = in.text("kind", ""), space = names.text("namespace", "default");
      if (kind != "Pod" && reader_of(kind, in.text("apiVersion", ""), false) != nullptr)
        listed_.insert(name_of_object(kind, space, names.text("name", "")));
      if (kind != "Workload") continue;
      for (const std::string& owner : owners_of(*metadata, space, mistakes)) of_workloads_.insert(owner);
    }
  }

  static std::vector<std::string> owners_of(sim::JsonValue metadata, std::string_view space, sim::Mistakes& mistakes) {
    std::vector<std::string> owners;
    sim::ObjectReader in(metadata, mistakes);
    for (const sim::JsonValue value : in.list("ownerReferences")) {
      sim::ObjectReader owner(value, mistakes);
      owners.push_back(name_of_object(owner.text("kind", ""), space, owner.text("name", "")));
    }
    return owners;
  }

  void refuse_twice(sim::JsonValue metadata, const std::string& kind, TraceRow& row, sim::Mistakes& mistakes) const {
    const std::string expected = "an object that no other one of the list stands for";
    const std::string own = name_of_object(kind, row.job.user, sim::ObjectReader(metadata, mistakes).text("name", ""));
    if (kind == "Workload") return;
    if (of_workloads_.contains(own)) {
      row.refuse("metadata", expected, fmt::format("{}, which has a Workload there", own));
      return;
    }
    for (const std::string& owner : owners_of(metadata, row.job.user, mistakes))
      if (listed_.contains(owner)) {
        row.refuse("metadata", expected, fmt::format("a {} of {}", kind, owner));
        return;
      }
  }

  std::optional<double> date(std::optional<sim::JsonValue> value, sim::Mistakes& mistakes) const {
    if (!value || value->is_null()) return std::nullopt;
    const auto date = value->is_string() ? sim::parse_civil_date(value->text()) : std::nullopt;
    if (!date) {
      value->refuse("a date like 2026-03-01T07:01:55Z", mistakes);
      return std::nullopt;
    }
    return date->unix_s;
  }

  using Read = Run (Kubernetes::*)(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods,
                                   sim::Mistakes& mistakes);

  /// Null for what is no job. Without a version the kind decides, and of a Job whether it has Volcano's tasks.
  static Read reader_of(std::string_view kind, std::string_view version, bool has_tasks) {
    const auto is_of = [&](std::string_view group) { return version.empty() || version.starts_with(group); };
    if (kind == "Workload" && is_of("kueue.x-k8s.io/")) return &Kubernetes::read_kueue;
    if (kind == "Job" && is_of("batch.volcano.sh/") && (has_tasks || !version.empty())) return &Kubernetes::read_volcano;
    if (kind == "Job" && is_of("batch/")) return &Kubernetes::read_batch;
    if (kind == "RayJob" && is_of("ray.io/")) return &Kubernetes::read_ray;
    if (kind == "Pod" && is_of("v1")) return &Kubernetes::read_pod;
    if (kind.ends_with("Job") && kind != "Job" && is_of("kubeflow.org/")) return &Kubernetes::read_kubeflow;
    return nullptr;
  }

  void read(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) override {
    sim::ObjectReader in(value, mistakes);
    const std::string kind = in.text("kind", kind_.empty() ? std::nullopt : std::optional(kind_));
    const std::string version = in.text("apiVersion", version_);
    const auto metadata = in.required("metadata", "an object with name and creationTimestamp");
    const auto spec = in.required("spec", "an object"), status = in.required("status", "an object");
    if (!mistakes.empty()) return;
    const Read read_kind = reader_of(kind, version, sim::ObjectReader(*spec, mistakes).has("tasks"));
    if (read_kind == nullptr) {
      row.refuse(
          "kind",
          "a Workload of kueue.x-k8s.io, a Job of batch or batch.volcano.sh, a PyTorchJob or another job of kubeflow.org, a "
          "RayJob of ray.io, or a Pod",
          fmt::format("\"{}\" of \"{}\"", kind, version));
      return;
    }
    read_names(*metadata, row, mistakes);
    if (mistakes.empty()) refuse_twice(*metadata, kind, row, mistakes);
    if (!mistakes.empty() || !row.mistakes.empty()) return;
    Pods pods;
    const Run run = (this->*read_kind)(*spec, *status, row.job, pods, mistakes);
    if (mistakes.empty()) take(run, pods, row);
  }

  void read_names(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) const {
    sim::ObjectReader in(value, mistakes);
    TraceJob& job = row.job;
    job.user = in.text("namespace", "default");
    job.job_id = fmt::format("{}/{}", job.user, in.text("name"));
    const auto created = date(in.required("creationTimestamp", "a date"), mistakes);
    job.submit_s = created.value_or(0);
    const auto labels = in.child("labels");  // a Job that Kueue holds back names its queue so
    if (!labels || !labels->is_object()) return;
    sim::ObjectReader label(*labels, mistakes);
    job.partition = label.maybe_text("kueue.x-k8s.io/queue-name").value_or("");
  }

  /// Kueue's conditions, and those of batch and Kubeflow: {type, status, lastTransitionTime, reason}. Of one that is true; sets
  /// `reason`.
  std::optional<double> since(sim::JsonValue status, std::string_view type, sim::Mistakes& mistakes,
                              std::string* reason = nullptr) const {
    sim::ObjectReader in(status, mistakes);
    for (const sim::JsonValue value : in.list("conditions")) {
      sim::ObjectReader condition(value, mistakes);
      if (condition.text("type", "") != type || condition.text("status", "") != "True") continue;
      if (reason != nullptr) *reason = condition.maybe_text("reason").value_or("");
      return date(condition.child("lastTransitionTime"), mistakes);
    }
    return std::nullopt;
  }

  /// The first of these conditions that is true ends the run, and is its status.
  void end_with(std::initializer_list<const char*> types, sim::JsonValue status, Run& run, TraceJob& job,
                sim::Mistakes& mistakes) const {
    for (const char* type : types) {
      if (run.end_s) return;
      run.end_s = since(status, type, mistakes);
      if (run.end_s) job.status = type;
    }
  }

  /// What Kueue has admitted counts before what was asked for: fewer pods (partial admission), or other resources.
  struct Admitted {
    std::optional<std::int64_t> pods;
    std::optional<sim::JsonValue> usage;  ///< of all of them together
  };

  static std::map<std::string, Admitted> admitted_in(sim::JsonValue status, sim::Mistakes& mistakes) {
    std::map<std::string, Admitted> sets;
    const auto admission = sim::ObjectReader(status, mistakes).child("admission");
    if (!admission || !admission->is_object()) return sets;
    sim::ObjectReader in(*admission, mistakes);
    for (const sim::JsonValue value : in.list("podSetAssignments")) {
      sim::ObjectReader set(value, mistakes);
      sets[set.text("name", "main")] = {.pods = set.maybe_integer("count", {.low = 0, .high = kGpuCounts.high}),
                                        .usage = set.child("resourceUsage")};
    }
    return sets;
  }

  Run read_kueue(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader in(spec, mistakes);
    job.partition = in.maybe_text("queueName").value_or("");
    if (const auto priority = in.maybe_integer("priority")) job.priority = static_cast<double>(*priority);
    if (const auto limit = in.maybe_number("maximumExecutionTimeSeconds", kDurations)) job.walltime_s = *limit;
    const std::map<std::string, Admitted> admitted = admitted_in(status, mistakes);
    for (const sim::JsonValue value : in.list("podSets")) {
      sim::ObjectReader set(value, mistakes);
      const auto found = admitted.find(set.text("name", "main"));
      const Admitted of_set = found != admitted.end() ? found->second : Admitted{};
      const auto asked = set.integer("count", {.low = 0, .high = kGpuCounts.high}, 1);
      Pods these;
      if (const auto pod = set.required("template", "a pod's template"))
        add(*pod, static_cast<double>(of_set.pods.value_or(asked)), these, mistakes);
      if (of_set.usage) these.asked.replace(*of_set.usage, mistakes);
      pods.asked.add(these.asked, 1);
      if (!these.gpu_type.empty()) pods.gpu_type = these.gpu_type;
    }
    if (since(status, "Requeued", mistakes)) ++evicted_;
    return {.start_s = since(status, "Admitted", mistakes), .end_s = since(status, "Finished", mistakes, &job.status)};
  }

  /// Each change of a Volcano job's phase is a condition: {status: PHASE, lastTransitionTime}.
  Run read_volcano(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader in(spec, mistakes);
    job.partition = in.maybe_text("queue").value_or("");
    for (const sim::JsonValue value : in.list("tasks")) add_replicas(value, 1, pods, mistakes);
    sim::ObjectReader now(status, mistakes);
    Run run;
    int starts = 0;
    for (const sim::JsonValue value : now.list("conditions")) {
      sim::ObjectReader condition(value, mistakes);
      const std::string phase = condition.text("status", "");
      const auto at_s = date(condition.child("lastTransitionTime"), mistakes);
      if (phase == "Running") {
        ++starts;
        run = {.start_s = at_s, .end_s = {}};
      } else if (phase == "Completed" || phase == "Failed" || phase == "Aborted" || phase == "Terminated") {
        job.status = phase;
        run.end_s = at_s;
      }
    }
    if (starts > 1) ++evicted_;
    return run;
  }

  /// No more pods run at once than are still to complete (its documentation, "Parallel execution for Jobs"). Where no number of
  /// completions is given there are `parallelism` pods.
  Run read_batch(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader in(spec, mistakes);
    if (const auto limit = in.maybe_number("activeDeadlineSeconds", kDurations)) job.walltime_s = *limit;
    const sim::NumberRange range{.low = 0, .high = kGpuCounts.high};
    const auto parallelism = in.integer("parallelism", range, 1);
    const auto completions = null_or_none(in.child("completions")) ? std::nullopt : in.maybe_integer("completions", range);
    const auto count = std::min(parallelism, completions.value_or(parallelism));
    if (const auto pod = in.required("template", "a pod's template")) add(*pod, static_cast<double>(count), pods, mistakes);
    Run run{.start_s = date(sim::ObjectReader(status, mistakes).child("startTime"), mistakes), .end_s = {}};
    end_with({"Complete", "Failed"}, status, run, job, mistakes);
    return run;
  }

  /// pytorchReplicaSpecs, tfReplicaSpecs, mpiReplicaSpecs, ...: by the replicas' role.
  Run read_kubeflow(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    for (const sim::JsonMember member : spec.members())
      if (member.key.text().ends_with("ReplicaSpecs"))
        for (const sim::JsonMember role : member.value.members()) add_replicas(role.value, 1, pods, mistakes);
    const auto policy = sim::ObjectReader(spec, mistakes).child("runPolicy");
    if (policy && policy->is_object()) {
      sim::ObjectReader in(*policy, mistakes);
      if (const auto limit = in.maybe_number("activeDeadlineSeconds", kDurations)) job.walltime_s = *limit;
    }
    sim::ObjectReader now(status, mistakes);
    Run run{.start_s = date(now.child("startTime"), mistakes), .end_s = {}};
    end_with({"Succeeded", "Failed"}, status, run, job, mistakes);
    if (run.end_s && job.status == "Succeeded")
      if (const auto completed = date(now.child("completionTime"), mistakes)) run.end_s = completed;
    return run;
  }

  Run read_ray(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader in(spec, mistakes);
    if (const auto limit = in.maybe_number("activeDeadlineSeconds", kDurations)) job.walltime_s = *limit;
    if (const auto cluster = in.required("rayClusterSpec", "the cluster that was made for the job")) {
      sim::ObjectReader groups(*cluster, mistakes);
      if (const auto head = groups.required("headGroupSpec", "an object with a pod's template"))
        add_replicas(*head, 1, pods, mistakes);
      for (const sim::JsonValue group : groups.list("workerGroupSpecs")) {
        const auto hosts = sim::ObjectReader(group, mistakes).integer("numOfHosts", {.low = 1, .high = kGpuCounts.high}, 1);
        add_replicas(group, static_cast<double>(hosts), pods, mistakes);
      }
    }
    sim::ObjectReader now(status, mistakes);
    job.status = now.maybe_text("jobStatus").value_or("");
    return {.start_s = date(now.child("startTime"), mistakes), .end_s = date(now.child("endTime"), mistakes)};
  }

  /// From its start to the end of its last container.
  Run read_pod(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    pods.asked.add(pod_request(spec, mistakes), 1);
    read_gpu_type(spec, pods, mistakes);
    if (sim::ObjectReader(spec, mistakes).maybe_text("nodeName")) job.nodes = 1;
    sim::ObjectReader now(status, mistakes);
    job.status = now.maybe_text("phase").value_or("");
    Run run{.start_s = date(now.child("startTime"), mistakes), .end_s = {}};
    if (job.status != "Succeeded" && job.status != "Failed") return run;
    for (const sim::JsonValue value : now.list("containerStatuses")) {
      const auto state = sim::ObjectReader(value, mistakes).child("state");
      const auto ended = state && state->is_object() ? sim::ObjectReader(*state, mistakes).child("terminated") : std::nullopt;
      if (!ended || !ended->is_object()) continue;
      const auto end_s = date(sim::ObjectReader(*ended, mistakes).child("finishedAt"), mistakes);
      if (end_s && (!run.end_s || *end_s > *run.end_s)) run.end_s = end_s;
    }
    ++pods_;
    return run;
  }

  static bool null_or_none(const std::optional<sim::JsonValue>& value) { return !value || value->is_null(); }

  /// `replicas` (1 where not given) pods of each of `of_each` after its `template`.
  static void add_replicas(sim::JsonValue value, double of_each, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader in(value, mistakes);
    const auto count = in.integer("replicas", {.low = 0, .high = kGpuCounts.high}, 1);
    if (const auto pod = in.required("template", "a pod's template"))
      add(*pod, static_cast<double>(count) * of_each, pods, mistakes);
  }

  /// `count` pods after one template.
  static void add(sim::JsonValue pod, double count, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader outer(pod, mistakes);
    const auto spec = outer.required("spec", "an object with containers");
    if (!spec || !spec->is_object()) return;
    pods.asked.add(pod_request(*spec, mistakes), count);
    if (count > 0) read_gpu_type(*spec, pods, mistakes);
  }

  static void read_gpu_type(sim::JsonValue spec, Pods& pods, sim::Mistakes& mistakes) {
    const auto nodes = sim::ObjectReader(spec, mistakes).child("nodeSelector");
    if (!nodes || !nodes->is_object()) return;
    sim::ObjectReader node(*nodes, mistakes);
    if (const auto product = node.maybe_text("nvidia.com/gpu.product")) pods.gpu_type = *product;
  }

  static void take(const Run& run, const Pods& pods, TraceRow& row) {
    TraceJob& job = row.job;
    const PodGpus gpus = pods.asked.gpus();
    if (!run.start_s)
      row.refuse("status", "a job that was admitted and has started", "none");
    else if (!run.end_s)
      row.refuse("status", "a job that has ended", "none");
    else if (*run.start_s < job.submit_s)
      row.refuse("status", "a start not before creationTimestamp", fmt::format("{} s before", job.submit_s - *run.start_s));
    else if (!kDurations.contains(*run.end_s - *run.start_s))
      row.refuse("status", "an end after the start", fmt::format("{} s", *run.end_s - *run.start_s));
    else if (!kGpuCounts.contains(gpus.places) || gpus.places != std::floor(gpus.places))
      row.refuse("spec",
                 "pods that ask for whole GPUs (nvidia.com/gpu, amd.com/gpu, another name/gpu) or slices (nvidia.com/mig-...)",
                 pods.asked.devices());
    if (!row.mistakes.empty()) return;
    if (kDates.contains(*run.start_s)) job.start_s = *run.start_s;
    job.duration_s = *run.end_s - *run.start_s;
    job.gpus = gpus.places;
    if (gpus.fraction < 1) job.gpu_fraction = gpus.fraction;
    if (gpus.mixed)
      row.repairs.push_back({"gpus", "GPUs or slices of one size: read as parts of equal size", pods.asked.devices()});
    job.gpu_type = pods.gpu_type;
    if (const double cpus = pods.asked.of("cpu"); cpus > 0 && kCpuCounts.contains(cpus)) job.cpus = cpus;
    if (const double bytes = pods.asked.of("memory"); bytes > 0 && kMemoryBytes.contains(bytes)) job.memory_bytes = bytes;
    if (is_given(job.walltime_s) && job.duration_s > job.walltime_s) {  // pods may have some seconds more to end in
      row.repairs.push_back(
          {"walltime_s", "a limit of at least the time run: the time run is believed", fmt::format("{}", job.walltime_s)});
      job.walltime_s = job.duration_s;
    }
  }

  std::string kind_, version_;                   ///< of items that do not say
  std::set<std::string> listed_, of_workloads_;  ///< jobs of the list, Pods not among them; owners of its Workloads
  std::int64_t evicted_ = 0, pods_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_kubernetes(const std::string& path) { return std::make_unique<Kubernetes>(path); }

}  // namespace rehearse::traces
