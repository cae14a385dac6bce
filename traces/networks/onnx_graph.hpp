// What a network's costs need of an ONNX file (onnx.ai): nodes with their attributes, the shapes of all values, and the small
// tensors that shapes are computed from. The weights themselves are not kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::traces {

using OnnxShape = std::vector<std::int64_t>;

/// A tensor of the graph.
struct OnnxValue {
  std::optional<OnnxShape> shape = {};  ///< unknown where missing
  int type = 0;                         ///< of its elements, as onnx.proto numbers them (1: float, 7: int64); 0: unknown
  bool constant = false;                ///< does not depend on the graph's inputs
  std::optional<std::vector<double>> numbers = {};  ///< of a small constant, in order
  std::string origin = {};                          ///< the initializer that a constant is, or is another view of
};

struct OnnxNode {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs;                  ///< empty names: left out
  std::map<std::string, std::vector<std::int64_t>> numbers;  ///< attributes of whole numbers
  std::map<std::string, std::vector<double>> reals;
  std::map<std::string, std::string> texts;
  std::optional<OnnxValue> tensor;  ///< the attribute that is a tensor (Constant, ConstantOfShape)
  bool has_graph = false;           ///< an attribute is a graph (If, Loop, Scan)

  bool has(const std::string& attribute) const { return numbers.contains(attribute); }
  std::int64_t number(const std::string& attribute, std::int64_t fallback) const;
  std::string text(const std::string& attribute) const;
};

struct OnnxGraph {
  std::string name;
  std::int64_t opset = 0;
  std::vector<OnnxNode> nodes;  ///< each behind those that it reads
  std::map<std::string, OnnxValue> values;
  std::vector<std::string> inputs, outputs;  ///< initializers left out
  std::int64_t batch = 1;                    ///< samples in all shapes
};

/// A value with the shape that the file states. Sizes that it names or leaves open are -1; `symbols` has their names.
struct OnnxDeclared {
  std::string name;
  int type = 0;
  std::optional<OnnxShape> shape;
  std::vector<std::string> symbols;
};

/// A model in the ONNX project's own library, which reads the file and knows the shape rule of each operation.
class OnnxModel {
 public:
  /// Throws sim::InputError when the bytes are no such file or are damaged, and where Rehearse was built without the library.
  OnnxModel(std::string_view bytes, const std::string& file);
  ~OnnxModel();
  OnnxModel(const OnnxModel&) = delete;
  OnnxModel& operator=(const OnnxModel&) = delete;

  /// The graph as the file has it: values are its initializers.
  const OnnxGraph& graph() const { return graph_; }
  const std::vector<OnnxDeclared>& declared_inputs() const { return inputs_; }
  /// Whether an input has a size that the file leaves open.
  bool is_open() const;
  /// Outputs, and values inside whose shape the file states.
  const std::vector<OnnxDeclared>& declared() const { return declared_; }
  /// The newest version of ONNX's operations that the library knows.
  static std::int64_t newest_opset();

  /// What a node makes of its inputs, by the library's rule. Shapes are missing where it has none; throws sim::InputError with
  /// its message when it refuses the inputs.
  std::vector<OnnxValue> infer(std::size_t node, const std::map<std::string, OnnxValue>& values) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  OnnxGraph graph_;
  std::vector<OnnxDeclared> inputs_, declared_;
};

/// Of constants and of shapes, computed here: Shape, Gather, Concat, arithmetic. Nothing when the node is none of these or its
/// inputs are not known.
std::optional<OnnxValue> onnx_constant(const OnnxNode& node, const std::map<std::string, OnnxValue>& values);

/// The shapes of a node's outputs by rules of our own: operations of versions or domains that the library does not know. Nothing
/// where there is no rule.
std::optional<std::vector<OnnxShape>> onnx_shapes(const OnnxNode& node, const std::map<std::string, OnnxValue>& values);

/// In place of a batch that the file leaves open: a prime, so that it is seen in every size of which it is a factor.
inline constexpr std::int64_t kOnnxOpenBatch = 1'000'003;

/// The graph with the shape of every value. `steps_first`: where the file fixes all sizes, the second one is the batch. Throws
/// sim::InputError for every node whose shape cannot be found, for shapes that contradict those that the file states, and for
/// inputs whose size is open but for the batch.
OnnxGraph onnx_with_shapes(const OnnxModel& model, std::int64_t open_batch, bool steps_first, const std::string& file);

/// An Einsum's equation: a letter for each axis of each input, and of the output.
struct OnnxEquation {
  std::vector<std::string> inputs;
  std::string output;
};
/// Nothing where it has "...", a letter twice in one input, or does not fit the number of inputs.
std::optional<OnnxEquation> onnx_equation(const OnnxNode& node);

/// What a Slice takes of one axis.
struct OnnxCut {
  std::int64_t from = 0, step = 1, size = 0;
};
/// Of every axis; nothing where the settings are not known or not valid.
std::optional<std::vector<OnnxCut>> onnx_cuts(const OnnxNode& node, const OnnxShape& in,
                                              const std::map<std::string, OnnxValue>& values);

/// At most so many numbers of a constant are kept.
inline constexpr std::int64_t kOnnxMostNumbers = 4096;

/// The product of the sizes; -1 when one is negative or it is above 2^53.
std::int64_t onnx_elements(const OnnxShape& shape);
/// As a size or a position: cut, and at the limits where it does not fit ("until the end" of a slice is 2^63 - 1).
std::int64_t onnx_whole(double x);
std::string onnx_text(const OnnxShape& shape);
std::string onnx_text(const OnnxNode& node);
/// The names of values that depend on no input of the graph: weights, constants, shapes, and what is computed of them alone.
std::set<std::string> onnx_constants(const OnnxGraph& graph);
/// The axes of a node, counted from 0, from its attribute or its input of that number; nothing where neither is known.
std::optional<std::vector<std::int64_t>> onnx_axes(const OnnxNode& node, std::size_t input, std::size_t rank,
                                                   const std::map<std::string, OnnxValue>& values);

}  // namespace rehearse::traces
