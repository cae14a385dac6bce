// Job lists of Kubernetes, `kubectl get ... -o json`: Workloads of Kueue (its documentation, "Workload"), Jobs of Volcano
// (batch.volcano.sh/v1alpha1) and of Kubernetes itself (batch/v1), one list of either or a mixture. A job's GPUs are those that
// its pods' containers ask for, under names that end with "/gpu".
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/io/civil_date.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

/// The API's quantities: "2", "500m", "8Gi", "1e3" (Kubernetes' documentation, "Quantity"). Nothing for any other text.
std::optional<double> quantity(std::string_view text) {
  constexpr std::pair<std::string_view, double> kSuffixes[] = {
      {"", 1},     {"n", 1e-9}, {"u", 1e-6},    {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
      {"P", 1e15}, {"E", 1e18}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, factor] : kSuffixes)
    if (suffix == name) return number * factor;
  return std::nullopt;
}

/// What the pods of a job ask for together.
struct Pods {
  double gpus = 0, cpus = 0, memory_bytes = 0;
  std::string gpu_type;
};

class Kubernetes final : public JsonTrace {
 public:
  explicit Kubernetes(const std::string& path) : JsonTrace(path, "items") {}

  std::vector<std::string> notes() const override {
    if (evicted_ == 0) return {};
    return {fmt::format("{} jobs ran more than once: their last run is told, and all before it counts as waiting", evicted_)};
  }

 private:
  struct Run {
    std::optional<double> start_s, end_s;
  };

  std::optional<double> date(std::optional<sim::JsonValue> value, sim::Mistakes& mistakes) const {
    if (!value || value->is_null()) return std::nullopt;
    const auto date = value->is_string() ? sim::parse_civil_date(value->text()) : std::nullopt;
    if (!date) {
      value->refuse("a date like 2026-03-01T07:01:55Z", mistakes);
      return std::nullopt;
    }
    return date->unix_s;
  }

  void read(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) override {
    sim::ObjectReader in(value, mistakes);
    const std::string kind = in.text("kind"), version = in.text("apiVersion");
    const auto metadata = in.required("metadata", "an object with name and creationTimestamp");
    const auto spec = in.required("spec", "an object"), status = in.required("status", "an object");
    if (!mistakes.empty()) return;
    const bool kueue = kind == "Workload" && version.starts_with("kueue.x-k8s.io/");
    const bool volcano = kind == "Job" && version.starts_with("batch.volcano.sh/");
    if (!kueue && !volcano && !(kind == "Job" && version.starts_with("batch/"))) {
      row.refuse("kind", "a Workload of kueue.x-k8s.io, or a Job of batch.volcano.sh or batch",
                 fmt::format("\"{}\" of \"{}\"", kind, version));
      return;
    }
    read_names(*metadata, row, mistakes);
    if (!mistakes.empty()) return;
    Pods pods;
    const Run run = kueue     ? read_kueue(*spec, *status, row.job, pods, mistakes)
                    : volcano ? read_volcano(*spec, *status, row.job, pods, mistakes)
                              : read_batch(*spec, *status, row.job, pods, mistakes);
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

  /// Kueue's conditions, and those of batch: {type, status, lastTransitionTime, reason}. Of one that is true; sets `reason`.
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

  Run read_kueue(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader in(spec, mistakes);
    job.partition = in.maybe_text("queueName").value_or("");
    if (const auto priority = in.maybe_integer("priority")) job.priority = static_cast<double>(*priority);
    if (const auto limit = in.maybe_number("maximumExecutionTimeSeconds", kDurations)) job.walltime_s = *limit;
    for (const sim::JsonValue value : in.list("podSets")) {
      sim::ObjectReader set(value, mistakes);
      const auto count = set.integer("count", {.low = 0, .high = kGpuCounts.high}, 1);
      if (const auto pod = set.required("template", "a pod's template")) add(*pod, static_cast<double>(count), pods, mistakes);
    }
    if (since(status, "Requeued", mistakes)) ++evicted_;
    return {.start_s = since(status, "Admitted", mistakes), .end_s = since(status, "Finished", mistakes, &job.status)};
  }

  /// Each change of a Volcano job's phase is a condition: {status: PHASE, lastTransitionTime}.
  Run read_volcano(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) {
    sim::ObjectReader in(spec, mistakes);
    job.partition = in.maybe_text("queue").value_or("");
    for (const sim::JsonValue value : in.list("tasks")) {
      sim::ObjectReader task(value, mistakes);
      const auto count = task.integer("replicas", {.low = 0, .high = kGpuCounts.high}, 1);
      if (const auto pod = task.required("template", "a pod's template")) add(*pod, static_cast<double>(count), pods, mistakes);
    }
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

  Run read_batch(sim::JsonValue spec, sim::JsonValue status, TraceJob& job, Pods& pods, sim::Mistakes& mistakes) const {
    sim::ObjectReader in(spec, mistakes);
    if (const auto limit = in.maybe_number("activeDeadlineSeconds", kDurations)) job.walltime_s = *limit;
    const auto count = in.integer("parallelism", {.low = 0, .high = kGpuCounts.high}, 1);
    if (const auto pod = in.required("template", "a pod's template")) add(*pod, static_cast<double>(count), pods, mistakes);
    sim::ObjectReader now(status, mistakes);
    Run run{.start_s = date(now.child("startTime"), mistakes), .end_s = {}};
    for (const char* type : {"Complete", "Failed"}) {
      if (run.end_s) continue;
      run.end_s = since(status, type, mistakes);
      if (run.end_s) job.status = type;
    }
    return run;
  }

  /// `count` pods after one template. What a container is limited to is what it asks for where it says no more.
  void add(sim::JsonValue pod, double count, Pods& pods, sim::Mistakes& mistakes) const {
    sim::ObjectReader outer(pod, mistakes);
    const auto spec = outer.required("spec", "an object with containers");
    if (!spec) return;
    sim::ObjectReader in(*spec, mistakes);
    for (const sim::JsonValue value : in.list("containers")) {
      sim::ObjectReader container(value, mistakes);
      const auto resources = container.child("resources");
      if (!resources) continue;
      sim::ObjectReader asked(*resources, mistakes);
      const auto requests = asked.child("requests"), limits = asked.child("limits");
      if (limits)
        for (const sim::JsonMember one : limits->members())
          if (!requests || !names(*requests, one.key.text())) add(one, count, pods, mistakes);
      if (requests)
        for (const sim::JsonMember one : requests->members()) add(one, count, pods, mistakes);
    }
    const auto nodes = in.child("nodeSelector");
    if (!nodes || !nodes->is_object()) return;
    sim::ObjectReader node(*nodes, mistakes);
    if (const auto product = node.maybe_text("nvidia.com/gpu.product")) pods.gpu_type = *product;
  }

  static bool names(sim::JsonValue resources, std::string_view name) {
    const auto members = resources.members();
    return std::any_of(members.begin(), members.end(), [&](const sim::JsonMember& one) { return one.key.text() == name; });
  }

  static void add(const sim::JsonMember& resource, double count, Pods& pods, sim::Mistakes& mistakes) {
    const std::string_view name = resource.key.text();
    double* sum = name.ends_with("/gpu") ? &pods.gpus
                  : name == "cpu"        ? &pods.cpus
                  : name == "memory"     ? &pods.memory_bytes
                                         : nullptr;
    if (sum == nullptr) return;
    const sim::JsonValue value = resource.value;
    const auto amount = value.is_string()                          ? quantity(value.text())
                        : value.is_number() && value.number() >= 0 ? std::optional(value.number())
                                                                   : std::nullopt;
    if (amount)
      *sum += *amount * count;
    else
      value.refuse("a quantity like 2, 500m or 8Gi", mistakes);
  }

  static void take(const Run& run, const Pods& pods, TraceRow& row) {
    TraceJob& job = row.job;
    if (!run.start_s)
      row.refuse("status", "a job that was admitted and has started", "none");
    else if (!run.end_s)
      row.refuse("status", "a job that has ended", "none");
    else if (*run.start_s < job.submit_s)
      row.refuse("status", "a start not before creationTimestamp", fmt::format("{} s before", job.submit_s - *run.start_s));
    else if (!kDurations.contains(*run.end_s - *run.start_s))
      row.refuse("status", "an end after the start", fmt::format("{} s", *run.end_s - *run.start_s));
    else if (!kGpuCounts.contains(pods.gpus) || pods.gpus != std::floor(pods.gpus))
      row.refuse("spec", "containers that ask for GPUs (.../gpu)", fmt::format("{}", pods.gpus));
    if (!row.mistakes.empty()) return;
    job.duration_s = *run.end_s - *run.start_s;
    job.gpus = pods.gpus;
    job.gpu_type = pods.gpu_type;
    if (pods.cpus > 0 && kCpuCounts.contains(pods.cpus)) job.cpus = pods.cpus;
    if (pods.memory_bytes > 0 && kMemoryBytes.contains(pods.memory_bytes)) job.memory_bytes = pods.memory_bytes;
    if (is_given(job.walltime_s) && job.duration_s > job.walltime_s) {  // pods may have some seconds more to end in
      row.repairs.push_back(
          {"walltime_s", "a limit of at least the time run: the time run is believed", fmt::format("{}", job.walltime_s)});
      job.walltime_s = job.duration_s;
    }
  }

  std::int64_t evicted_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_kubernetes(const std::string& path) { return std::make_unique<Kubernetes>(path); }

}  // namespace rehearse::traces
