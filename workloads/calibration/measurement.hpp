// What somebody measured: a training step of a model, or one kernel on its own; and what our model says it should have taken.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"
#include "workloads/layers/network.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/step_model.hpp"

namespace rehearse::workloads {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// Of a layer's work; `backward` is both gradients together.
enum class Pass : std::uint8_t { forward, data_gradient, filter_gradient, backward };

/// `count` products (m x k)(k x n) side by side, in single precision.
struct GemmKernel {
  int m = 0, n = 0, k = 0;
  int count = 1;
};
struct ConvKernel {
  int batch = 1, height = 0, width = 0, channels = 0, filters = 0;
  Window window;
  Pass pass = Pass::forward;
};
/// The recurrent part of one layer: the input's products are not in it (cuDNN's "skip input").
struct RecurrentKernel {
  Cell cell = Cell::lstm;
  int batch = 1, hidden = 0, steps = 1;
  Pass pass = Pass::forward;
};
/// One result number from each number of `inputs` tensors: an activation has one, an addition two.
struct ElementwiseKernel {
  std::int64_t numbers = 1;
  int inputs = 1;
};
/// Softmax or layer norm over each of `rows` rows: forward, as it is in front of a device that knows nothing of rows beside it.
enum class RowsOf : std::uint8_t { softmax, layer_norm };
struct RowsKernel {
  RowsOf what = RowsOf::softmax;
  int rows = 1, length = 1;
};
using Kernel = std::variant<GemmKernel, ConvKernel, RecurrentKernel, ElementwiseKernel, RowsKernel>;
/// Layers as they were written down: a list, or a file.
struct GivenNetwork {
  std::string json;  ///< {"layers": [...]} or {"file": "..."}
  Network network;
};
using Structure = std::variant<CnnStructure, RnnStructure, MlpStructure>;
using MeasuredNetwork = std::variant<CnnStructure, RnnStructure, MlpStructure, GivenNetwork>;
Network network_of(const MeasuredNetwork& structure);

/// Exactly one of: a zoo model on a dataset, a structure (`model` is then any name for it), a kernel (`model` is empty).
struct Measurement {
  std::int64_t line = 0;  ///< of the file it comes from, for messages
  std::string model, dataset;
  std::optional<MeasuredNetwork> structure;
  std::optional<Kernel> kernel;
  std::string device;    ///< a name of the catalogue
  std::string instance;  ///< likewise; empty: whichever has the device and enough of them
  int nodes = 1;
  int workers_per_node = 1;  ///< of the fullest node
  int workers = 1;           ///< all of them: fewer than the product when the nodes differ
  double batch_per_worker = 1;
  sim::Precision precision = sim::Precision::fp32;
  sim::Sync sync;
  double step_s = 0;  ///< asynchronous: between two pushes of one worker
  double forward_s = kNotMeasured, backward_s = kNotMeasured, sync_s = kNotMeasured;
  double spread = kNotMeasured;  ///< of repetitions of step_s: interquartile range over median
  int threads = 0;               ///< of a CPU worker; 0: all
  double power_w = kNotMeasured;
  double power_limit_w = 0;  ///< 0: none
  std::string source;
};

/// "gemm", "conv forward", "lstm backward", "elementwise"; for a model "resnet50/imagenet".
std::string subject(const Measurement& measurement);
/// What a kernel asks of a device at batch 1: its one operation, or the two gradients of `backward`.
std::vector<OpWork> kernel_work(const Kernel& kernel);

/// Where a measurement was made.
struct Site {
  sim::Device device;
  sim::Link inside, network;
  double overlap = 4;  ///< this and the next two as sim::Instance has them
  double server_bytes_per_s = sim::kServerBytesPerS;
  double server_overlap = 4;
  double storage_bytes_per_s = 0;  ///< of one worker; 0: samples come for free, as synthetic ones do
  bool is_on_stack = false;        ///< the device is what a stack makes of a data sheet
};

/// Predicts measurements; the operations of each model are counted once, and their products tiled once a device. Not for several
/// threads at a time.
class MeasurementModel {
 public:
  /// Throws sim::InputError for a model or dataset that the zoo does not know and a structure that cannot work.
  explicit MeasurementModel(std::span<const Measurement> measurements);

  /// Seconds of the measurement's step. The measurement is one of the constructor's, or has a model of theirs.
  double step_s(const Measurement& measurement, const Site& site) const;
  /// Watts of one worker's device, the mean over a training step; not of a kernel.
  double power_w(const Measurement& measurement, const Site& site) const;
  /// What step_s() combines, of a training step.
  StepInputs step_inputs(const Measurement& measurement, const Site& site) const;
  /// FLOPs of a worker's step (2 a multiply-add, in matrix products alone), for baselines and features.
  double flops(const Measurement& measurement) const;
  /// Bytes of its memory traffic, and the number of its operations.
  double bytes(const Measurement& measurement) const;
  double operations(const Measurement& measurement) const;

 private:
  struct Model {
    StepModel step;
    sim::Affine flops, bytes;
  };
  const Model& model_of(const Measurement& measurement) const;
  static std::string key_of(const Measurement& measurement);

  std::map<std::string, Model> models_;
  std::unique_ptr<Tilings> tilings_ = std::make_unique<Tilings>();
};

}  // namespace rehearse::workloads
