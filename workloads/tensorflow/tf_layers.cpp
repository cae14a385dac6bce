#include "workloads/tensorflow/tf_layers.hpp"

#include <algorithm>
#include <functional>
#include <variant>

#include "sim/base/errors.hpp"
#include "workloads/layers/unrolling.hpp"

namespace rehearse::workloads {

using sim::Affine;
using sim::OpKind;

namespace {

Affine per_sample(double numbers) { return {0, kBytesPerNumber * numbers}; }
Affine constant(double numbers) { return {kBytesPerNumber * numbers, 0}; }

}  // namespace

TfLayers::TfLayers(const Network& network, TfBuilder& builder)
    : network_(network),
      b_(builder),
      shapes_(infer_shapes(network)),
      steps_(time_steps(network, shapes_)),
      shared_(network.layers.size()),
      outputs_(network.layers.size()) {
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    std::vector<Shape> in;
    for (const int j : layer.inputs) in.push_back(shapes_[static_cast<std::size_t>(j)]);
    costs_.push_back(layer_cost(layer.spec, in, shapes_[i]));
    if (steps_[i] > 1) shared_[static_cast<std::size_t>(layer.shares < 0 ? static_cast<int>(i) : layer.shares)] = true;
  }
}

void TfLayers::forward() {
  for (std::size_t i = 0; i < network_.layers.size(); ++i) expand(static_cast<int>(i));
}

Affine TfLayers::step_bytes(int layer) const {
  const auto i = static_cast<std::size_t>(layer);
  return per_sample(shapes_[i].elements() / steps_[i]);
}

TfTensor TfLayers::whole(int layer, int from) {
  const TfTensors& parts = outputs_[static_cast<std::size_t>(from)];
  if (parts.size() == 1) return parts[0];
  const auto [found, is_new] = packed_.try_emplace({layer, from});
  if (is_new) found->second = tf::pack(b_, parts);
  return found->second;
}

/// What a layer reads of its k-th input at one time step.
TfTensor TfLayers::input(int layer, std::size_t k, int step) {
  const int from = network_.layers[static_cast<std::size_t>(layer)].inputs[k];
  const TfTensors& parts = outputs_[static_cast<std::size_t>(from)];
  const int steps = steps_[static_cast<std::size_t>(layer)];
  if (parts.size() == static_cast<std::size_t>(steps)) return parts[static_cast<std::size_t>(step)];
  if (steps == 1) return whole(layer, from);
  sim::check(parts.size() == 1, "layers of equal time steps");
  const auto [found, is_new] = unpacked_.try_emplace({layer, from});
  if (is_new) found->second = tf::unpack(b_, parts[0], steps);
  return found->second[static_cast<std::size_t>(step)];
}

TfTensor TfLayers::parameter(int layer, const char* name, double numbers, bool matrix) {
  const Layer& l = network_.layers[static_cast<std::size_t>(layer)];
  const int owner = l.shares < 0 ? layer : l.shares;
  const std::string full = matrix ? name + std::string("weights") : name;
  const auto [found, is_new] = parameters_.try_emplace({owner, full});
  if (!is_new) return found->second;
  const TfPlace before = b_.place();
  b_.enter({owner, 0, sim::Phase::forward});
  found->second =
      b_.add_variable({.name = full, .numbers = numbers, .random = matrix, .shared = shared_[static_cast<std::size_t>(owner)]});
  b_.enter(before);
  if (matrix) matrices_.emplace_back(found->second, owner);
  return found->second;
}

tf::ProductCosts TfLayers::product_costs(int layer, const LayerCost& cost) const {
  const int steps = steps_[static_cast<std::size_t>(layer)];
  return {.forward = piece_of(cost.forward[0], steps, 1),
          .data = piece_of(cost.data_gradient[0], steps, 1),
          .weights = piece_of(cost.filter_gradient[0], steps, 1)};
}

TfTensor TfLayers::product_layer(int layer, int step, bool convolves, bool bias) {
  const auto i = static_cast<std::size_t>(layer);
  const TfTensor weights = parameter(layer, "", costs_[i].weights, true), x = input(layer, 0, step);
  const tf::ProductCosts costs = product_costs(layer, costs_[i]);
  const bool back = std::holds_alternative<TransposedConv>(network_.layers[i].spec);
  const TfTensor y = convolves ? tf::convolution(b_, back ? "conv2d_transpose" : "Conv2D", x, weights, costs, step_bytes(layer))
                               : tf::matmul(b_, "MatMul", x, weights, costs, step_bytes(layer));
  return bias ? tf::bias_add(b_, y, parameter(layer, "biases", costs_[i].bias, false)) : y;
}

/// tf.nn.moments and tf.nn.batch_normalization, as tf.contrib.layers composes them.
TfTensor TfLayers::normalise(int layer, int step, bool over_batch) {
  const auto i = static_cast<std::size_t>(layer);
  const double channels = shapes_[i].channels;
  const TfTensor gamma = parameter(layer, "gamma", channels, false), beta = parameter(layer, "beta", channels, false);
  const TfTensor x = input(layer, 0, step);
  const Affine to = over_batch ? constant(channels) : per_sample(shapes_[i].positions() / steps_[i]);
  const TfTensor mean = tf::mean(b_, x, to), centre = tf::stop_gradient(b_, mean);
  const TfTensor variance = tf::mean(b_, tf::binary(b_, "SquaredDifference", x, centre), to);
  const TfTensor flat_mean = tf::reshape(b_, "Squeeze", mean), flat_variance = tf::reshape(b_, "Squeeze", variance);
  if (over_batch) running_mean(layer, "moving_mean", flat_mean);
  if (over_batch) running_mean(layer, "moving_variance", flat_variance);
  const TfTensor inverse = tf::unary(b_, "Rsqrt", tf::binary(b_, "Add", flat_variance));
  const TfTensor scale = tf::binary(b_, "Mul", over_batch ? inverse : gamma, over_batch ? gamma : inverse);
  const TfTensor scaled = tf::binary(b_, "Mul", x, scale);
  const TfTensor shift =
      tf::binary(b_, "Sub", beta, tf::binary(b_, "Mul", over_batch ? flat_mean : scale, over_batch ? scale : flat_mean));
  return tf::binary(b_, "Add", scaled, shift);
}

/// assign_moving_average.
void TfLayers::running_mean(int layer, const char* name, TfTensor now) {
  const TfTensor held =
      b_.add_variable({.name = name, .numbers = double(shapes_[static_cast<std::size_t>(layer)].channels), .trained = false});
  b_.add_metadata({"AssignMovingAvg/decay"});
  const auto spec = [](const char* type) { return TfSpec{.type = type, .dispatch = TfDispatch::elementwise}; };
  const TfTensor difference = b_.make(spec("AssignMovingAvg/sub"), {held, now}, b_.bytes(held));
  const TfTensor step = b_.make(spec("AssignMovingAvg/mul"), {difference}, b_.bytes(held));
  b_.add(spec("AssignMovingAvg"), {step, held});
}

TfTensor TfLayers::gelu(TfTensor x) {
  const TfTensor cube = tf::binary(b_, "Mul", tf::binary(b_, "Mul", x, x), x);
  const TfTensor inner = tf::binary(b_, "Mul", tf::binary(b_, "Add", x, tf::binary(b_, "Mul", cube)));
  return tf::binary(b_, "Mul", tf::binary(b_, "Mul", x), tf::binary(b_, "Add", tf::unary(b_, "Tanh", inner)));
}

TfTensor TfLayers::attend(int layer, int step) {
  const auto i = static_cast<std::size_t>(layer);
  const LayerCost& cost = costs_[i];
  const Layer& l = network_.layers[i];
  const bool several = std::get<Attention>(l.spec).heads > 1;
  const auto heads = [&](TfTensor t) { return several ? tf::transpose(b_, tf::reshape(b_, "Reshape", t)) : t; };
  const auto piece = [&](const LayerOp& op) { return piece_of(op, steps_[i], 1); };
  const TfTensor query = heads(tf::reshape(b_, "ExpandDims", input(layer, 0, step)));
  const TfTensor keys = heads(whole(layer, l.inputs[1])), values = heads(whole(layer, l.inputs[2]));
  const Affine weights = piece(cost.forward[0]).output_bytes;
  TfTensor scores = tf::matmul(b_, "BatchMatMul", query, keys,
                               {piece(cost.forward[0]), piece(cost.backward[3]), piece(cost.backward[4])}, weights);
  if (several) scores = tf::binary(b_, "Mul", scores);
  const TfTensor context =
      tf::matmul(b_, "BatchMatMul", tf::softmax(b_, scores), values,
                 {piece(cost.forward[2]), piece(cost.backward[1]), piece(cost.backward[0])}, step_bytes(layer));
  return tf::reshape(b_, "Squeeze", several ? tf::transpose(b_, context) : context);
}

TfTensor TfLayers::at_step(int layer, int step) {
  const auto i = static_cast<std::size_t>(layer);
  const Layer& l = network_.layers[i];
  const auto x = [&](std::size_t k) { return input(layer, k, step); };
  const auto all = [&] {
    TfTensors parts;
    for (std::size_t k = 0; k < l.inputs.size(); ++k) parts.push_back(x(k));
    return parts;
  };
  return std::visit(
      Overloaded{[&](const Input&) { return b_.make({.type = "Placeholder"}, {}, step_bytes(layer)); },
                 [&](const Conv& c) { return product_layer(layer, step, true, c.bias); },
                 [&](const TransposedConv& c) { return product_layer(layer, step, true, c.bias); },
                 [&](const Dense& d) { return product_layer(layer, step, false, d.bias); },
                 [&](const BatchNorm&) { return normalise(layer, step, true); },
                 [&](const LayerNorm&) { return normalise(layer, step, false); },
                 [&](const Activation& a) { return a.in_place ? tf::unary(b_, "Relu", x(0)) : gelu(x(0)); },
                 [&](const Pool& p) {
                   const bool is_max = p.kind == Pooling::max;
                   return tf::window(b_, is_max ? "MaxPool" : "AvgPool", x(0), step_bytes(layer), is_max);
                 },
                 [&](const Upsample&) { return tf::window(b_, "ResizeNearestNeighbor", x(0), step_bytes(layer), false); },
                 [&](const GlobalPool&) { return tf::window(b_, "AvgPool", x(0), step_bytes(layer), false); },
                 [&](const LocalResponseNorm&) { return tf::window(b_, "LRN", x(0), step_bytes(layer), true); },
                 [&](const Dropout&) { return tf::dropout(b_, x(0)); },
                 [&](const Resize&) { return tf::window(b_, "ResizeBilinear", x(0), step_bytes(layer), false); },
                 [&](const Slice&) { return tf::window(b_, "StridedSlice", x(0), step_bytes(layer), false); },
                 [&](const Reduce&) { return tf::mean(b_, x(0), step_bytes(layer)); },
                 [&](const Rearrange& r) { return tf::reshape(b_, "Reshape", r.moves ? tf::transpose(b_, x(0)) : x(0)); },
                 [&](const Concat&) { return tf::concat(b_, all()); },
                 [&](const Add&) {
                   TfTensors parts = all();
                   std::ranges::stable_sort(parts, std::greater{}, [&](TfTensor t) { return b_.bytes(t).per_sample; });
                   TfTensor sum = parts[0];
                   for (std::size_t k = 1; k < parts.size(); ++k) sum = tf::binary(b_, "Add", sum, parts[k]);
                   return sum;
                 },
                 [&](const Multiply&) {
                   const bool first = b_.bytes(x(0)).per_sample >= b_.bytes(x(1)).per_sample;
                   return tf::binary(b_, "Mul", x(first ? 0 : 1), x(first ? 1 : 0));
                 },
                 [&](const MatrixProduct&) {
                   return tf::matmul(b_, "BatchMatMul", x(0), x(1),
                                     {costs_[i].forward[0].op, costs_[i].backward[0].op, costs_[i].backward[1].op},
                                     step_bytes(layer));
                 },
                 [&](const Flatten&) { return tf::reshape(b_, "Reshape", x(0)); },
                 [&](const ToSequence&) { return tf::reshape(b_, "Reshape", tf::transpose(b_, x(0))); },
                 [&](const LastStep&) { return outputs_[static_cast<std::size_t>(l.inputs[0])].back(); },
                 [&](const Detach&) { return tf::stop_gradient(b_, x(0)); },
                 [&](const Embedding&) {
                   const TfTensor table = parameter(layer, "", costs_[i].weights, true);
                   b_.add_metadata({"strided_slice/stack", "strided_slice/stack_1", "strided_slice/stack_2", "strided_slice"});
                   return tf::gather(b_, table, whole(layer, l.inputs[0]), step_bytes(layer));
                 },
                 [&](const Attention&) { return attend(layer, step); },
                 [&](const auto&) { return TfTensor{}; }},
      l.spec);
}

void TfLayers::expand(int layer) {
  const auto i = static_cast<std::size_t>(layer);
  const LayerSpec& spec = network_.layers[i].spec;
  if (std::holds_alternative<Recurrent>(spec)) return recurrent(layer);
  if (std::holds_alternative<Loss>(spec)) return lose(layer);
  for (int step = 0; step < steps_[i]; ++step) {
    enter(layer, step);
    outputs_[i].push_back(at_step(layer, step));
  }
}

/// A loss a position, weighted, added over time and averaged (sequence_loss).
void TfLayers::lose(int layer) {
  const auto i = static_cast<std::size_t>(layer);
  TfTensors parts;
  for (int step = 0; step < steps_[i]; ++step) {
    enter(layer, step);
    const TfTensor logits = input(layer, 0, step);
    const TfTensor loss = tf::cross_entropy(b_, logits, step_bytes(layer));
    parts.push_back(steps_[i] > 1 ? tf::binary(b_, "Mul", loss) : loss);
  }
  enter(layer, 0);
  TfTensor all = parts[0];
  if (parts.size() > 1) all = tf::binary(b_, "RealDiv", tf::add_n(b_, parts));
  outputs_[i] = parts;
  losses_.push_back(tf::mean(b_, all, constant(1)));
}

/// x times a matrix.
TfTensor TfLayers::product(int layer, const std::string& name, TfTensor x, int outputs) {
  const double width = b_.bytes(x).per_sample / kBytesPerNumber, units = outputs;
  const TfTensor weights = parameter(layer, name.c_str(), width * units, true);
  sim::Op forward{.kind = OpKind::gemm};
  forward.flops = a_sample(2 * width * units);
  forward.bytes = {kBytesPerNumber * width * units, kBytesPerNumber * (width + units)};
  sim::Op data = forward, of_weights = forward;
  forward.matrix = {a_sample(1), fixed(units), fixed(width)};
  data.matrix = {a_sample(1), fixed(width), fixed(units)};
  of_weights.matrix = {fixed(units), fixed(width), a_sample(1)};
  return tf::matmul(b_, "MatMul", x, weights, {forward, data, of_weights}, per_sample(units));
}

/// [x, h] times a matrix, and a bias (BasicLSTMCell's _linear).
TfTensor TfLayers::linear(int layer, const std::string& name, TfTensor x, TfTensor h, int outputs) {
  const TfTensor y = product(layer, name, tf::concat(b_, {x, h}), outputs);
  return tf::bias_add(b_, y, parameter(layer, (name + "biases").c_str(), outputs, false));
}

TfLayers::CellState TfLayers::cell_step(int layer, int way, TfTensor x, const CellState& before) {
  const Recurrent& r = std::get<Recurrent>(network_.layers[static_cast<std::size_t>(layer)].spec);
  const std::string name = way > 0 ? "bw_" : "";
  const auto mul = [&](TfTensor a, TfTensor c) { return tf::binary(b_, "Mul", a, c); };
  if (r.cell == Cell::vanilla) {
    const TfTensor h = tf::unary(b_, "Tanh", linear(layer, name, x, before.output, r.hidden));
    return {h, {}};
  }
  if (r.cell == Cell::gru) {
    const TfTensors gates =
        tf::split(b_, tf::unary(b_, "Sigmoid", linear(layer, name + "gates", x, before.output, 2 * r.hidden)), 2);
    const TfTensor reset = mul(gates[0], before.output);
    const TfTensor candidate = tf::unary(b_, "Tanh", linear(layer, name + "candidate", x, reset, r.hidden));
    const TfTensor rest = tf::binary(b_, "Sub", gates[1]);
    return {tf::binary(b_, "Add", mul(gates[1], before.output), mul(rest, candidate)), {}};
  }
  const TfTensors gates = tf::split(b_, linear(layer, name, x, before.output, 4 * r.hidden), 4);  // i, j, f, o
  const TfTensor kept = mul(before.state, tf::unary(b_, "Sigmoid", tf::binary(b_, "Add", gates[2])));
  const TfTensor in = mul(tf::unary(b_, "Sigmoid", gates[0]), tf::unary(b_, "Tanh", gates[1]));
  const TfTensor state = tf::binary(b_, "Add", kept, in);
  const TfTensor output = mul(tf::unary(b_, "Tanh", state), tf::unary(b_, "Sigmoid", gates[3]));
  return {r.projection > 0 ? product(layer, name + "projection", output, r.projection) : output, state};
}

TfTensors TfLayers::direction(int layer, int way) {
  const auto i = static_cast<std::size_t>(layer);
  const Recurrent& r = std::get<Recurrent>(network_.layers[i].spec);
  const int steps = steps_[i];
  TfTensors made(static_cast<std::size_t>(steps));
  CellState cell;
  for (int n = 0; n < steps; ++n) {
    const int step = way == 0 ? n : steps - 1 - n;
    enter(layer, step + way * steps);
    if (n == 0) {
      cell.output = b_.make({.type = "zeros"}, {}, per_sample(r.outputs()));
      if (r.cell == Cell::lstm) cell.state = b_.make({.type = "zeros"}, {}, per_sample(r.hidden));
    }
    cell = cell_step(layer, way, input(layer, 0, step), cell);
    made[static_cast<std::size_t>(step)] = cell.output;
  }
  return made;
}

void TfLayers::recurrent(int layer) {
  const auto i = static_cast<std::size_t>(layer);
  const Recurrent& r = std::get<Recurrent>(network_.layers[i].spec);
  outputs_[i] = direction(layer, 0);
  if (!r.bidirectional) return;
  const TfTensors back = direction(layer, 1);
  for (std::size_t step = 0; step < back.size(); ++step) {
    enter(layer, static_cast<int>(step));
    TfTensor& out = outputs_[i][step];
    out = r.sum_directions ? tf::binary(b_, "Add", out, back[step]) : tf::concat(b_, {out, back[step]});
  }
}

}  // namespace rehearse::workloads
