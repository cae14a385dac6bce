#include "traces/measurements/native.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/json.hpp"
#include "traces/jobs/trace_job.hpp"
#include "traces/networks/subject_json.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::traces {

namespace {

using workloads::Measurement;

const std::vector<std::string> kSyncs{"ring", "servers-sync", "servers-async"};                  // in SyncKind's order
const std::vector<std::string> kPrecisions(precision_names().begin(), precision_names().end());  // in Precision's order
constexpr sim::NumberRange kCounts{.low = 1, .high = 1e6};
constexpr sim::NumberRange kSeconds{.low = 0, .high = 1e7};
constexpr sim::NumberRange kWatts{.low = 0, .high = 1e6};
constexpr sim::NumberRange kSpreads{.low = 0, .high = 1e3};

constexpr MeasurementColumn kColumns[] = {
    {"model", "a model of the zoo, or any name for a structure; none of a kernel"},
    {"dataset", "of the model; a structure needs none"},
    {"device", "a name of the catalogue", true},
    {"nodes", "on which the workers are (1)"},
    {"workers_per_node", "of the fullest node (1)"},
    {"batch_per_worker", "samples of one worker's step; needed but for kernels"},
    {"sync", "ring, servers-sync or servers-async (ring)"},
    {"step_s", "seconds of a training step, of a kernel one run; asynchronous: between two pushes of one worker", true},
    {"op", "a kernel, JSON: gemm [m, n, k] or [m, n, k, count], conv, rnn, elementwise, softmax or layer_norm [rows, length]"},
    {"structure", "a network outside the zoo, JSON: cnn, rnn, mlp, layers or file (a path, from this file's folder)"},
    {"precision", "fp32, fp16, bf16, tf32 or tf32-convolutions (fp32)"},
    {"instance", "a name of the catalogue (whichever has the device and enough of it)"},
    {"workers", "all of them, where nodes have different numbers (nodes x workers_per_node)"},
    {"servers", "parameter servers (1 with servers-sync and servers-async)"},
    {"forward_s", "seconds of the forward pass, for information"},
    {"backward_s", "seconds of the backward pass, for information"},
    {"sync_s", "seconds of the exchange, for information"},
    {"threads", "of a CPU's worker (all cores)"},
    {"power_w", "mean watts of one worker's device"},
    {"power_limit_w", "under which it ran (none)"},
    {"spread", "of repetitions: interquartile range of step_s over its median"},
    {"source",
     "who measured, then any words, of which one may be a stack: rows of several workers are compared with one of the same"},
};

struct KnownNames {
  std::vector<std::string> models, datasets;
  std::string folder;  ///< of the file, from which the paths in it count
  const MeasurementNames& given;
};

std::string known(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names, std::string_view what) {
  if (!row.has(column)) return {};
  choice(row, column, names, what);
  return std::string(row.text(column));
}

/// The value of a JSON field; a mistake of it is one of the row.
template <class Read>
auto json_field(sim::CsvRow& row, std::string_view column, Read read)
    -> std::optional<decltype(read(std::declval<sim::JsonValue>(), std::declval<sim::Mistakes&>()))> {
  if (!row.has(column)) return std::nullopt;
  try {
    const sim::JsonDocument document = sim::parse_json(std::string(row.text(column)), "");
    sim::Mistakes mistakes;
    auto value = read(document.root(), mistakes);
    mistakes.throw_if_any();
    return value;
  } catch (const sim::InputError& error) {
    const sim::Mistake& first = error.mistakes().front();
    row.refuse(column, fmt::format("{}{}{}", first.pointer, first.pointer.empty() ? "" : " ", first.expected));
    return std::nullopt;
  }
}

void check_whole(sim::CsvRow& row, const Measurement& m) {
  if (m.model.empty() == !m.kernel.has_value()) row.refuse("model", "a model, or an op; not both");
  if (m.structure && m.kernel) row.refuse("structure", "a structure or an op, not both");
  if (!m.kernel && !m.structure && m.dataset.empty()) row.refuse("dataset", "the name of a dataset");
  if (m.workers > m.nodes * m.workers_per_node || m.workers < m.nodes)
    row.refuse("workers", "as many as fit on the nodes, and one a node at least");
  if ((m.sync.kind == sim::SyncKind::ring) != (m.sync.servers == 0))
    row.refuse("servers", "servers with sync servers-sync or servers-async, and none with ring");
}

Measurement read_measurement(sim::CsvRow& row, const KnownNames& names) {
  Measurement m{.line = row.line()};
  const auto integer = [&](std::string_view column, std::int64_t fallback) {
    return static_cast<int>(row.maybe_integer(column, kCounts).value_or(fallback));
  };
  const auto seconds = [&](std::string_view column) {
    return row.maybe_number(column, kSeconds).value_or(workloads::kNotMeasured);
  };
  m.structure = json_field(row, "structure", [&](sim::JsonValue value, sim::Mistakes& mistakes) {
    return read_measured_network(value, row.text("structure"), names.folder, mistakes);
  });
  m.kernel = json_field(row, "op", read_kernel);
  const OwnNetwork* own = names.given.own ? &*names.given.own : nullptr;
  const bool is_own = own != nullptr && !row.has("structure") && !row.has("op") && row.text("model") == own->model &&
                      (!row.has("dataset") || row.text("dataset") == own->dataset);
  if (is_own) m.structure = own->network;
  m.model = m.structure || row.has("structure") ? std::string(row.text("model"))
                                                : known(row, "model", names.models, "the name of a model");
  m.dataset = is_own ? own->dataset : known(row, "dataset", names.datasets, "the name of a dataset");
  m.device = known(row, "device", names.given.devices, "the name of a device");
  if (m.device.empty()) row.refuse("device", "the name of a device");
  m.instance = known(row, "instance", names.given.instances, "the name of an instance");
  m.nodes = integer("nodes", 1);
  m.workers_per_node = integer("workers_per_node", 1);
  m.workers = integer("workers", std::int64_t{m.nodes} * m.workers_per_node);
  if (row.has("precision"))
    m.precision =
        static_cast<sim::Precision>(choice(row, "precision", kPrecisions, fmt::format("{}", fmt::join(kPrecisions, ", "))));
  m.batch_per_worker = row.maybe_number("batch_per_worker", kCounts).value_or(1);
  if (!row.has("op") && !row.has("batch_per_worker")) row.refuse("batch_per_worker", kCounts.describe());
  if (row.has("sync"))
    m.sync.kind = static_cast<sim::SyncKind>(choice(row, "sync", kSyncs, fmt::format("{}", fmt::join(kSyncs, ", "))));
  m.sync.servers = integer("servers", m.sync.kind == sim::SyncKind::ring ? 0 : 1);
  m.step_s = row.number("step_s");
  m.forward_s = seconds("forward_s");
  m.backward_s = seconds("backward_s");
  m.sync_s = seconds("sync_s");
  m.threads = integer("threads", 0);
  m.power_w = row.maybe_number("power_w", kWatts).value_or(workloads::kNotMeasured);
  m.power_limit_w = row.maybe_number("power_limit_w", kWatts).value_or(0);
  m.spread = row.maybe_number("spread", kSpreads).value_or(workloads::kNotMeasured);
  m.source = row.text("source");
  if (row.mistakes().empty()) check_whole(row, m);
  return m;
}

std::string count(int n, int omitted) { return n == omitted ? "" : fmt::format("{}", n); }

}  // namespace

MeasurementList read_native_measurements(const std::string& path, const MeasurementNames& given) {
  KnownNames names{.folder = path.substr(0, path.rfind('/') + 1), .given = given};
  for (const workloads::ZooEntry& entry : workloads::zoo()) names.models.emplace_back(entry.name);
  for (const workloads::Dataset& dataset : workloads::datasets()) names.datasets.emplace_back(dataset.name);
  sim::CsvColumns columns{.others_allowed = false};
  for (const MeasurementColumn& column : kColumns)
    (column.required ? columns.required : columns.optional).emplace_back(column.name);
  sim::CsvReader reader(path, columns);
  MeasurementCollector collector(path);
  while (sim::CsvRow* row = reader.next()) {
    Measurement m = read_measurement(*row, names);
    if (row->mistakes().empty()) {
      collector.add(std::move(m));
      continue;
    }
    const sim::Mistake& first = row->mistakes().front();
    collector.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
  }
  return collector.finish();
}

std::string native_header() {
  std::string line;
  for (const MeasurementColumn& column : kColumns) line += (line.empty() ? "" : ",") + std::string(column.name);
  return line + '\n';
}

std::span<const MeasurementColumn> measurement_columns() { return kColumns; }

std::span<const MeasurementExample> measurement_examples() {
  static constexpr MeasurementExample kExamples[] = {
      {"a training step of a model of the zoo", "model,dataset,device,batch_per_worker,step_s\nresnet50,imagenet,v100,64,0.21\n"},
      {"a network of your own",
       "model,device,batch_per_worker,step_s,structure\n"
       R"(small,v100,32,0.012,"{""cnn"": {""conv_layers"": 6, ""image_height"": 64, ""image_width"": 64, ""classes"": 10}}")"
       "\n"
       R"(mlp,v100,32,0.004,"{""layers"": [{""type"": ""input"", ""channels"": 64, ""height"": 1, ""width"": 1}, )"
       R"({""type"": ""dense"", ""units"": 256}, {""type"": ""relu""}, {""type"": ""dense"", ""units"": 10}]}")"
       "\n"},
      {"eight workers on two nodes, and the one that they are compared with",
       "model,dataset,device,instance,nodes,workers_per_node,batch_per_worker,step_s\n"
       "resnet50,imagenet,t4,g4dn.12xlarge,1,1,32,0.31\nresnet50,imagenet,t4,g4dn.12xlarge,2,4,32,0.36\n"},
      {"parameter servers",
       "model,dataset,device,nodes,workers_per_node,batch_per_worker,sync,servers,step_s\n"
       "resnet32,cifar10,p100,5,1,128,servers-async,1,0.112\n"},
      {"kernels",
       "device,op,step_s\n"
       R"(p100,"{""gemm"": [1760, 128, 1760]}",0.0002)"
       "\n"
       R"(p100,"{""rnn"": {""cell"": ""lstm"", ""hidden"": 512, ""batch"": 16, ""steps"": 25}}",0.0015)"
       "\n"},
      {"power under a limit",
       "model,dataset,device,batch_per_worker,step_s,power_w,power_limit_w\n"
       "resnet50,imagenet,v100,128,0.36,225,250\nresnet50,imagenet,v100,128,0.39,170,175\n"},
      {"a CPU's threads, in half precision, two laboratories",
       "model,dataset,device,batch_per_worker,threads,precision,step_s,spread,source\n"
       "resnet32,cifar10,epyc-7r32,32,16,fp32,0.09,0.02,here\nresnet32,cifar10,epyc-7r32,32,16,bf16,0.07,0.02,there\n"},
  };
  return kExamples;
}

std::string native_row(const Measurement& m) {
  const bool kernel = m.kernel.has_value();
  const std::vector<std::string> fields{m.model,
                                        m.dataset,
                                        m.device,
                                        kernel ? "" : fmt::format("{}", m.nodes),
                                        kernel ? "" : fmt::format("{}", m.workers_per_node),
                                        kernel ? "" : number_or_empty(m.batch_per_worker),
                                        kernel ? "" : kSyncs[static_cast<std::size_t>(m.sync.kind)],
                                        number_or_empty(m.step_s),
                                        kernel ? to_json(*m.kernel) : "",
                                        m.structure ? to_json(*m.structure) : "",
                                        kPrecisions[static_cast<std::size_t>(m.precision)],
                                        m.instance,
                                        count(m.workers, m.nodes * m.workers_per_node),
                                        count(m.sync.servers, 0),
                                        number_or_empty(m.forward_s),
                                        number_or_empty(m.backward_s),
                                        number_or_empty(m.sync_s),
                                        count(m.threads, 0),
                                        number_or_empty(m.power_w),
                                        m.power_limit_w > 0 ? number_or_empty(m.power_limit_w) : "",
                                        number_or_empty(m.spread),
                                        m.source};
  std::string line;
  for (const std::string& field : fields) line += (&field == fields.data() ? "" : ",") + sim::csv_text(field);
  return line + '\n';
}

std::size_t choice(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names, std::string_view what) {
  const std::string found(row.text(column));
  const auto name = std::find(names.begin(), names.end(), found);
  if (name != names.end()) return static_cast<std::size_t>(name - names.begin());
  const std::string nearest = sim::nearest_name(found, names);
  row.refuse(column, fmt::format("{}{}", what, nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest)));
  return 0;
}

std::size_t choice_or_first(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names) {
  return row.has(column) ? choice(row, column, names, fmt::format("{}", fmt::join(names, ", "))) : 0;
}

std::string number_or_empty(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

}  // namespace rehearse::traces
