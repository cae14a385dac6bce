#include "workloads/steps/graph_builder.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/errors.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/unrolling.hpp"

namespace rehearse::workloads {
namespace {

using sim::Affine;
using sim::Op;
using sim::Phase;

constexpr int kNone = -1;

/// An operation that makes a share of a layer's output (or of its gradient), of all time steps together.
struct Piece {
  int op = kNone;
  double share = 1;
  auto operator<=>(const Piece&) const = default;
};
using Pieces = std::vector<Piece>;  // of one time step
using Steps = std::vector<Pieces>;  // by time step; one of a layer that is whole

Affine scaled(const Affine& a, double factor) { return {a.fixed * factor, a.per_sample * factor}; }

bool is_empty(const Steps& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const Pieces& pieces) { return pieces.empty(); });
}

Pieces joined(const Steps& steps, double factor) {
  Pieces all;
  for (const Pieces& pieces : steps)
    for (const Piece& piece : pieces) all.push_back({piece.op, piece.share * factor});
  return all;
}

std::array<int, 3> dimensions(const Shape& shape) { return {shape.channels, shape.height, shape.width}; }

class GraphBuilder {
 public:
  GraphBuilder(const Network& network, const GraphOptions& options)
      : network_(network), options_(options), shapes_(infer_shapes(network)), count_(network.layers.size()) {
    steps_ = options.unroll ? time_steps(network, shapes_) : std::vector<int>(count_, 1);
    graph_.name = network.name;
    graph_.input_bytes = {0, options.stored_bytes_per_sample};
    for (std::size_t i = 0; i < count_; ++i) describe(static_cast<int>(i));
    for (std::size_t i = 0; i < count_; ++i)
      if (steps_[i] > 1) shared_out_[owner(static_cast<int>(i))] = true;
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
  /// One operation of a layer, to be run at all of the layer's time steps.
  struct Run {
    const LayerOp& from;
    int layer = 0;
    Phase phase = Phase::forward;
    Affine output_bytes;                ///< of all steps; if the operation says nothing itself
    std::array<int, 3> output_shape{};  ///< likewise
  };

  const Layer& layer(int i) const { return network_.layers[i]; }
  int owner(int i) const { return layer(i).shares == kNone ? i : layer(i).shares; }
  double own_parameters(int i) const { return owner(i) == i ? costs_[i].parameters() : 0; }
  Affine output_bytes(int i) const { return {0, kBytesPerNumber * shapes_[i].elements()}; }
  Affine parameter_bytes(int i) const { return {kBytesPerNumber * costs_[i].parameters(), 0}; }
  bool attends(int i) const { return std::holds_alternative<Attention>(layer(i).spec); }
  bool sums_directions(int i) const {
    const Recurrent* recurrent = std::get_if<Recurrent>(&layer(i).spec);
    return recurrent && recurrent->sum_directions;
  }

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
    producers_.push_back({});
    variables_.push_back(kNone);
    shared_out_.push_back(false);
    saved_.push_back(false);
    graph_.parameters += own_parameters(i);
  }

  void connect(int from, int to, Affine bytes) {
    if (from != kNone) graph_.edges.push_back({from, to, bytes});
  }

  int append(Op op, int i, Phase phase) {
    op.phase = phase;
    op.layer = i;
    graph_.ops.push_back(std::move(op));
    return static_cast<int>(graph_.ops.size()) - 1;
  }

  std::string piece_name(int i, int step, int direction) const {
    if (steps_[i] == 1) return layer(i).name;
    return layer(i).name + "/step" + std::to_string(step) + (direction > 0 ? "/reverse" : "");
  }

  Op piece(const Run& run, int step, int direction, int directions) const {
    LayerOp whole = run.from;
    const int side_by_side = sums_directions(run.layer) ? directions : 1;  // each direction makes an output of full size
    if (whole.op.output_bytes.per_sample == 0) whole.op.output_bytes = scaled(run.output_bytes, side_by_side);
    if (whole.op.output_shape[0] == 0) {
      whole.op.output_shape = run.output_shape;
      whole.op.output_shape[0] *= side_by_side;
    }
    Op op = piece_of(whole, steps_[run.layer], directions);
    op.name = piece_name(run.layer, step, direction) + run.from.op.name;
    op.step = step + direction * steps_[run.layer];
    return op;
  }

  /// What a step of a recurrent layer hands to the next one, beside its output: the state and, of an LSTM, the cell.
  Affine carried_bytes(const Run& run, int from) const {
    if (run.from.sums_steps) return graph_.ops[from].output_bytes;
    const Recurrent& r = std::get<Recurrent>(layer(run.layer).spec);
    return {0, kBytesPerNumber * (r.outputs() + (r.cell == Cell::lstm ? r.hidden : 0.0))};
  }

  /// Runs an operation at every time step: `feed(op, step)` connects what comes from other operations; here come what a step
  /// hands to the next, and the parameters. A backward pass goes from the last step to the first, a second direction the other
  /// way.
  Steps run(const Run& run, const std::function<void(int op, int step)>& feed) {
    const int i = run.layer, steps = steps_[i];
    const bool recurs = run.from.op.kind == sim::OpKind::rnn;
    const int ways = recurs && steps > 1 ? directions(layer(i).spec) : 1;
    const double share = 1.0 / (sums_directions(i) ? steps : steps * ways);
    Steps result(static_cast<std::size_t>(steps));
    for (int way = 0; way < ways; ++way) {
      int previous = kNone;
      for (int n = 0; n < steps; ++n) {
        const int step = (run.phase == Phase::backward) == (way == 0) ? steps - 1 - n : n;
        const int op = append(piece(run, step, way, ways), i, run.phase);
        feed(op, step);
        if (previous != kNone && (recurs || run.from.sums_steps)) connect(previous, op, carried_bytes(run, previous));
        if (!run.from.sums_steps) connect(variables_[owner(i)], op, parameter_bytes(i));
        result[static_cast<std::size_t>(step)].push_back({op, share});
        previous = op;
      }
    }
    return result;
  }

  /// From the pieces of a layer's operation to those of the next one.
  void pass_on(const Pieces& from, int to) {
    // The only piece before two directions feeds each with its half.
    const bool forks = graph_.ops[to].kind == sim::OpKind::rnn && from.size() == 1 && steps_[graph_.ops[to].layer] > 1;
    const double part = forks ? 1.0 / directions(layer(graph_.ops[to].layer).spec) : 1;
    for (const Piece& piece : from) connect(piece.op, to, scaled(graph_.ops[piece.op].output_bytes, part));
  }

  /// What a layer reads of its k-th input at one time step.
  Pieces pieces_of(int i, std::size_t k, int step) const {
    const int j = layer(i).inputs[k];
    if (producers_[j].empty()) return {};
    if (attends(i) && k > 0) return joined(producers_[j], 1);
    if (std::holds_alternative<LastStep>(layer(i).spec)) return joined({producers_[j].back()}, steps_[j]);
    if (steps_[i] == steps_[j]) return producers_[j][static_cast<std::size_t>(step)];
    return joined(producers_[j], 1.0 / steps_[i]);
  }

  void read_input(int i, std::size_t k, int op, int step) {
    for (const Piece& piece : pieces_of(i, k, step)) connect(piece.op, op, scaled(output_bytes(layer(i).inputs[k]), piece.share));
  }

  /// Parameters that operations of several steps read are one of their own.
  void add_variable(int i) {
    if (!shared_out_[i] || own_parameters(i) == 0) return;
    Op op;
    op.name = layer(i).name + "/parameters";
    op.kind = sim::OpKind::variable;
    op.parameter_bytes = kBytesPerNumber * own_parameters(i);
    variables_[i] = append(std::move(op), i, Phase::forward);
  }

  void forward(int i) {
    const LayerCost& cost = costs_[i];
    const std::size_t inputs = layer(i).inputs.size();
    add_variable(i);
    Steps current;
    for (const LayerOp& op : cost.forward) {
      const Steps before = std::move(current);
      current = run({op, i, Phase::forward, output_bytes(i), dimensions(shapes_[i])}, [&](int index, int step) {
        if (!before.empty()) return pass_on(before[static_cast<std::size_t>(step)], index);
        for (std::size_t k = 0; k < inputs; ++k) read_input(i, k, index, step);
      });
    }
    producers_[i] = current;
    if (current.empty()) {
      if (inputs == 0 || producers_[layer(i).inputs[0]].empty()) return;
      for (int step = 0; step < steps_[i]; ++step) producers_[i].push_back(pieces_of(i, 0, step));
      return;
    }
    save(current, wanted_[i] ? cost.extra_saved_bytes : 0, true);
    if (variables_[owner(i)] != kNone) return;
    const int last = current[0][0].op;
    graph_.ops[last].parameter_bytes = kBytesPerNumber * own_parameters(i);
    if (owner(i) != i && cost.parameters() > 0) connect(producers_[owner(i)][0][0].op, last, parameter_bytes(i));
  }

  /// Keeps bytes of a sample for the backward pass, in equal parts with each operation; `is_private`: no edge carries them.
  void save(const Steps& keepers, double bytes, bool is_private) {
    const Pieces all = joined(keepers, 1);
    for (const Piece& piece : all) {
      Op& op = graph_.ops[piece.op];
      const double part = bytes / static_cast<double>(all.size());
      op.saved_bytes.per_sample += part;
      if (is_private) op.private_bytes.per_sample += part;
    }
  }

  /// The activations that a backward operation reads are kept: once for each piece of memory, by the operation that filled it; a
  /// batch of inputs by its first reader.
  void keep(int i, int for_layer) {
    const int buffer = buffers_[i];
    if (saved_[buffer]) return;
    saved_[buffer] = true;
    const bool is_input = producers_[buffer].empty();
    save(is_input ? producers_[for_layer] : producers_[buffer], kBytesPerNumber * shapes_[buffer].elements(), is_input);
  }

  /// A gradient on its way back through a layer: that of the layer's output, or what an operation of the layer made of it.
  struct Flow {
    Steps pieces;
    bool is_output = true;
  };

  Steps run_backward(const LayerOp& op, int i, const Flow& after, const Run& run_of) {
    const std::vector<int>& inputs = layer(i).inputs;
    Steps result = run(run_of, [&](int index, int step) {
      const Pieces& received = after.pieces[static_cast<std::size_t>(step)];
      if (after.is_output)
        for (const Piece& piece : received) connect(piece.op, index, scaled(output_bytes(i), piece.share));
      else
        pass_on(received, index);
      if (op.reads_input)
        for (std::size_t k = 0; k < inputs.size(); ++k) read_input(i, k, index, step);
      if (op.reads_output)
        for (const Piece& piece : producers_[i][static_cast<std::size_t>(step)])
          connect(piece.op, index, scaled(output_bytes(i), piece.share));
    });
    if (op.reads_input)
      for (int j : inputs) keep(j, i);
    if (op.reads_output) keep(i, i);
    return result;
  }

  /// Sums what the layer's several readers send back.
  Steps collect(int i) {
    std::vector<Steps>& parts = gradients_[i];
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    if (parts.size() < 2) return parts.empty() ? Steps{} : parts[0];
    LayerOp sum;
    sum.op.name = "/gradient_sum";
    const double numbers = shapes_[i].elements(), adds = double(parts.size()) - 1;
    sum.op.flops = {0, adds * numbers};
    sum.op.bytes = {0, 3 * adds * kBytesPerNumber * numbers};
    return run({sum, i, Phase::backward, output_bytes(i), dimensions(shapes_[i])}, [&](int index, int step) {
      for (const Steps& part : parts)
        for (const Piece& piece : part[static_cast<std::size_t>(step)])
          connect(piece.op, index, scaled(output_bytes(i), piece.share));
    });
  }

  /// A layer's gradient of its k-th input, by that input's steps.
  Steps sent_back(int i, std::size_t k, const Steps& current) const {
    const int steps = steps_[layer(i).inputs[k]];
    const auto everywhere = [&](const Pieces& pieces) { return Steps(static_cast<std::size_t>(steps), pieces); };
    // Sums over the queries are complete at the first step, which comes last.
    if (attends(i) && k > 0 && steps_[i] > 1) return everywhere({{current[0][0].op, 1.0 / steps}});
    if (steps_[i] == steps) return current;
    return everywhere(joined(current, 1.0 / steps));
  }

  void backward(int i) {
    if (!wanted_[i]) return;
    const LayerCost& cost = costs_[i];
    const bool is_loss = std::holds_alternative<Loss>(layer(i).spec);
    Flow flow{is_loss ? producers_[i] : collect(i)};
    if (is_empty(flow.pieces)) return;  // leads to no loss
    const std::vector<int>& inputs = layer(i).inputs;
    const auto send = [&](const std::vector<LayerOp>& ops) {
      for (const LayerOp& op : ops)
        flow = {run_backward(op, i, flow, {op, i, Phase::backward, output_bytes(inputs[0]), dimensions(shapes_[inputs[0]])}),
                false};
    };
    send(cost.backward);
    if (cost.parameters() > 0) {
      Steps last = flow.pieces;
      for (const LayerOp& op : cost.filter_gradient) {
        const sim::MatrixShape& m = op.op.matrix;
        const std::array<int, 3> shape = m.m.fixed > 0 ? std::array{static_cast<int>(m.m.fixed), static_cast<int>(m.n.fixed), 1}
                                                       : std::array{static_cast<int>(cost.parameters()), 1, 1};
        last = run_backward(op, i, flow, {op, i, Phase::backward, parameter_bytes(i), shape});
      }
      updates_[owner(i)].push_back(last[0][0].op);
    }
    if (std::none_of(inputs.begin(), inputs.end(), [&](int j) { return wanted_[j]; })) return;
    send(cost.data_gradient);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (wanted_[inputs[k]]) gradients_[inputs[k]].push_back(sent_back(i, k, flow.pieces));
  }

  /// Reads parameter, gradient and slots; writes parameter and slots.
  void update(int i) {
    const double parameters = own_parameters(i);
    if (parameters == 0 || updates_[i].empty()) return;
    Op op;
    op.name = layer(i).name + "/update";
    op.kind = sim::OpKind::update;
    const int slots = optimizer_slots(options_.optimizer);
    op.flops = {(2.0 + 4.0 * slots) * parameters, 0};
    op.bytes = {(3.0 + 2.0 * slots) * kBytesPerNumber * parameters, 0};
    const int index = append(std::move(op), i, Phase::update);
    for (int gradient : updates_[i]) connect(gradient, index, {kBytesPerNumber * parameters, 0});
  }

  const Network& network_;
  const GraphOptions& options_;
  std::vector<Shape> shapes_;
  std::size_t count_;
  std::vector<int> steps_;  // into which a layer falls
  std::vector<LayerCost> costs_;
  std::vector<int> buffers_;                   // the layer whose memory holds the output
  std::vector<bool> wanted_;                   // whether the output's gradient is needed
  std::vector<bool> saved_;                    // by buffer
  std::vector<bool> shared_out_;               // whether operations of several steps read the layer's parameters
  std::vector<int> variables_;                 // the operation that holds the layer's parameters, if it is one of its own
  std::vector<Steps> producers_;               // the operations that make the layer's output; empty for inputs
  std::vector<std::vector<Steps>> gradients_;  // operations that make the gradient of the layer's output
  std::vector<std::vector<int>> updates_;      // operations that make the gradient of its own parameters
  sim::OpGraph graph_;
};

}  // namespace

sim::OpGraph build_graph(const Network& network, const GraphOptions& options) { return GraphBuilder(network, options).build(); }

}  // namespace rehearse::workloads
