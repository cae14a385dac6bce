// The hand-made placements of Mirhoseini et al. 2017 (section 4.2): recurrent networks layer by layer over the GPUs, attention
// and softmax apart (Sutskever et al. 2014; Wu et al. 2016); others in contiguous parts that take equally long.
#include <algorithm>
#include <map>

#include "policies/place/methods/methods.hpp"
#include "policies/place/placement_graph.hpp"

namespace rehearse::policies {

namespace {

/// What decides about a layer.
struct LayerFacts {
  bool recurrent = false, attention = false, product = false;
};

std::map<int, LayerFacts> facts_of(const sim::StepGraph& graph) {
  std::map<int, LayerFacts> layers;
  for (int i = 0; i < graph.ops(); ++i) {
    const sim::StepOp& op = graph.op(i);
    if (op.phase != sim::Phase::forward) continue;
    LayerFacts& layer = layers[op.layer];
    layer.recurrent = layer.recurrent || op.kind == sim::OpKind::rnn;
    layer.attention = layer.attention || op.name.starts_with("attention");
    layer.product = layer.product || op.kind == sim::OpKind::gemm;
  }
  return layers;
}

/// The unit of each layer, from 0; empty when no layer is recurrent.
std::map<int, int> units_of(const sim::StepGraph& graph) {
  const std::map<int, LayerFacts> layers = facts_of(graph);
  int last_recurrent = -1;
  for (const auto& [layer, facts] : layers)
    if (facts.recurrent) last_recurrent = layer;
  std::map<int, int> units;
  if (last_recurrent < 0) return units;
  int unit = -1;
  bool in_attention = false, softmax_begun = false;
  for (const auto& [layer, facts] : layers) {
    const bool softmax = layer > last_recurrent && facts.product && !facts.attention && !softmax_begun;
    if (facts.recurrent || softmax || (facts.attention && !in_attention)) ++unit;
    in_attention = facts.attention;
    softmax_begun = softmax_begun || softmax;
    units[layer] = std::max(unit, 0);  // what stands before the first LSTM layer goes with it
  }
  return units;
}

/// The layer of each group's first forward operation; of a group without one, of its first operation.
std::vector<int> layers_of_groups(const PlacementView& view) {
  std::vector<int> layer(static_cast<std::size_t>(view.groups().count), -1);
  for (const bool forward : {true, false})
    for (const std::int32_t op : view.graph().topological_order()) {
      int& of_group = layer[static_cast<std::size_t>(view.group_of(op))];
      if (of_group < 0 && (!forward || view.graph().op(op).phase == sim::Phase::forward)) of_group = view.graph().op(op).layer;
    }
  return layer;
}

DeviceOfGroup contiguous_parts(const PlacementView& view, const std::vector<std::int32_t>& gpus) {
  const PlacementGraph graph(view);
  const auto all = static_cast<double>(graph.work(gpus.front()));
  DeviceOfGroup answer(static_cast<std::size_t>(graph.groups()), gpus.front());
  double before = 0;
  for (const std::int32_t g : graph.order()) {
    const auto work = static_cast<double>(graph.duration(g, gpus.front()));
    const double middle = all > 0 ? (before + work / 2) / all : 0;
    const auto part = static_cast<std::size_t>(middle * static_cast<double>(gpus.size()));
    answer[static_cast<std::size_t>(g)] = gpus[std::min(part, gpus.size() - 1)];
    before += work;
  }
  return answer;
}

}  // namespace

DeviceOfGroup Expert::place(const PlacementView& view, PlacementEvaluator&) {
  const std::vector<std::int32_t> gpus = gpus_or_all(view.machine());
  const std::map<int, int> units = units_of(view.graph());
  if (units.empty()) return contiguous_parts(view, gpus);
  const auto count = static_cast<std::size_t>(units.rbegin()->second) + 1;
  DeviceOfGroup answer;
  for (const int layer : layers_of_groups(view)) {
    const auto found = units.find(layer);
    const std::size_t unit = found == units.end() ? 0 : static_cast<std::size_t>(found->second);
    answer.push_back(gpus[unit * gpus.size() / count]);
  }
  return answer;
}

}  // namespace rehearse::policies
