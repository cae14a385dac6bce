// The operation graph of one training step at one batch size: whole bytes, and the duration of every operation on every class of
// device in ticks of the step grid. Flat arrays, made once and read millions of times.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::sim {

struct StepOp {
  std::string name;
  OpKind kind = OpKind::elementwise;
  Phase phase = Phase::forward;
  int layer = 0;
  int group = -1;  ///< operations of one co-location group; -1: in none
  double flops = 0;
  /// Memory that lies on the operation's device during the whole step.
  std::int64_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  std::int64_t workspace_bytes = 0;  ///< while it runs
  std::int64_t resident_bytes() const { return parameter_bytes + gradient_bytes + optimizer_bytes; }
};

/// What one operation hands to others. 0 bytes: order only.
struct StepTensor {
  int producer = 0;
  std::int64_t bytes = 0;
  bool held = false;  ///< lies in its producer's resident bytes (a gradient's buffer), so that only copies elsewhere take memory
};

/// One tensor that an operation reads.
struct StepInput {
  std::int32_t tensor = 0;
  std::int32_t reader = 0;  ///< index into readers(): which one of all readers of all tensors it is
};

class StepGraph {
 public:
  int ops() const { return static_cast<int>(ops_.size()); }
  int tensors() const { return static_cast<int>(tensors_.size()); }
  int classes() const { return static_cast<int>(classes_.size()); }
  const std::string& name() const { return name_; }
  const StepOp& op(int op) const { return ops_[op]; }
  /// Tensors are numbered by producer.
  const StepTensor& tensor(int tensor) const { return tensors_[tensor]; }
  /// Names of the classes of devices that have durations.
  const std::vector<std::string>& class_names() const { return classes_; }
  Tick duration(int op, int device_class) const { return durations_[op * classes_.size() + device_class]; }

  /// Tensors that an operation makes: [first_tensor(op), first_tensor(op + 1)).
  int first_tensor(int op) const { return first_tensor_[op]; }
  /// The readers of a tensor: readers()[first_reader(tensor)] up to first_reader(tensor + 1), each once, in ascending order.
  int first_reader(int tensor) const { return first_reader_[tensor]; }
  std::span<const std::int32_t> readers() const { return readers_; }
  std::span<const std::int32_t> readers_of(int tensor) const {
    return std::span(readers_).subspan(first_reader_[tensor], first_reader_[tensor + 1] - first_reader_[tensor]);
  }
  std::span<const StepInput> inputs_of(int op) const {
    return std::span(inputs_).subspan(first_input_[op], first_input_[op + 1] - first_input_[op]);
  }
  /// An order in which every tensor is made before it is read; of two that may come next, the smaller index.
  std::span<const std::int32_t> topological_order() const { return order_; }

 private:
  friend class StepGraphBuilder;
  StepGraph() = default;
  std::string name_;
  std::vector<std::string> classes_;
  std::vector<StepOp> ops_;
  std::vector<StepTensor> tensors_;
  std::vector<Tick> durations_;  // of op and class
  std::vector<std::int32_t> first_tensor_, first_reader_, readers_, first_input_, order_;
  std::vector<StepInput> inputs_;
};

/// Collects a graph in any order, and every mistake in it.
class StepGraphBuilder {
 public:
  /// `classes`: names of the classes of devices, as Machine::class_names() has them.
  StepGraphBuilder(std::string name, std::vector<std::string> classes);
  /// `durations_s`: one for each class, rounded up to the grid. The operation's index: 0, 1, 2, ...
  int add_op(StepOp op, std::span<const double> durations_s);
  /// The tensor's handle for add_reader.
  int add_tensor(const StepTensor& tensor);
  /// The same reader a second time changes nothing.
  void add_reader(int tensor, int op);
  /// Throws InputError: no operation, no class of device, a negative or infinite cost, an edge to an operation that there is not,
  /// a cycle (named by one of its operations). Durations and bytes of a whole step must stay below 2^62.
  StepGraph build();

 private:
  void check_ops();
  void check_edges();
  void number_tensors();
  void list_inputs();
  void sort();

  StepGraph graph_;
  struct Reader {
    int tensor, op;
  };
  std::vector<Reader> given_readers_;
  Mistakes mistakes_;
};

}  // namespace rehearse::sim
