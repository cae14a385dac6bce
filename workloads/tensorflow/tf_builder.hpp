// Collects TensorFlow's operations and differentiates them: each forward operation says how its gradient is made, as
// tensorflow/python/ops/*_grad.py do, and gradients() walks them backwards as tf.gradients does (r1.0). For this room's sources.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/layers/layer_cost.hpp"
#include "workloads/tensorflow/tensorflow.hpp"

namespace rehearse::workloads {

/// Something that an operation made; -1: nothing.
struct TfTensor {
  int id = -1;
  bool exists() const { return id >= 0; }
};
using TfTensors = std::vector<TfTensor>;

/// Where operations belong: a layer's time step.
struct TfPlace {
  int layer = 0, step = 0;
  sim::Phase phase = sim::Phase::forward;
};

/// An operation to be. `cost.bytes` 0 and another dispatch than metadata: inputs and outputs once.
struct TfSpec {
  std::string type;
  TfDispatch dispatch = TfDispatch::metadata;
  sim::Op cost = {};
};

/// The gradients of an operation's inputs, from those of its outputs (which may not exist).
using TfGradient = std::function<TfTensors(const TfTensors&)>;

class TfBuilder {
 public:
  explicit TfBuilder(const Network& network) : network_(network) { made_.graph.name = network.name; }

  void enter(const TfPlace& place) { place_ = place; }
  const TfPlace& place() const { return place_; }

  /// Appends an operation that reads tensors and waits for operations; its index.
  int add(const TfSpec& spec, std::span<const TfTensor> inputs, std::span<const int> after = {});
  int add(const TfSpec& spec, std::initializer_list<TfTensor> inputs) {
    return add(spec, std::span(inputs.begin(), inputs.size()));
  }
  /// A constant, a shape: `count` operations that nobody waits for and that move nothing.
  void add_metadata(std::initializer_list<const char*> types);
  /// What an operation makes. Its gradient is wanted if `wanted`.
  TfTensor output(int op, const sim::Affine& bytes, bool wanted);
  /// The buffer of another tensor under another name: readers read that, and wait for this operation.
  TfTensor view(const std::string& type, TfTensor of, std::span<const int> after = {});
  /// One operation of one output that is wanted if an input is.
  TfTensor make(const TfSpec& spec, std::initializer_list<TfTensor> inputs, const sim::Affine& bytes);
  /// The gradient of a forward operation with these inputs and outputs. Unless an input is wanted, nothing happens.
  void differentiate(TfTensors inputs, TfTensors outputs, TfGradient gradient);

  /// A variable of so many numbers.
  struct VariableSpec {
    std::string name;
    double numbers = 0;
    bool trained = true, random = false;  ///< `random`: begins as random numbers
    bool shared = false;                  ///< by several steps
  };
  struct Variable {
    VariableSpec spec;
    TfTensor read;
    int op = -1;
    TfPlace place;
    std::vector<int> slots;
  };
  /// Its read.
  TfTensor add_variable(const VariableSpec& spec);
  void add_slots(Variable& variable, int count);
  std::vector<Variable>& variables() { return variables_; }

  /// Walks back from the loss. What several readers send back is added (AddN), gradients of rows are put one behind the other.
  void gradients(TfTensor loss);
  /// Of a tensor, after gradients(); may not exist.
  TfTensor gradient_of(TfTensor tensor);
  /// The tensor, of which no gradient is wanted.
  TfTensor without_gradient(TfTensor t) {
    tensors_[static_cast<std::size_t>(t.id)].wanted = false;
    return t;
  }
  void mark_rows(TfTensor gradient) { tensors_[static_cast<std::size_t>(gradient.id)].rows = true; }
  bool is_rows(TfTensor t) const { return tensors_[static_cast<std::size_t>(t.id)].rows; }

  sim::Affine bytes(TfTensor t) const { return tensors_[static_cast<std::size_t>(t.id)].bytes; }
  bool wanted(TfTensor t) const { return t.exists() && tensors_[static_cast<std::size_t>(t.id)].wanted; }
  int producer(TfTensor t) const { return tensors_[static_cast<std::size_t>(t.id)].op; }
  sim::Op& op(int index) { return made_.graph.ops[static_cast<std::size_t>(index)]; }
  TensorFlowGraph& made() { return made_; }

 private:
  struct Tensor {
    int op = 0;     // whose buffer it is
    int via = -1;   // the last view of it
    int root = -1;  // the tensor that it is a view of, or itself
    sim::Affine bytes;
    bool wanted = false, rows = false;
  };
  struct Taped {
    TfTensors inputs, outputs;
    TfGradient gradient;
    TfPlace place;
  };
  std::string name_for(const std::string& type);
  TfTensors gated(const TfTensors& inputs, TfTensors gradients);
  TfTensor add_n(const TfTensors& parts);

  const Network& network_;
  TensorFlowGraph made_;
  TfPlace place_;
  std::vector<Tensor> tensors_;
  std::vector<Taped> tape_;
  std::vector<Variable> variables_;
  std::map<int, TfTensors> arriving_;  // by tensor: what its readers send back
  std::map<std::string, int> named_;
};

}  // namespace rehearse::workloads
