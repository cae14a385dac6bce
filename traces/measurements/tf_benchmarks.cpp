// TensorFlow's benchmarks of May 2017 (tensorflow.org/performance/benchmarks; TensorFlow 1.1, CUDA 8, cuDNN 5.1): images a second
// over all GPUs, a column for each model. batch_per_gpu_note is one number, or one for each model in the order of the columns.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/csv.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {
namespace {

using workloads::Measurement;

struct ModelColumn {
  std::string_view theirs, model;
};
constexpr ModelColumn kModelColumns[] = {{"InceptionV3", "inception-v3"},
                                         {"ResNet-50", "resnet50"},
                                         {"ResNet-152", "resnet152"},
                                         {"AlexNet", "alexnet"},
                                         {"VGG16", "vgg16"}};
constexpr int kGpusOfNode = 8;

/// The batch of each column; 0 where the note says nothing.
std::vector<int> batches(std::string_view note) {
  std::vector<int> all;
  while (!note.empty()) {
    int value = 0;
    const auto [end, error] = std::from_chars(note.data(), note.data() + note.size(), value);
    if (error != std::errc{} || value < 1 || (end != note.data() + note.size() && *end != '/')) return {};
    all.push_back(value);
    note.remove_prefix(std::min<std::size_t>(note.size(), static_cast<std::size_t>(end - note.data()) + 1));
  }
  if (all.size() == 1) all.resize(std::size(kModelColumns), all[0]);
  all.resize(std::size(kModelColumns), 0);
  return all;
}

/// In the distributed rows each node's GPUs sum their gradients before one exchange over its NIC with the parameter server of
/// every other node: 2 (n-1)/n of the parameters each way, as in a ring over the nodes.
std::optional<std::string> machine(std::string_view platform, std::string_view gpu) {
  if (gpu == "P100" && platform == "DGX-1") return "p100-sxm2";
  if (gpu == "P100") return "p100";
  if (gpu == "K80") return "k80";
  return std::nullopt;
}

}  // namespace

MeasurementList read_tf_benchmarks(const std::string& path) {
  sim::CsvColumns columns{.required = {"platform", "gpu", "data", "batch_per_gpu_note", "gpus"}};
  for (const ModelColumn& column : kModelColumns) columns.optional.emplace_back(column.theirs);
  sim::CsvReader reader(path, columns);
  MeasurementCollector out(path);
  while (sim::CsvRow* row = reader.next()) {
    const auto where = machine(row->text("platform"), row->text("gpu"));
    if (!where) row->refuse("gpu", "P100 or K80");
    const std::vector<int> batch = batches(row->text("batch_per_gpu_note"));
    if (batch.empty()) row->refuse("batch_per_gpu_note", "a batch size, or one for each model: 64/64/32");
    const int gpus = static_cast<int>(row->integer("gpus", sim::between(1, 1e4)));
    if (!row->mistakes().empty()) {
      const sim::Mistake& first = row->mistakes().front();
      out.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
      continue;
    }
    for (std::size_t i = 0; i < std::size(kModelColumns); ++i) {
      if (!row->has(kModelColumns[i].theirs)) continue;  // not measured
      const double images_per_s = row->number(kModelColumns[i].theirs);
      const int nodes = (gpus + kGpusOfNode - 1) / kGpusOfNode;
      Measurement m{.line = row->line(), .model = std::string(kModelColumns[i].model), .dataset = "imagenet", .device = *where};
      m.nodes = nodes;
      m.workers_per_node = gpus / nodes;
      m.workers = gpus;
      m.batch_per_worker = batch[i];
      m.step_s = batch[i] > 0 && images_per_s > 0 ? batch[i] * gpus / images_per_s : 0;
      m.source = fmt::format("tf-benchmarks {} {} tensorflow-1", row->text("platform"), row->text("data"));
      out.add(std::move(m));
    }
  }
  return out.finish();
}

}  // namespace rehearse::traces
