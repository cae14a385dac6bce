// One layer of a network as Keras code.
#include <fmt/format.h>

#include <algorithm>

#include "deploy/keras.hpp"
#include "sim/base/errors.hpp"
#include "workloads/layers/structure.hpp"

namespace rehearse::traces {

namespace {

using namespace workloads;

const char* python(bool value) { return value ? "True" : "False"; }

/// A tensor in another form of the same numbers. Heights are steps: an image of width 1 is a sequence, one of 1 x 1 a vector.
std::string as(const Tensor& tensor, Form form) {
  if (tensor.form == form) return tensor.name;
  return fmt::format("layers.Reshape({})({})", keras_shape(tensor.shape, form), tensor.name);
}

bool keeps_size(const Window& w) {
  return w.stride_height == 1 && w.stride_width == 1 && w.height == 2 * w.pad_height + 1 && w.width == 2 * w.pad_width + 1;
}

/// The image with its zero padding, where "same", which Keras places otherwise under strides, is not it.
std::string padded(const Tensor& in, const Window& w) {
  const std::string image = as(in, Form::image);
  if (keeps_size(w) || (w.pad_height == 0 && w.pad_width == 0)) return image;
  return fmt::format("layers.ZeroPadding2D(({}, {}))({})", w.pad_height, w.pad_width, image);
}

std::string window_arguments(const Window& w) {
  return fmt::format("({}, {}), strides=({}, {}), padding=\"{}\"", w.height, w.width, w.stride_height, w.stride_width,
                     keeps_size(w) ? "same" : "valid");
}

LayerCode conv(const Conv& c, const Tensor& in, const std::string& name) {
  const std::string groups = c.groups == 1 ? "" : fmt::format(" groups={},", c.groups);
  return {.object = fmt::format("layers.Conv2D({}, {},{} use_bias={}, name={})", c.filters, window_arguments(c.window), groups,
                                python(c.bias), name),
          .input = padded(in, c.window),
          .form = Form::image};
}

/// Keras's output is stride x (size - 1) + max(window, stride); ours is cropped to stride x (size - 1) + window - 2 padding.
LayerCode transposed(const TransposedConv& c, const Tensor& in, const std::string& name) {
  const Window& w = c.window;
  const int below = std::max(0, w.stride_height - w.height), right = std::max(0, w.stride_width - w.width);
  LayerCode code{.object = fmt::format("layers.Conv2DTranspose({}, ({}, {}), strides=({}, {}), use_bias={}, name={})", c.filters,
                                       w.height, w.width, w.stride_height, w.stride_width, python(c.bias), name),
                 .input = as(in, Form::image),
                 .form = Form::image};
  if (w.pad_height + w.pad_width + below + right > 0)
    code.after = fmt::format("layers.Cropping2D((({0}, {1}), ({2}, {3})))", w.pad_height, w.pad_height + below, w.pad_width,
                             w.pad_width + right);
  return code;
}

/// A matrix product at every position: of a vector, or of a sequence.
Form dense_form(const Tensor& in) { return in.form == Form::vector || in.shape.height == 1 ? Form::vector : Form::sequence; }

std::string activation(const Layer& layer) {
  const std::string word = layer.name.substr(layer.name.find_last_of("/_ ") + 1);
  const auto ends = [&](std::string_view suffix) { return layer.name.ends_with(suffix); };
  if (ends("leaky_relu")) return "layers.LeakyReLU(0.2";
  if (ends("clipped_relu")) return "layers.ReLU(20.0";
  for (const char* known : {"relu", "tanh", "sigmoid", "gelu", "silu"})
    if (word == known) return fmt::format("layers.Activation(\"{}\"", word == "silu" ? "swish" : known);
  return fmt::format("layers.Activation(\"{}\"", std::get<Activation>(layer.spec).in_place ? "relu" : "gelu");
}

LayerCode embedding(const Embedding& e, const Layer& layer, const Tensor& in, const std::string& name) {
  LayerCode code{.object = fmt::format("layers.Embedding({}, {}, name={})", e.vocabulary, e.width, name),
                 .input = in.form == Form::tokens ? in.name : fmt::format("layers.Reshape(({},))({})", in.shape.height, in.name),
                 .form = Form::sequence};
  if (layer.name.ends_with("positions")) code.input = fmt::format("blocks.Positions()({})", code.input);
  if (layer.name.ends_with("segments")) code.input = fmt::format("blocks.Segments()({})", code.input);
  return code;
}

LayerCode recurrent(const Recurrent& r, const Tensor& in, const std::string& name) {
  const char* cell = r.cell == Cell::lstm ? "LSTM" : r.cell == Cell::gru ? "GRU" : "SimpleRNN";
  const auto one = [&](const std::string& options) {
    return fmt::format("layers.{}({}, return_sequences=True{})", cell, r.hidden, options);
  };
  LayerCode code{.input = as(in, Form::sequence), .form = Form::sequence};
  code.object = r.bidirectional ? fmt::format("layers.Bidirectional({}, merge_mode=\"{}\", name={})", one(""),
                                              r.sum_directions ? "sum" : "concat", name)
                                : one(", name=" + name);
  return code;
}

LayerCode merged(const char* layer, std::span<const Tensor> in, const std::string& name) {
  const Form form = in[0].form == Form::tokens ? form_of_input(in[0].shape) : in[0].form;
  if (in.size() == 1) return {.input = as(in[0], form), .form = form};
  std::string list;
  for (const Tensor& tensor : in) list += (list.empty() ? "" : ", ") + as(tensor, form);
  return {.object = fmt::format("layers.{}(name={})", layer, name), .input = "[" + list + "]", .form = form};
}

LayerCode attention(const Attention& a, std::span<const Tensor> in, const LayerOptions& options) {
  const bool itself = in[0].shape.height == in[1].shape.height;
  return {.object = fmt::format("blocks.Heads({}, causal={}, name={})", a.heads, python(options.causal && itself), options.name),
          .input = fmt::format("[{}, {}, {}]", as(in[0], Form::sequence), as(in[1], Form::sequence), as(in[2], Form::sequence)),
          .form = Form::sequence};
}

/// Layers that leave the shape alone.
LayerCode plain(std::string object, const Tensor& in) {
  const Form form = in.form == Form::tokens ? form_of_input(in.shape) : in.form;
  return {.object = std::move(object), .input = as(in, form), .form = form};
}

}  // namespace

Form form_of_input(const Shape& s) {
  if (s.width > 1) return Form::image;
  return s.height > 1 ? Form::sequence : Form::vector;
}

std::string keras_shape(const Shape& s, Form form) {
  switch (form) {
    case Form::image:
      return fmt::format("({}, {}, {})", s.height, s.width, s.channels);
    case Form::sequence:
      return fmt::format("({}, {})", s.height, s.channels);
    case Form::vector:
      return fmt::format("({},)", s.channels);
    case Form::tokens:
      return fmt::format("({},)", s.height);
  }
  sim::fail_check("unknown form");
}

void require_written(const Network& network) {
  const auto plain = [](const Window& w) { return !w.is_dilated() && w.end_height == 0 && w.end_width == 0; };
  const auto written = Overloaded{[&](const Conv& c) { return plain(c.window); },
                                  [&](const TransposedConv& c) { return plain(c.window) && c.groups == 1; },
                                  [&](const Pool& p) { return plain(p.window); },
                                  [](const Concat& c) { return c.axis == Axis::channels; },
                                  [](const BatchNorm& n) { return n.scale && n.shift; },
                                  [](const LayerNorm& n) { return n.scale && n.shift; },
                                  [](const Recurrent& r) { return r.biases == 1 && r.projection == 0; },
                                  [](const Resize&) { return false; },
                                  [](const Slice&) { return false; },
                                  [](const Reduce&) { return false; },
                                  [](const Rearrange&) { return false; },
                                  [](const Multiply&) { return false; },
                                  [](const MatrixProduct&) { return false; },
                                  [](const auto&) { return true; }};
  sim::Mistakes mistakes;
  const std::vector<Shape> shapes = infer_shapes(network);
  for (const Layer& layer : network.layers) {
    const bool repeats = std::holds_alternative<Add>(layer.spec) && std::ranges::any_of(layer.inputs, [&](int i) {
                           return shapes[static_cast<std::size_t>(i)] != shapes[static_cast<std::size_t>(layer.inputs[0])];
                         });
    const bool has_states = std::holds_alternative<Recurrent>(layer.spec) && layer.inputs.size() > 1;
    if (!repeats && !has_states && std::visit(written, layer.spec)) continue;
    mistakes.add({.pointer = network.name + "/" + layer.name,
                  .expected = "a layer that code is written of: convolutions and pools without dilation and with equal zeros on "
                              "both sides, sums of equal shapes, concatenated channels, recurrent layers without projection",
                  .found = fmt::format("a {} layer", kind_name(layer.spec))});
  }
  mistakes.throw_if_any();
}

LayerCode layer_code(const Layer& layer, std::span<const Tensor> in, const Shape& out, const LayerOptions& options) {
  const std::string& name = options.name;
  const Tensor& first = in[0];
  return std::visit(
      Overloaded{
          [&](const Conv& c) { return conv(c, first, name); },
          [&](const TransposedConv& c) { return transposed(c, first, name); },
          [&](const Dense& d) {
            const Form form = dense_form(first);
            return LayerCode{.object = fmt::format("layers.Dense({}, use_bias={}, name={})", d.units, python(d.bias), name),
                             .input = as(first, form),
                             .form = form};
          },
          [&](const BatchNorm&) { return plain(fmt::format("layers.BatchNormalization(name={})", name), first); },
          [&](const LayerNorm&) { return plain(fmt::format("layers.LayerNormalization(name={})", name), first); },
          [&](const Activation&) { return plain(fmt::format("{}, name={})", activation(layer), name), first); },
          [&](const Dropout&) { return plain(fmt::format("layers.Dropout(DROPOUT, name={})", name), first); },
          [&](const Detach&) { return plain(fmt::format("blocks.Detached(name={})", name), first); },
          [&](const LocalResponseNorm& n) {
            return LayerCode{.object = fmt::format("blocks.LocalResponseNorm({}, name={})", n.size, name),
                             .input = as(first, Form::image),
                             .form = Form::image};
          },
          [&](const Pool& p) {
            return LayerCode{
                .object = fmt::format("layers.{}({}, name={})", p.kind == Pooling::max ? "MaxPooling2D" : "AveragePooling2D",
                                      window_arguments(p.window), name),
                .input = padded(first, p.window),
                .form = Form::image};
          },
          [&](const GlobalPool&) {
            return LayerCode{.object = fmt::format("layers.GlobalAveragePooling2D(name={})", name),
                             .input = as(first, Form::image),
                             .form = Form::vector};
          },
          [&](const Upsample& u) {
            return LayerCode{.object = fmt::format("layers.UpSampling2D({}, name={})", u.factor, name),
                             .input = as(first, Form::image),
                             .form = Form::image};
          },
          [&](const Concat&) { return merged("Concatenate", in, name); },
          [&](const Add&) { return merged("Add", in, name); },
          [&](const Flatten&) { return LayerCode{.object = fmt::format("layers.Flatten(name={})", name), .form = Form::vector}; },
          [&](const ToSequence&) {
            return LayerCode{.object = fmt::format("layers.Reshape(({}, {}), name={})", out.height, out.channels, name),
                             .input = fmt::format("layers.Permute((2, 1, 3))({})", as(first, Form::image)),
                             .form = Form::sequence};
          },
          [&](const LastStep&) {
            return LayerCode{.object = fmt::format("layers.Cropping1D(({}, 0), name={})", first.shape.height - 1, name),
                             .input = as(first, Form::sequence),
                             .after = "layers.Flatten()",
                             .form = Form::vector};
          },
          [&](const Embedding& e) { return embedding(e, layer, first, name); },
          [&](const Recurrent& r) { return recurrent(r, first, name); },
          [&](const Attention& a) { return attention(a, in, options); },
          [&](const auto&) -> LayerCode { sim::fail_check("a layer that Keras code has no line for"); },
      },
      layer.spec);
}

}  // namespace rehearse::traces
