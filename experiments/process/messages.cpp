#include "experiments/process/messages.hpp"

#include <algorithm>
#include <array>

#include "scenarios/read/loader_parts.hpp"
#include "sim/money/costs.hpp"
#include "traces/jobs/to_job.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::scenarios {

namespace {

constexpr std::size_t kMostGroups = 16;
constexpr std::size_t kNoteCharacters = 200;
constexpr std::size_t kMostPrices = 100, kMostWaiting = 100;  // that are told: the last prices, the first jobs

template <class Enum>
const std::string& word(std::span<const std::string> names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

std::string_view word(sim::Work work) {
  return work == sim::Work::rigid ? "rigid" : work == sim::Work::steps ? "steps" : "train";
}

void write_device(const sim::Device& device, JsonLine& out) {
  out.open('{').key("name").text(device.name);
  out.key("kind").text(device.kind == sim::DeviceKind::gpu ? "gpu" : "cpu");
  out.key("peak_flops")
      .open('{')
      .key("fp32")
      .number(device.peak_fp32_flops)
      .key("fp16")
      .number(device.peak_fp16_flops)
      .close('}');
  out.key("memory_bytes").number(device.memory_bytes);
  out.key("memory_bandwidth_bytes_per_s").number(device.memory_bandwidth_bytes_per_s);
  if (device.kind == sim::DeviceKind::cpu)
    out.key("cores")
        .number(device.cores)
        .key("sockets")
        .number(device.sockets)
        .key("threads_per_core")
        .number(device.threads_per_core);
  out.key("idle_w").number(device.idle_w).key("busy_w").number(device.busy_w).close('}');
}

void write_link(std::string_view name, const sim::Link& link, JsonLine& out) {
  out.key(name).open('{').key("bandwidth_bytes_per_s").number(link.bandwidth_bytes_per_s);
  out.key("latency_s").number(link.latency_s);
  if (link.contention != 0) out.key("contention").number(link.contention);
  out.close('}');
}

sim::Group read_group(sim::JsonValue value, const std::vector<std::string>& pools, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Group group;
  const std::string pool = in.text("pool");
  if (const auto named = in.child("pool"); named && !pool.empty() && known_name(*named, pool, pools, "pool", mistakes))
    group.pool = static_cast<int>(std::find(pools.begin(), pools.end(), pool) - pools.begin());
  group.workers = static_cast<int>(in.integer("workers", traces::kGpuCounts));
  group.batch_per_worker = static_cast<int>(in.integer("batch_per_worker", traces::kBatchSizes));
  in.finish();
  return group;
}

constexpr std::array kOpKinds{"conv",        "gemm",    "rnn",       "batch_norm", "pool",
                              "elementwise", "softmax", "embedding", "update",     "variable"};
constexpr std::array kPhases{"forward", "backward", "update"};
static_assert(kOpKinds.size() == static_cast<std::size_t>(sim::OpKind::variable) + 1);
static_assert(kPhases.size() == static_cast<std::size_t>(sim::Phase::update) + 1);

/// [fixed, per_sample]; left out when both are 0.
void write_affine(std::string_view name, const sim::Affine& value, JsonLine& out) {
  if (value.fixed == 0 && value.per_sample == 0) return;
  out.key(name).open('[').number(value.fixed).number(value.per_sample).close(']');
}

void write_op(const sim::Op& op, JsonLine& out) {
  out.open('{').key("name").text(op.name).key("kind").text(kOpKinds[static_cast<std::size_t>(op.kind)]);
  out.key("phase").text(kPhases[static_cast<std::size_t>(op.phase)]).key("layer").number(op.layer);
  if (op.step != 0) out.key("step").number(op.step);
  write_affine("flops", op.flops, out);
  write_affine("bytes", op.bytes, out);
  write_affine("output_bytes", op.output_bytes, out);
  write_affine("saved_bytes", op.saved_bytes, out);
  write_affine("workspace_bytes", op.workspace_bytes, out);
  out.maybe_number("parameter_bytes", op.parameter_bytes, 0).close('}');
}

}  // namespace

void write_cluster(const sim::Cluster& cluster, JsonLine& out) {
  out.open('{').key("pools").open('[');
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const sim::Pool& pool = cluster.pools[p];
    const sim::Instance& instance = cluster.instances[static_cast<std::size_t>(pool.instance)];
    out.open('{').key("name").text(pool.name).key("instance").text(instance.name).key("nodes").number(pool.nodes);
    out.key("workers_per_node").number(sim::workers_per_node(cluster, static_cast<int>(p)));
    out.key("worker_usd_per_hour").number(3600 * sim::worker_usd_per_s(cluster, static_cast<int>(p)));
    out.key("device");
    write_device(sim::worker_device(cluster, static_cast<int>(p)), out);
    write_link("inside", instance.inside, out);
    write_link("network", instance.network, out);
    out.close('}');
  }
  out.close(']').close('}');
}

void write_job(const sim::Job& job, const sim::Cluster& cluster, JsonLine& out) {
  struct WriteField {
    JsonLine& out;
    const traces::JobField& field;
    const traces::TraceJob& job;
    void operator()(double traces::TraceJob::*number) const { out.maybe_number(field.name, job.*number); }
    void operator()(std::string traces::TraceJob::*text) const { out.maybe_text(field.name, job.*text); }
    void operator()(std::vector<std::string> traces::TraceJob::*names) const {
      if ((job.*names).empty()) return;
      out.key(field.name).open('[');
      for (const std::string& name : job.*names) out.text(name);
      out.close(']');
    }
  };
  const traces::TraceJob plain = traces::to_trace_job(job, pool_names(cluster));
  out.open('{');
  for (const traces::JobField& field : traces::job_fields())
    if (field.is_in(traces::kProcess)) std::visit(WriteField{out, field, plain}, field.member);
  out.key("work").text(word(job.work)).close('}');
}

void write_configuration(const sim::Configuration& configuration, const sim::Cluster& cluster, JsonLine& out) {
  out.open('{').key("groups").open('[');
  for (const sim::Group& group : configuration.groups) {
    out.open('{').key("pool").text(cluster.pools[static_cast<std::size_t>(group.pool)].name);
    out.key("workers").number(group.workers).key("batch_per_worker").number(group.batch_per_worker);
    out.maybe_number("nodes", group.nodes, 0).close('}');
  }
  out.close(']').maybe_number("learning_rate", configuration.learning_rate, 0);
  out.maybe_number("power_limit_w", configuration.power_limit_w, 0);
  if (configuration.sync.kind != sim::SyncKind::ring)
    out.key("sync").text(word(sync_kind_names(), configuration.sync.kind)).key("servers").number(configuration.sync.servers);
  out.close('}');
}

void write_prediction(const sim::Prediction& p, JsonLine& out) {
  out.open('{').maybe_number("time_s", p.time_s).maybe_number("accuracy", p.accuracy).maybe_number("cost_usd", p.cost_usd);
  out.maybe_number("epochs", p.epochs).key("feasible").flag(p.feasible);
  if (p.extrapolated) out.key("extrapolated").flag(true);
  out.maybe_text("note", p.note).close('}');
}

void write_choice(const sim::Choice& choice, const sim::Cluster& cluster, JsonLine& out) {
  out.open('{').key("configuration");
  write_configuration(choice.configuration, cluster, out);
  out.key("predicted");
  write_prediction(choice.predicted, out);
  out.maybe_number("until_epochs", choice.until_epochs).close('}');
}

void write_seen(const sim::StageSeen& seen, const sim::Cluster& cluster, JsonLine& out) {
  out.open('{').key("configuration");
  write_configuration(seen.configuration, cluster, out);
  out.key("stages").number(seen.stages).key("epochs").number(seen.epochs).key("examples").number(seen.examples);
  out.key("accuracy").number(seen.accuracy).key("noise_scale").number(seen.noise_scale).key("step_s").number(seen.step_s);
  out.key("elapsed_s").number(seen.elapsed_s).key("cost_usd").number(seen.cost_usd);
  out.key("divergences").number(seen.divergences).close('}');
}

sim::Configuration read_configuration(sim::JsonValue value, const sim::Cluster& cluster, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Configuration c;
  const std::vector<std::string> pools = pool_names(cluster);
  if (const auto groups = in.required("groups", "a list of groups")) {
    if (groups->is_array() && (groups->size() == 0 || groups->size() > kMostGroups))
      groups->refuse(fmt::format("1 to {} groups", kMostGroups), mistakes);
    else
      for (const sim::JsonValue group : in.list("groups")) c.groups.push_back(read_group(group, pools, mistakes));
  }
  c.learning_rate = in.number("learning_rate", sim::at_least(0), 0.0);
  c.power_limit_w = in.number("power_limit_w", sim::at_least(0), 0.0);
  c.sync.kind = static_cast<sim::SyncKind>(in.choice("sync", sync_kind_names(), 0));
  c.sync.servers = static_cast<int>(in.integer("servers", sim::between(0, 1e4), c.sync.kind == sim::SyncKind::ring ? 0 : 1));
  in.finish();
  return c;
}

void write_now(const sim::Sight& sight, const sim::Cluster& cluster, const sim::Job* job, JsonLine& out) {
  out.open('{');
  if (job != nullptr && job->has_deadline()) out.key("time_left_s").number(sim::time_left_s(*job, sight.now_s()));
  out.key("pools").open('[');
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const sim::PoolSight pool = sight.pool(static_cast<int>(p));
    out.open('{').key("pool").text(cluster.pools[p].name).key("price_usd_per_hour").number(pool.price_usd_per_hour);
    if (!pool.prices.empty()) {
      out.key("prices").open('[');
      for (const sim::StepSeries::Step& step : pool.prices.last(std::min(kMostPrices, pool.prices.size())))
        out.open('[').number(step.time_s).number(step.value).close(']');
      out.close(']');
    }
    out.key("nodes").number(pool.nodes).key("nodes_away").number(pool.nodes_away);
    out.key("workers").number(pool.devices).key("free_workers").number(pool.free_devices);
    out.key("revocations").number(static_cast<double>(pool.revocations));
    if (cluster.pools[p].spot) {
      out.key("down_s").number(pool.down_s).key("warning_s").number(pool.warning_s);
      if (pool.mean_up_s != sim::kNever) out.key("mean_up_s").number(pool.mean_up_s);
      if (pool.bid_usd_per_hour != sim::kNever) out.key("bid_usd_per_hour").number(pool.bid_usd_per_hour);
    }
    out.close('}');
  }
  out.close(']').key("queue_length").number(sight.queue_length()).key("waiting").open('[');
  const std::vector<sim::WaitingJob> waiting = sight.waiting();
  for (std::size_t i = 0; i < std::min(kMostWaiting, waiting.size()); ++i) {
    out.open('{').key("job_id").text(waiting[i].job->name).key("since_s").number(waiting[i].since_s).key("wants");
    write_configuration(*waiting[i].wants, cluster, out);
    out.close('}');
  }
  out.close(']').close('}');
}

sim::Pause read_pause(sim::JsonValue value, const sim::Cluster& cluster, double now_s, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Pause pause;
  const auto for_s = in.maybe_number("for_s", sim::between(0, sim::kLongestPause_s));
  const auto until_s = in.maybe_number("until_s", sim::between(0, sim::kLongestPause_s));
  const auto pool = in.child("pool");
  if (pool) {
    const std::vector<std::string> pools = pool_names(cluster);
    const std::string name = in.text("pool");
    if (!name.empty() && known_name(*pool, name, pools, "pool", mistakes))
      pause.pool = static_cast<int>(std::find(pools.begin(), pools.end(), name) - pools.begin());
    pause.workers = static_cast<int>(in.integer("workers", traces::kGpuCounts, 1));
  }
  in.finish();
  if (for_s.has_value() == until_s.has_value()) value.refuse("either for_s or until_s", mistakes);
  pause.wait_s = for_s ? *for_s : until_s.value_or(now_s) - now_s;
  if (!(pause.wait_s > 0) && for_s.has_value() != until_s.has_value()) value.refuse("an end after now", mistakes);
  return pause;
}

sim::Prediction read_prediction(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Prediction p;
  const auto read = [&](const char* key, double& out, double high) {
    if (const auto given = in.maybe_number(key, sim::between(0, high))) out = *given;
  };
  read("time_s", p.time_s, 1e18);
  read("accuracy", p.accuracy, 1);
  read("cost_usd", p.cost_usd, 1e18);
  read("epochs", p.epochs, 1e18);
  p.feasible = in.boolean("feasible", true);
  p.extrapolated = in.boolean("extrapolated", false);
  if (in.has("note")) p.note = sim::printable(in.text("note"), kNoteCharacters);
  in.finish();
  return p;
}

void ToldGraphs::write(const sim::OpGraph& graph, JsonLine& out) {
  const auto [known, is_new] = number_.emplace(&graph, static_cast<int>(number_.size()));
  out.key("graph").number(known->second);
  if (!is_new) return;
  out.key("new_graph").open('{').key("name").text(graph.name).key("ops").open('[');
  for (const sim::Op& op : graph.ops) write_op(op, out);
  out.close(']').key("edges").open('[');
  for (const sim::Edge& edge : graph.edges)
    out.open('[').number(edge.from).number(edge.to).number(edge.bytes.fixed).number(edge.bytes.per_sample).close(']');
  out.close(']').close('}');
}

}  // namespace rehearse::scenarios
