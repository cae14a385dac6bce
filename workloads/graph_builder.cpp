#include "workloads/graph_builder.hpp"

#include <algorithm>

#include "sim/base/errors.hpp"
#include "workloads/layer_cost.hpp"

namespace rehearse::workloads {
namespace {

using sim::Affine;
using sim::Op;
using sim::Phase;

constexpr int kNone = -1;

class GraphBuilder {
 public:
  GraphBuilder(const Network& network, const GraphOptions& options)
      : network_(network), options_(options), shapes_(infer_shapes(network)), count_(network.layers.size()) {
    graph_.name = network.name;
    graph_.input_bytes = {0, options.stored_bytes_per_sample};
    for (std::size_t i = 0; i < count_; ++i) describe(static_cast<int>(i));
  }

  sim::OpGraph build() {
    for (std::size_t i = 0; i < count_; ++i) forward(static_cast<int>(i));
    gradients_.resize(count_);
    updates_.resize(count_);
    for (std::size_t i = count_; i-- > 0;) backward(static_cast<int>(i));
    for (std::size_t i = 0; i < count_; ++i) update(static_cast<int>(i));
    return std::move(graph_);
  }

 private:
  const Layer& layer(int i) const { return network_.layers[i]; }
  int owner(int i) const { return layer(i).shares == kNone ? i : layer(i).shares; }
  double own_parameters(int i) const { return owner(i) == i ? costs_[i].parameters() : 0; }
  Affine output_bytes(int i) const { return {0, kBytesPerNumber * shapes_[i].elements()}; }

  /// Costs, which memory the output lies in, and whether a gradient is wanted. Layers come in order.
  void describe(int i) {
    std::vector<Shape> in;
    for (int j : layer(i).inputs) in.push_back(shapes_[j]);
    const LayerCost& cost = costs_.emplace_back(layer_cost(layer(i).spec, in, shapes_[i]));
    sim::check(costs_[owner(i)].parameters() == cost.parameters(), "shared parameters differ in size: " + layer(i).name);
    const bool aliases = !in.empty() && (cost.in_place || cost.forward.empty());
    buffers_.push_back(aliases ? buffers_[layer(i).inputs[0]] : i);
    const bool from_input = std::any_of(layer(i).inputs.begin(), layer(i).inputs.end(), [&](int j) { return wanted_[j]; });
    wanted_.push_back(!cost.stops_gradient && (from_input || cost.parameters() > 0));
    producers_.push_back(kNone);
    saved_.push_back(false);
    graph_.parameters += own_parameters(i);
  }

  int append(const LayerOp& from, int i, Phase phase, Affine out) {
    Op op = from.op;
    op.name = layer(i).name + op.name;
    op.phase = phase;
    op.layer = i;
    if (op.output_bytes.per_sample == 0) op.output_bytes = out;
    graph_.ops.push_back(std::move(op));
    return static_cast<int>(graph_.ops.size()) - 1;
  }

  void connect(int from, int to, Affine bytes) {
    if (from != kNone) graph_.edges.push_back({from, to, bytes});
  }

  void forward(int i) {
    const LayerCost& cost = costs_[i];
    int previous = kNone;
    for (const LayerOp& op : cost.forward) {
      const int index = append(op, i, Phase::forward, output_bytes(i));
      if (previous == kNone)
        for (int j : layer(i).inputs) connect(producers_[j], index, output_bytes(j));
      else
        connect(previous, index, graph_.ops[previous].output_bytes);
      previous = index;
    }
    producers_[i] = previous != kNone || layer(i).inputs.empty() ? previous : producers_[layer(i).inputs[0]];
    if (previous == kNone) return;
    if (wanted_[i]) keep_private(previous, cost.extra_saved_bytes);
    graph_.ops[previous].parameter_bytes = kBytesPerNumber * own_parameters(i);
    if (owner(i) != i && cost.parameters() > 0) connect(producers_[owner(i)], previous, {kBytesPerNumber * cost.parameters(), 0});
  }

  /// The activations that a backward operation reads are kept: once for each piece of memory, by the operation that filled it; a
  /// batch of inputs by its first reader.
  void keep(int i, int reader, int for_layer) {
    connect(producers_[i], reader, output_bytes(i));
    const int buffer = buffers_[i];
    if (saved_[buffer]) return;
    saved_[buffer] = true;
    const double bytes = kBytesPerNumber * shapes_[buffer].elements();
    if (producers_[buffer] == kNone)
      keep_private(producers_[for_layer], bytes);
    else
      graph_.ops[producers_[buffer]].saved_bytes.per_sample += bytes;
  }

  void keep_private(int op, double bytes_per_sample) {
    graph_.ops[op].saved_bytes.per_sample += bytes_per_sample;
    graph_.ops[op].private_bytes.per_sample += bytes_per_sample;
  }

  int append_backward(const LayerOp& op, int i, int after, Affine received, Affine out) {
    const int index = append(op, i, Phase::backward, out);
    connect(after, index, received);
    if (op.reads_input)
      for (int j : layer(i).inputs) keep(j, index, i);
    if (op.reads_output) keep(i, index, i);
    return index;
  }

  /// Sums what the layer's several readers send back.
  int collect(int i) {
    std::vector<int>& parts = gradients_[i];
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    if (parts.size() < 2) return parts.empty() ? kNone : parts[0];
    LayerOp sum;
    sum.op.name = "/gradient_sum";
    const double numbers = shapes_[i].elements(), adds = double(parts.size()) - 1;
    sum.op.flops = {0, adds * numbers};
    sum.op.bytes = {0, 3 * adds * kBytesPerNumber * numbers};
    const int index = append(sum, i, Phase::backward, output_bytes(i));
    for (int part : parts) connect(part, index, output_bytes(i));
    return index;
  }

  void backward(int i) {
    if (!wanted_[i]) return;
    const LayerCost& cost = costs_[i];
    const bool is_loss = std::holds_alternative<Loss>(layer(i).spec);
    int current = is_loss ? producers_[i] : collect(i);
    if (current == kNone) return;  // leads to no loss
    const std::vector<int>& inputs = layer(i).inputs;
    Affine received = output_bytes(i);
    const auto run = [&](const std::vector<LayerOp>& ops) {
      for (const LayerOp& op : ops) {
        current = append_backward(op, i, current, received, output_bytes(inputs[0]));
        received = graph_.ops[current].output_bytes;
      }
    };
    run(cost.backward);
    if (cost.parameters() > 0) {
      int last = current;
      for (const LayerOp& op : cost.filter_gradient)
        last = append_backward(op, i, current, received, {kBytesPerNumber * cost.parameters(), 0});
      updates_[owner(i)].push_back(last);
    }
    if (std::none_of(inputs.begin(), inputs.end(), [&](int j) { return wanted_[j]; })) return;
    run(cost.data_gradient);
    for (int j : inputs)
      if (wanted_[j]) gradients_[j].push_back(current);
  }

  /// Reads parameter, gradient and slots; writes parameter and slots.
  void update(int i) {
    const double parameters = own_parameters(i);
    if (parameters == 0 || updates_[i].empty()) return;
    LayerOp op;
    op.op.name = "/update";
    op.op.kind = sim::OpKind::update;
    const int slots = optimizer_slots(options_.optimizer);
    op.op.flops = {(2.0 + 4.0 * slots) * parameters, 0};
    op.op.bytes = {(3.0 + 2.0 * slots) * kBytesPerNumber * parameters, 0};
    const int index = append(op, i, Phase::update, {});
    for (int gradient : updates_[i]) connect(gradient, index, {kBytesPerNumber * parameters, 0});
  }

  const Network& network_;
  const GraphOptions& options_;
  std::vector<Shape> shapes_;
  std::size_t count_;
  std::vector<LayerCost> costs_;
  std::vector<int> buffers_;                 // the layer whose memory holds the output
  std::vector<bool> wanted_;                 // whether the output's gradient is needed
  std::vector<bool> saved_;                  // by buffer
  std::vector<int> producers_;               // the operation that makes the layer's output; kNone for inputs
  std::vector<std::vector<int>> gradients_;  // operations that make the gradient of the layer's output
  std::vector<std::vector<int>> updates_;    // operations that make the gradient of its own parameters
  sim::OpGraph graph_;
};

}  // namespace

sim::OpGraph build_graph(const Network& network, const GraphOptions& options) { return GraphBuilder(network, options).build(); }

double forward_multiply_adds(const sim::OpGraph& graph) {
  double flops = 0;
  for (const Op& op : graph.ops)
    if (op.phase == Phase::forward && op.matrix.m.at(1) > 0) flops += op.flops.at(1);
  return flops / 2;
}

}  // namespace rehearse::workloads
