// A neural network as a directed acyclic graph of layers, and the inference of every layer's output shape.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace rehearse::workloads {

/// The output of a layer for one sample. An image is channels x height x width, a sequence of n vectors of f numbers is
/// (f, n, 1), a vector (f, 1, 1), a sequence of n tokens (1, n, 1).
struct Shape {
  int channels = 0, height = 1, width = 1;
  double positions() const { return double(height) * width; }
  double elements() const { return channels * positions(); }
  bool operator==(const Shape&) const = default;
};

/// A sliding window: size, stride and zero padding on each side, along the height and the width.
struct Window {
  int height = 1, width = 1;
  int stride_height = 1, stride_width = 1;
  int pad_height = 0, pad_width = 0;
  int dilation_height = 1, dilation_width = 1;  ///< steps between neighbouring taps
  int end_height = 0, end_width = 0;            ///< further rows of zeros at the bottom and columns at the right, or fewer (< 0)
  int area() const { return height * width; }
  int reach_height() const { return (height - 1) * dilation_height + 1; }  ///< rows from the first tap to the last
  int reach_width() const { return (width - 1) * dilation_width + 1; }
  bool is_dilated() const { return dilation_height > 1 || dilation_width > 1; }
};

constexpr Window square(int size, int stride = 1, int pad = 0) { return {size, size, stride, stride, pad, pad}; }
/// Odd sizes, stride 1, padded so that the output has the input's size.
constexpr Window same(int height, int width) { return {height, width, 1, 1, height / 2, width / 2}; }

struct Input {
  Shape shape;
};
struct Conv {
  int filters = 0;
  Window window;
  int groups = 1;
  bool bias = true;
};
/// Its window slides over the output; `end_height` and `end_width` below 0 are its output padding.
struct TransposedConv {
  int filters = 0;
  Window window;
  bool bias = true;
  int groups = 1;
};
/// A matrix product at every position of a sequence, or of a flattened image.
struct Dense {
  int units = 0;
  bool bias = true;
};
/// Normalised numbers times a trained factor a channel (`scale`), and a trained sum (`shift`).
struct BatchNorm {
  bool scale = true, shift = true;
};
struct LayerNorm {
  bool scale = true, shift = true;
};
/// In place when the gradient follows from the output alone (ReLU, tanh, sigmoid); GELU is not.
struct Activation {
  bool in_place = true;
};
enum class Pooling { max, average };
struct Pool {
  Pooling kind = Pooling::max;
  Window window;
};
struct GlobalPool {};  ///< the average over all positions
/// Each position becomes a square of factor x factor.
struct Upsample {
  int factor = 2;
};
struct LocalResponseNorm {
  int size = 5;
};
struct Dropout {};
/// An image or a sequence of another size, whose numbers are copies of the input's or means of neighbours.
struct Resize {
  Shape shape;
};
/// A part of the input along any axes.
struct Slice {
  Shape shape;
};
/// Sums, means or maxima over some axes.
struct Reduce {
  Shape shape;
};
/// The same numbers under another shape. `moves`: in another order too, so that all are copied.
struct Rearrange {
  Shape shape;
  bool moves = false;
};
enum class Axis { channels, height, width };
struct Concat {
  Axis axis = Axis::channels;
};
struct Add {};       ///< a side of 1 is repeated to the other inputs' size
struct Multiply {};  ///< two inputs, number by number; a side of 1 is repeated as in Add
/// (c, n, k) times (c, k, m) is (c, n, m): a matrix product of two inputs for each channel.
struct MatrixProduct {};
struct Flatten {};     ///< (c, h, w) to (c h w, 1, 1)
struct ToSequence {};  ///< (c, h, w) to (c h, w, 1): the columns of a spectrogram become time steps
struct LastStep {};    ///< (f, n, 1) to (f, 1, 1)
struct Detach {};      ///< hands its input on, but no gradient back
struct Embedding {
  int vocabulary = 0, width = 0;
};
enum class Cell { vanilla, gru, lstm };
/// Of a sequence, and up to four vectors that states begin with. Directions are concatenated or summed.
struct Recurrent {
  Cell cell = Cell::lstm;
  int hidden = 0;
  bool bidirectional = false;
  bool sum_directions = false;
  int biases = 1;  ///< a gate: TensorFlow's layers have one, cuDNN's and PyTorch's two
  /// Numbers to which an LSTM's hidden units are projected before they leave the cell (Sak et al. 2014); 0: no projection.
  int projection = 0;
  int outputs() const { return projection > 0 ? projection : hidden; }  ///< of a direction
};
/// Scaled dot products of inputs (queries, keys, values); projections are dense layers of their own.
struct Attention {
  int heads = 1;
};
struct Loss {};  ///< softmax and cross entropy at every position

using LayerSpec = std::variant<Input, Conv, TransposedConv, Dense, BatchNorm, LayerNorm, Activation, Pool, GlobalPool, Upsample,
                               LocalResponseNorm, Dropout, Resize, Slice, Reduce, Rearrange, Concat, Add, Multiply, MatrixProduct,
                               Flatten, ToSequence, LastStep, Detach, Embedding, Recurrent, Attention, Loss>;

struct Layer {
  std::string name;
  LayerSpec spec;
  std::vector<int> inputs;  ///< indices of earlier layers
  int shares = -1;          ///< the earlier layer whose parameters it shares; -1: has its own
};

struct Network {
  std::string name;
  std::vector<Layer> layers;
  /// Its layers cost what those of a foreign file cost, but compute other functions where ours have no word for them.
  bool only_costs = false;

  /// Appends a layer fed by `inputs` and returns its index.
  int add(std::string layer, LayerSpec spec, std::vector<int> inputs);
  /// Appends a layer fed by the last one (an `Input` has none).
  int add(std::string layer, LayerSpec spec);
  int last() const { return static_cast<int>(layers.size()) - 1; }
};

/// The output shape of every layer. Throws sim::InputError with one mistake for each layer that cannot work, its pointer
/// "network/layer"; layers behind a bad one are not judged.
std::vector<Shape> infer_shapes(const Network& network);

constexpr int gates(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

/// For std::visit with one lambda a layer kind.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace rehearse::workloads
