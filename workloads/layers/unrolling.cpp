#include "workloads/layers/unrolling.hpp"

#include <algorithm>

namespace rehearse::workloads {
namespace {

using sim::Affine;

bool is_recurrent(const Layer& layer) { return std::holds_alternative<Recurrent>(layer.spec); }

Affine part(const Affine& whole, double pieces) { return {whole.fixed / pieces, whole.per_sample / pieces}; }

enum class Positions { each_alone, handed_on, together };

Positions positions(const LayerSpec& spec) {
  constexpr auto alone = Positions::each_alone, on = Positions::handed_on;
  return std::visit(Overloaded{
                        [](const Recurrent&) { return alone; },
                        [](const Embedding&) { return alone; },
                        [](const Dense&) { return alone; },
                        [](const Activation&) { return alone; },
                        [](const Dropout&) { return alone; },
                        [](const Concat& c) { return c.axis == Axis::channels ? alone : Positions::together; },
                        [](const Add&) { return alone; },
                        [](const Multiply&) { return alone; },
                        [](const Attention&) { return alone; },
                        [](const Loss&) { return alone; },
                        [](const Detach&) { return on; },
                        [](const auto&) { return Positions::together; },
                    },
                    spec);
}

}  // namespace

std::vector<int> time_steps(const Network& network, const std::vector<Shape>& shapes) {
  std::vector<int> steps(network.layers.size(), 1);
  if (std::none_of(network.layers.begin(), network.layers.end(), is_recurrent)) return steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Layer& layer = network.layers[i];
    const Positions way = positions(layer.spec);
    const bool has_others = std::holds_alternative<Attention>(layer.spec) || is_recurrent(layer);  // keys and values; states
    const bool repeats = !has_others && std::ranges::any_of(layer.inputs, [&](int j) {
      return shapes[static_cast<std::size_t>(j)].height != shapes[i].height;
    });
    if (way == Positions::each_alone && shapes[i].width == 1 && !repeats) steps[i] = shapes[i].height;
    if (way == Positions::handed_on) steps[i] = steps[static_cast<std::size_t>(layer.inputs[0])];
  }
  return steps;
}

int directions(const LayerSpec& spec) {
  const Recurrent* recurrent = std::get_if<Recurrent>(&spec);
  return recurrent && recurrent->bidirectional ? 2 : 1;
}

sim::Op piece_of(const LayerOp& whole, int steps, int directions) {
  sim::Op op = whole.op;
  if (steps == 1) return op;
  const bool one_by_one = op.kind == sim::OpKind::rnn;
  const double pieces = one_by_one ? steps * directions : steps;
  op.flops = part(op.flops, pieces);
  op.bytes = part(op.bytes, pieces);
  op.workspace_bytes = part(op.workspace_bytes, pieces);
  if (one_by_one) {
    op.repeats = 1;
  } else {
    Affine& along = whole.sums_steps ? op.matrix.k : op.matrix.m;
    along = part(along, pieces);
  }
  if (whole.sums_steps) return op;
  op.output_bytes = part(op.output_bytes, pieces);
  op.output_shape[1] /= steps;
  if (one_by_one) op.output_shape[0] /= directions;
  return op;
}

}  // namespace rehearse::workloads
