// A training step in the operations of TensorFlow 1.x, from its public sources: unfused LSTM cells and batch norm, gradients by
// the gradient registry's rules, one ApplyX a variable (docs/explain/step.md, "TensorFlow's operations", lists what is assumed).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/step/op_graph.hpp"
#include "workloads/layers/network.hpp"
#include "workloads/steps/graph_builder.hpp"

namespace rehearse::workloads {

inline constexpr double kLeastTensorBytes = 64;  ///< what is smaller is a scalar, or order: it keeps nothing together

/// What the host does to issue an operation: five kinds of cost.
enum class TfDispatch : std::uint8_t {
  metadata,     ///< shapes, constants, views of a buffer, order: nothing runs on the device
  elementwise,  ///< one kernel over equal tensors
  movement,     ///< reductions, concatenations, gathers, random numbers: temporary buffers, several kernels
  product,      ///< cuBLAS
  library       ///< cuDNN: descriptors, choice of an algorithm, workspace
};

struct TfOpFacts {
  TfDispatch dispatch = TfDispatch::metadata;
  bool holds = false;      ///< a variable: its output lies where its parameters do
  bool recurrent = false;  ///< of a recurrent layer
};

struct TensorFlowGraph {
  /// In the order in which Python made them: a name is LAYER[/stepN]/TYPE, `gradients/...` of the backward pass. Operations that
  /// belong together have one (layer, step). Variables have kind `variable` where several steps read them.
  sim::OpGraph graph;
  std::vector<TfOpFacts> facts;     ///< of each operation
  std::vector<int> tensor_of_edge;  ///< which tensor it carries; -1: order alone
  int outside_step = 0;             ///< of the graph, that no training step runs: initialisers, the saver
  int variables = 0;                ///< trainable
  int operations() const { return static_cast<int>(graph.ops.size()) + outside_step; }
};

struct TensorFlowOptions {
  Optimizer optimizer = Optimizer::momentum;
  double stored_bytes_per_sample = 0;
  bool weight_decay = false;        ///< an L2 loss for each matrix and filter
  bool running_parameters = false;  ///< an exponential moving average of every variable
};

/// Layers that treat every position of a recurrent network alike are unrolled. FLOPs, trainable parameters and the layers'
/// outputs are those of build_graph(network, {.unroll = true}). Throws sim::InputError when a layer cannot work.
TensorFlowGraph build_tensorflow_graph(const Network& network, const TensorFlowOptions& options);

// The recurrent models of Mirhoseini et al. (ICML 2017) in sizes of one's own; what the paper leaves open is assumed.

/// 0: as the paper has it, or as is assumed of it.
struct SequenceShape {
  int layers = 0, hidden = 0, steps = 0, vocabulary = 0;
  bool dropout = false;  ///< of the language model, before and behind each layer
  bool operator==(const SequenceShape&) const = default;
};
/// LSTM layers with dropout between them (Zaremba et al. 2014) and a classifier at every step: 2 of 2,048 over 40 steps, 10,000
/// words.
Network language_model(SequenceShape shape = {});
/// Encoder and decoder of LSTM layers (Bahdanau et al. 2015, Wu et al. 2016), of which the decoder's first one asks the encoder's
/// last one, and the others read the answer: 2 and 2 of 1,024 over 40 steps, 30,000 words.
Network translation_model(SequenceShape shape = {});

/// A zoo model on a dataset (empty: its default) with what its publication says of weight decay and running averages; of `rnnlm`
/// and `nmt`, which have no dataset here, the models above. Throws sim::InputError for unknown names, and for sizes of other
/// models.
TensorFlowGraph tensorflow_graph(std::string_view model, std::string_view dataset = {}, const SequenceShape& shape = {});

/// The zoo's network on a dataset (empty: its default), `rnnlm` and `nmt` too.
TensorFlowGraph zoo_tensorflow_graph(std::string_view model, std::string_view dataset = {});

/// Without metadata: what a pool of threads computes.
sim::OpGraph computing_operations(const TensorFlowGraph& made);

/// Table 1 of the paper; null for other models.
struct PaperCounts {
  std::string_view model;
  int operations, groups;
};
const PaperCounts* paper_counts(std::string_view model);

}  // namespace rehearse::workloads
