#include "workloads/layers/layer_cost.hpp"

#include <algorithm>
#include <string>

#include "sim/base/units.hpp"
#include "workloads/layers/conv_forms.hpp"

namespace rehearse::workloads {
namespace {

using sim::Affine;
using sim::OpKind;

double value(const Affine& x) { return x.fixed + x.per_sample; }  // of a pure one: fixed, or a sample's

/// Bytes of `weights` numbers read or written once a step and `numbers` a sample.
Affine traffic(double weights, double numbers) { return {kBytesPerNumber * weights, kBytesPerNumber * numbers}; }

/// An operation that is limited by memory: `passes` over a tensor of `numbers` a sample, `flops` for each number.
LayerOp streaming(const char* suffix, OpKind kind, double numbers, double passes, double flops = 1) {
  LayerOp result;
  result.op.name = suffix;
  result.op.kind = kind;
  result.op.flops = a_sample(flops * numbers);
  result.op.bytes = traffic(0, passes * numbers);
  return result;
}

/// A matrix product of `shape`, `repeats` times one after the other. Exactly one of m, n, k grows with the batch.
LayerOp product(const char* suffix, OpKind kind, const sim::MatrixShape& shape, Affine bytes, int repeats = 1) {
  LayerOp result;
  result.op.name = suffix;
  result.op.kind = kind;
  result.op.matrix = shape;
  result.op.repeats = repeats;
  result.op.flops = a_sample(2.0 * repeats * value(shape.m) * value(shape.n) * value(shape.k));
  result.op.bytes = bytes;
  return result;
}

LayerOp reading_input(LayerOp op) {
  op.reads_input = true;
  return op;
}

LayerOp summing_steps(LayerOp op) {
  op.sums_steps = true;
  return op;
}

LayerOp reading_output(LayerOp op) {
  op.reads_output = true;
  return op;
}

/// Of Winograd's transformed input: (r + 1)^2 numbers for each 2 x 2 tile, of which as many tiles are held at once as the library
/// likes; counted as one (r + 3)^2 for each 4 x 4 tile. Other convolutions are implicit matrix products without scratch.
Affine winograd_workspace(const Window& w, const Shape& in) {
  if (!has_winograd(w)) return {};
  const double side = w.height + 3;
  return a_sample(side * side / 16 * kBytesPerNumber * in.elements());
}

LayerCost cost(const Conv& c, const Shape& in, const Shape& out) {
  const double groups = c.groups, filters = c.filters / groups, channels = in.channels / groups, area = c.window.area();
  LayerCost result;
  result.weights = c.filters * channels * area;
  result.bias = c.bias ? c.filters : 0;
  const Affine bytes = traffic(result.weights, in.elements() + out.elements());
  const double taps = area * out.positions() / in.positions();  // of the window that meet one input position, on average
  result.forward = {
      product("", OpKind::conv, {a_sample(groups * out.positions()), fixed(filters), fixed(channels * area)}, bytes)};
  result.data_gradient = {product("/data_gradient", OpKind::conv,
                                  {a_sample(groups * in.positions()), fixed(channels), fixed(filters * taps)}, bytes)};
  result.filter_gradient = {reading_input(
      product("/filter_gradient", OpKind::conv, {fixed(c.filters), fixed(channels * area), a_sample(out.positions())}, bytes))};
  for (auto* ops : {&result.forward, &result.data_gradient, &result.filter_gradient})
    ops->front().op.workspace_bytes = winograd_workspace(c.window, in);
  sim::Op &forward = result.forward.front().op, &data_gradient = result.data_gradient.front().op;
  forward.fast_forms = fast_forms(c.window, {groups, channels, filters}, out);
  data_gradient.fast_forms = fast_forms(c.window, {groups, filters, channels}, in);
  // Neighbours along the input's width share their tile, but meet only every stride-th column of the window each.
  data_gradient.matrix.k.fixed *= c.window.stride_width;
  sim::Op& filter_gradient = result.filter_gradient.front().op;
  filter_gradient.fast_forms = fast_gradient_forms(c.window, {groups, channels, filters}, out);
  filter_gradient.relative_efficiency = kFilterGradientEfficiency;
  return result;
}

/// The data gradient of a convolution run forward.
LayerCost cost(const TransposedConv& c, const Shape& in, const Shape& out) {
  LayerCost mirrored = cost(Conv{in.channels, c.window, c.groups, false}, out, in);
  LayerCost result;
  result.weights = mirrored.weights;
  result.bias = c.bias ? c.filters : 0;
  result.forward = mirrored.data_gradient;
  result.data_gradient = mirrored.forward;
  result.filter_gradient = mirrored.filter_gradient;
  result.forward.front().op.name = "";
  result.data_gradient.front().op.name = "/data_gradient";
  return result;
}

LayerCost cost(const Dense& d, const Shape& in, const Shape& out) {
  const double rows = in.positions(), width = in.channels, units = d.units;
  LayerCost result;
  result.weights = width * units;
  result.bias = d.bias ? units : 0;
  const Affine bytes = traffic(result.weights, in.elements() + out.elements());
  result.forward = {product("", OpKind::gemm, {a_sample(rows), fixed(units), fixed(width)}, bytes)};
  result.data_gradient = {product("/data_gradient", OpKind::gemm, {a_sample(rows), fixed(width), fixed(units)}, bytes)};
  result.filter_gradient = {summing_steps(
      reading_input(product("/filter_gradient", OpKind::gemm, {fixed(units), fixed(width), a_sample(rows)}, bytes)))};
  return result;
}

/// Forward reads twice (statistics, then scaling) and writes once; backward reads input and gradient twice and writes once.
LayerCost normalisation(const auto& norm, const Shape& in) {
  LayerCost result;
  result.bias = (norm.scale + norm.shift) * double(in.channels);
  result.forward = {streaming("", OpKind::batch_norm, in.elements(), 3, 5)};
  result.backward = {reading_input(streaming("/gradient", OpKind::batch_norm, in.elements(), 5, 10))};
  return result;
}

LayerCost cost(const Activation& a, const Shape& in) {
  LayerCost result;
  result.in_place = a.in_place;
  result.forward = {streaming("", OpKind::elementwise, in.elements(), 2, a.in_place ? 1 : 10)};
  result.backward = {streaming("/gradient", OpKind::elementwise, in.elements(), 3, a.in_place ? 1 : 10)};
  (a.in_place ? result.backward[0].reads_output : result.backward[0].reads_input) = true;
  return result;
}

LayerCost pooling(const Shape& in, const Shape& out, double area, bool is_max) {
  LayerCost result;
  const double moved = (in.elements() + out.elements()) / out.elements();
  result.forward = {streaming("", OpKind::pool, out.elements(), moved, area)};
  result.backward = {streaming("/gradient", OpKind::pool, out.elements(), is_max ? 2 * moved : moved, area)};
  result.backward[0].reads_input = result.backward[0].reads_output = is_max;
  return result;
}

/// Numbers are copied, all or a part of them; their gradients are sums over the copies.
LayerCost copying(const Shape& in, const Shape& out) {
  LayerCost result;
  const double moved = (in.elements() + out.elements()) / out.elements();
  result.forward = {streaming("", OpKind::elementwise, out.elements(), std::min(moved, 2.0), 0)};
  result.backward = {streaming("/gradient", OpKind::elementwise, out.elements(), moved, 1)};
  return result;
}

/// Each number is read, written at its new place, and its gradient likewise.
LayerCost cost(const Rearrange& r, const Shape& out) {
  LayerCost result;
  if (!r.moves) return result;
  result.forward = {streaming("", OpKind::elementwise, out.elements(), 2, 0)};
  result.backward = {streaming("/gradient", OpKind::elementwise, out.elements(), 2, 0)};
  return result;
}

LayerCost cost(const LocalResponseNorm& n, const Shape& in) {
  LayerCost result;
  result.forward = {streaming("", OpKind::batch_norm, in.elements(), 2, 2.0 * n.size)};
  result.backward = {reading_output(reading_input(streaming("/gradient", OpKind::batch_norm, in.elements(), 4, 4.0 * n.size)))};
  return result;
}

/// A mask of one byte a number.
LayerCost dropout(const Shape& in) {
  LayerCost result;
  result.in_place = true;
  result.extra_saved_bytes = in.elements();
  result.forward = {streaming("", OpKind::elementwise, in.elements(), 2.25, 2)};
  result.backward = {streaming("/gradient", OpKind::elementwise, in.elements(), 2.25, 1)};
  return result;
}

LayerCost concat(const Shape& out) {
  LayerCost result;
  result.forward = {streaming("", OpKind::elementwise, out.elements(), 2, 0)};
  result.backward = {streaming("/gradient", OpKind::elementwise, out.elements(), 2, 0)};
  return result;
}

/// Numbers of all inputs, in passes over the output.
double passes_over(std::span<const Shape> in, const Shape& out) {
  double numbers = 0;
  for (const Shape& s : in) numbers += s.elements();
  return numbers / out.elements();
}

/// The gradient is that of the output, summed where an input was repeated.
LayerCost addition(std::span<const Shape> in, const Shape& out) {
  LayerCost result;
  const double passes = passes_over(in, out), inputs = static_cast<double>(in.size());
  result.forward = {streaming("", OpKind::elementwise, out.elements(), passes + 1, inputs - 1)};
  if (passes < inputs) result.backward = {streaming("/gradient", OpKind::elementwise, out.elements(), passes, 1)};
  return result;
}

/// Each input's gradient takes the output's, the other input, and is written.
LayerCost multiplication(std::span<const Shape> in, const Shape& out) {
  LayerCost result;
  const double passes = passes_over(in, out);
  result.forward = {streaming("", OpKind::elementwise, out.elements(), passes + 1, 1)};
  result.backward = {reading_input(streaming("/gradient", OpKind::elementwise, out.elements(), 2 * passes + 2, 2))};
  return result;
}

/// (c, n, k) by (c, k, m): a product a channel, and one for each input's gradient.
LayerCost matrix_product(const Shape& left, const Shape& right, const Shape& out) {
  const Affine rows = a_sample(left.channels * double(left.height)), columns = fixed(right.width), inner = fixed(left.width);
  const Affine bytes = traffic(0, left.elements() + right.elements() + out.elements());
  LayerCost result;
  result.forward = {product("", OpKind::gemm, {rows, columns, inner}, bytes)};
  result.backward = {reading_input(product("/left_gradient", OpKind::gemm, {rows, inner, columns}, bytes)),
                     product("/right_gradient", OpKind::gemm,
                             {a_sample(left.channels * double(left.width)), columns, fixed(left.height)}, bytes)};
  return result;
}

LayerCost cost(const Embedding& e, const Shape& out) {
  LayerCost result;
  result.weights = double(e.vocabulary) * e.width;
  result.forward = {streaming("", OpKind::embedding, out.elements(), 2, 0)};
  result.filter_gradient = {summing_steps(reading_input(streaming("/filter_gradient", OpKind::embedding, out.elements(), 2, 1)))};
  return result;
}

/// The input's part is one product over all time steps, the recurrent part one product a step, which reads its weights again.
/// A projection's product joins the recurrent one: its inner dimension grows until multiply-adds and weights are those of both.
LayerCost cost(const Recurrent& r, const Shape& in) {
  const double directions = r.bidirectional ? 2 : 1, width = in.channels, hidden = r.hidden, steps = in.height;
  const double gated = gates(r.cell) * hidden;
  const double inner = r.outputs() + r.projection * hidden / gated;
  const int repeats = sim::whole<int>(steps * directions, "time steps of a recurrent layer");
  LayerCost result;
  result.weights = directions * gated * (width + inner);
  result.bias = r.biases * directions * gated;
  const double gate_numbers = directions * steps * gated, state_numbers = directions * steps * hidden;
  const int kept_states = r.cell != Cell::lstm ? 0 : r.projection > 0 ? 2 : 1;  // cells, and what a projection reads
  result.extra_saved_bytes = kBytesPerNumber * (gate_numbers + kept_states * state_numbers);

  const Affine input_bytes = traffic(directions * gated * width, in.elements() + gate_numbers);
  const Affine step_bytes = traffic(repeats * gated * inner, 2 * gate_numbers + 3 * state_numbers);
  result.forward = {product("/input", OpKind::gemm, {a_sample(steps), fixed(directions * gated), fixed(width)}, input_bytes),
                    product("", OpKind::rnn, {a_sample(1), fixed(gated), fixed(inner)}, step_bytes, repeats)};
  result.forward[0].op.output_bytes = traffic(0, gate_numbers);
  result.backward = {
      reading_output(product("/gradient", OpKind::rnn, {a_sample(1), fixed(inner), fixed(gated)}, step_bytes, repeats))};
  result.backward[0].op.output_bytes = traffic(0, gate_numbers);
  for (LayerOp* op : {&result.forward[0], &result.backward[0]})
    op->op.output_shape = {sim::whole<int>(directions * gated, "width of a recurrent layer"), static_cast<int>(steps), 1};
  result.data_gradient = {
      product("/data_gradient", OpKind::gemm, {a_sample(steps), fixed(width), fixed(directions * gated)}, input_bytes)};
  const Affine gradient_bytes = traffic(result.weights, in.elements() + gate_numbers + state_numbers);
  result.filter_gradient = {summing_steps(reading_input(product(
      "/filter_gradient", OpKind::gemm, {fixed(directions * gated), fixed(width + inner), a_sample(steps)}, gradient_bytes)))};
  return result;
}

LayerCost cost(const Attention& a, std::span<const Shape> in) {
  const Shape &query = in[0], &key = in[1], &values = in[2];
  const double heads = a.heads, rows = heads * query.height, columns = heads * key.height;
  const double weights = rows * key.height;  // numbers of the attention matrix
  const Affine queries = fixed(query.height), keys = fixed(key.height);
  const Affine depth = fixed(query.channels / heads), value_depth = fixed(values.channels / heads);
  const Affine score_bytes = traffic(0, query.elements() + key.elements() + weights);
  const Affine context_bytes = traffic(0, rows * value(value_depth) + values.elements() + weights);
  LayerCost result;
  result.extra_saved_bytes = kBytesPerNumber * weights;
  result.forward = {product("/scores", OpKind::gemm, {a_sample(rows), keys, depth}, score_bytes),
                    streaming("/softmax", OpKind::softmax, weights, 2, 5),
                    product("", OpKind::gemm, {a_sample(rows), value_depth, keys}, context_bytes)};
  for (LayerOp* op : {&result.forward[0], &result.forward[1]}) {
    op->op.output_bytes = traffic(0, weights);
    op->op.output_shape = {key.height, sim::whole<int>(rows, "rows of an attention matrix"), 1};
  }
  result.backward = {summing_steps(reading_input(
                         product("/value_gradient", OpKind::gemm, {a_sample(columns), value_depth, queries}, context_bytes))),
                     product("/weight_gradient", OpKind::gemm, {a_sample(rows), keys, value_depth}, context_bytes),
                     streaming("/softmax_gradient", OpKind::softmax, weights, 3, 4),
                     product("/query_gradient", OpKind::gemm, {a_sample(rows), depth, keys}, score_bytes),
                     summing_steps(product("/key_gradient", OpKind::gemm, {a_sample(columns), depth, queries}, score_bytes))};
  return result;
}

LayerCost loss(const Shape& in) {
  LayerCost result;
  result.extra_saved_bytes = kBytesPerNumber * in.elements();
  result.forward = {streaming("", OpKind::softmax, in.elements(), 2, 5)};
  result.backward = {streaming("/gradient", OpKind::softmax, in.elements(), 2, 2)};
  return result;
}

LayerCost blocking() {
  LayerCost result;
  result.stops_gradient = true;
  return result;
}

}  // namespace

double LayerCost::multiply_adds() const {
  double flops = 0;
  for (const LayerOp& one : forward)
    if (one.op.matrix.m.at(1) > 0) flops += one.op.flops.per_sample;
  return flops / 2;
}

LayerCost layer_cost(const LayerSpec& spec, std::span<const Shape> in, const Shape& out) {
  return std::visit(Overloaded{
                        [&](const Input&) { return blocking(); },
                        [&](const Detach&) { return blocking(); },
                        [&](const Conv& c) { return cost(c, in[0], out); },
                        [&](const TransposedConv& c) { return cost(c, in[0], out); },
                        [&](const Dense& d) { return cost(d, in[0], out); },
                        [&](const BatchNorm& n) { return normalisation(n, in[0]); },
                        [&](const LayerNorm& n) { return normalisation(n, in[0]); },
                        [&](const Activation& a) { return cost(a, in[0]); },
                        [&](const Pool& p) { return pooling(in[0], out, p.window.area(), p.kind == Pooling::max); },
                        [&](const GlobalPool&) { return pooling(in[0], out, in[0].positions(), false); },
                        [&](const Upsample&) { return copying(in[0], out); },
                        [&](const Resize&) { return copying(in[0], out); },
                        [&](const Slice&) { return copying(in[0], out); },
                        [&](const Reduce&) { return pooling(in[0], out, in[0].elements() / out.elements(), false); },
                        [&](const Rearrange& r) { return cost(r, out); },
                        [&](const LocalResponseNorm& n) { return cost(n, in[0]); },
                        [&](const Dropout&) { return dropout(in[0]); },
                        [&](const Concat&) { return concat(out); },
                        [&](const Add&) { return addition(in, out); },
                        [&](const Multiply&) { return multiplication(in, out); },
                        [&](const MatrixProduct&) { return matrix_product(in[0], in[1], out); },
                        [&](const Embedding& e) { return cost(e, out); },
                        [&](const Recurrent& r) { return cost(r, in[0]); },
                        [&](const Attention& a) { return cost(a, in); },
                        [&](const Loss&) { return loss(in[0]); },
                        [&](const auto&) { return LayerCost{}; },
                    },
                    spec);
}

}  // namespace rehearse::workloads
