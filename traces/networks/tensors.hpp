// ShapedTensors of other programs as shapes of ours: which of their axes are channels, height and width.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/networks/network_builder.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::traces {

using Sizes = std::vector<int>;  ///< of one sample

inline constexpr std::int64_t kMostNumbers = 1 << 30;  ///< in one tensor of a sample
inline constexpr int kWidestWindow = 1 << 15;          ///< also of strides and dilation

/// Within kMostNumbers of 0, where layers refuse what is too large.
inline int bounded(std::int64_t number) { return static_cast<int>(std::clamp(number, -kMostNumbers, kMostNumbers)); }

/// How many numbers, at most kMostNumbers.
std::int64_t count_of(const Sizes& sizes);
/// (n, f) is a sequence of vectors: f channels, n positions. Of more axes, the last one is channels, or the first where it says
/// so.
workloads::Shape natural_shape(const Sizes& sizes, bool channels_first = false);

struct Arrangement {
  std::vector<workloads::Shape> shapes;  ///< one each
  workloads::Axis axis;                  ///< the special one
};
/// Axes of tensors of one rank as channels, height and width, the same for all, such that most tensors have the shape that they
/// have. Neighbours in which all tensors agree, or none does, are one axis, but `special` stays one of its own. Nothing where
/// more than three are left.
std::optional<Arrangement> arrange(const std::vector<Sizes>& sizes, const std::vector<workloads::Shape>& shapes,
                                   int special = -1);
/// With sides of 1 in front, so that all have one rank.
std::vector<Sizes> of_one_rank(std::vector<Sizes> sizes);
/// By number: each side is the largest.
Sizes broadcast_sizes(const std::vector<Sizes>& of_one_rank);

/// A result of another program's layer, and which of our layers makes it in which shape.
struct ShapedTensor {
  int layer = -1;
  workloads::Shape shape;
  Sizes sizes;
  std::array<int, 4> zeros{};  ///< around the image, in `sizes` and not yet in `shape`: top, bottom, left, right
  int input = -1;              ///< an input that no layer has read yet gets its shape from the first one that does
  int batch = 0;               ///< the batch's axis, where `sizes` have one
  bool is_permuted = false;    ///< its numbers do not lie in the order of its sizes
};
using ShapedTensors = std::vector<ShapedTensor>;

bool has_zeros(const ShapedTensor& tensor);

/// Layers whose inputs are tensors.
class TensorNetwork {
 public:
  explicit TensorNetwork(std::string name) : net_(std::move(name)) {}

  /// `natural`: its shape where no layer wants another.
  ShapedTensor input(std::string name, Sizes sizes, const workloads::Shape& natural);
  /// The layer that makes a tensor; `wanted`: in which shape, by default as it is. Layers in between are called by `name`.
  int layer_of(const std::string& name, const ShapedTensor& tensor, std::optional<workloads::Shape> wanted = {});
  /// Appends a layer. Of equal `weights` only the first has its own; none where it is empty. The name is made unlike all others.
  int put(const std::string& name, workloads::LayerSpec spec, std::vector<int> inputs, const std::string& weights = {});
  bool knows(const std::string& weights) const { return owners_.contains(weights); }
  workloads::Shape shape(int layer) const { return net_.shape(layer); }
  NetworkBuilder& builder() { return net_; }
  /// With a loss behind each result.
  workloads::Network finish(const ShapedTensors& results);

 private:
  struct InputOf {
    std::string name;
    workloads::Shape shape;
    int layer = -1;
  };
  std::string unique(const std::string& name);

  NetworkBuilder net_;
  std::vector<InputOf> inputs_;
  std::map<std::string, int> owners_, names_;  ///< layers with weights; how often a name is used
};

}  // namespace rehearse::traces
