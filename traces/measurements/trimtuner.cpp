// TrimTuner (Mendes et al., "TrimTuner: Efficient Optimization of Machine Learning Jobs in the Cloud via Sub-Sampling", MASCOTS
// 2020): a small CNN on MNIST, TensorFlow with one parameter server, on AWS's t2 machines; iterations and seconds of a run.
// Iterations are mini-batches of all workers, of synchronous runs too (iterations_counted, their global steps, is a workers-th of
// it), so that a worker's step takes workers x seconds / iterations. t2 machines compute on CPU credits: once those are spent a
// t2.small is six times slower. The files do not say how many a campaign began with, so each curve over workers is a source of
// its own.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/errors.hpp"
#include "sim/io/csv.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {
namespace {

using workloads::Measurement;

constexpr std::string_view kTrimTunerModels[] = {"mnist-cnn", "mnist-rnn", "mnist-mlp"};

/// TensorFlow's tutorial "Deep MNIST for experts": 5 x 5 convolutions of 32 and 64 filters, a dense layer of 1024. The files do
/// not state the network.
constexpr workloads::CnnStructure kNetwork{.conv_layers = 2,
                                           .filters = 32,
                                           .kernel = 5,
                                           .layers_per_pool = 1,
                                           .dense_layers = 1,
                                           .nodes = 1024,
                                           .image_height = 28,
                                           .image_width = 28,
                                           .channels = 1,
                                           .classes = 10};

// Files of the other two kinds: a row of the image a time step, and all of it at once; sizes of TensorFlow's tutorials, not
// stated.
constexpr workloads::RnnStructure kRecurrent{
    .cell = workloads::Cell::lstm, .layers = 1, .hidden = 128, .steps = 28, .vocabulary = 0, .features = 28, .classes = 10};
constexpr workloads::MlpStructure kPerceptron{.inputs = 784, .layers = 2, .nodes = 256, .classes = 10};

struct TrimTunerNetwork {
  std::string_view model;
  workloads::MeasuredNetwork structure;
};

const TrimTunerNetwork& trimtuner_network(const std::string& path) {
  static const TrimTunerNetwork networks[] = {
      {kTrimTunerModels[0], kNetwork}, {kTrimTunerModels[1], kRecurrent}, {kTrimTunerModels[2], kPerceptron}};
  const std::string_view model = trimtuner_model(path);
  return *std::find_if(std::begin(networks), std::end(networks), [&](const TrimTunerNetwork& n) { return n.model == model; });
}

}  // namespace

std::string_view trimtuner_model(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  if (stem.find("rnn") != std::string::npos) return kTrimTunerModels[1];
  return stem.find("mlp") != std::string::npos || stem.find("multilayer") != std::string::npos ? kTrimTunerModels[2]
                                                                                               : kTrimTunerModels[0];
}

MeasurementList read_trimtuner(const std::string& path) {
  const TrimTunerNetwork& network = trimtuner_network(path);
  sim::CsvReader reader(path, {.required = {"n_workers", "n_ps", "vm_flavor", "batch_size", "synchronism", "training_time",
                                            "total_iterations", "training_set_size", "learning_rate"}});
  MeasurementCollector out(path);
  while (sim::CsvRow* row = reader.next()) {
    const int workers = static_cast<int>(row->integer("n_workers", sim::between(1, 1e4)));
    const int servers = static_cast<int>(row->integer("n_ps", sim::between(1, 1e4)));
    const double iterations = row->number("total_iterations", sim::above(0));
    const double run_s = row->number("training_time", sim::above(0));
    const bool async = row->text("synchronism") == "async";
    if (!async && row->text("synchronism") != "sync") row->refuse("synchronism", "sync or async");
    Measurement m{.line = row->line(),
                  .model = std::string(network.model),
                  .dataset = "mnist",
                  .structure = network.structure,
                  .device = "xeon-e5-2686-v4",
                  .instance = std::string(row->text("vm_flavor")),
                  .nodes = workers,
                  .workers_per_node = 1,
                  .workers = workers,
                  .batch_per_worker = static_cast<double>(row->integer("batch_size", sim::between(1, 1e6))),
                  .sync = {.kind = async ? sim::SyncKind::servers_async : sim::SyncKind::servers_sync, .servers = servers}};
    if (!row->mistakes().empty()) {
      const sim::Mistake& first = row->mistakes().front();
      out.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
      continue;
    }
    m.step_s = run_s * workers / iterations;
    m.source = fmt::format("trimtuner {} samples, rate {}, batch {}, {}", row->text("training_set_size"),
                           row->text("learning_rate"), m.batch_per_worker, row->text("synchronism"));
    out.add(std::move(m));
  }
  return out.finish();
}

}  // namespace rehearse::traces
