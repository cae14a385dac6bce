// A network that places graphs and machines of any size: messages between neighbours make an embedding of each group (Placeto:
// Addanki et al., NeurIPS 2019, section 3.2; GDP: Zhou et al., arXiv:1910.01578, section 3.1), and each device is judged for
// it by what stands there already. What it learns on some graphs can be used on others.
#include <algorithm>
#include <cmath>

#include "policies/place/rl/placers.hpp"

namespace rehearse::policies {

namespace {

/// Untrained, a device on which a group would end late is this much less likely, in nats.
constexpr double kHaste = 3;
constexpr ScoreClip kClip{.temperature = 1, .bound = 5};

/// The longest way through the groups from each one to the last (after) or from the first (before), itself included.
std::vector<double> longest(const PlacementCosts& costs, std::span<const std::int32_t> order) {
  std::vector<double> way(order.size(), 0);
  std::vector<bool> seen(order.size(), false);
  for (const std::int32_t group : order) {
    const auto g = static_cast<std::size_t>(group);
    for (const PlacementGraph::Arc& arc : costs.graph().arcs(group)) {
      const auto other = static_cast<std::size_t>(arc.group);
      if (seen[other]) way[g] = std::max(way[g], way[other]);
    }
    way[g] += costs.shortest(group);
    seen[g] = true;
  }
  return way;
}

/// Means over neighbours that stand before a group in the order; its transpose's rows are not means, so both ways are made.
Matrix neighbour_means(const PlacementGraph& graph, bool before) {
  const Eigen::Index n = graph.groups();
  std::vector<Eigen::Index> row(static_cast<std::size_t>(n));
  for (Eigen::Index r = 0; r < n; ++r) row[static_cast<std::size_t>(graph.order()[static_cast<std::size_t>(r)])] = r;
  Matrix means = Matrix::Zero(n, n);
  for (Eigen::Index r = 0; r < n; ++r) {
    for (const PlacementGraph::Arc& arc : graph.arcs(graph.order()[static_cast<std::size_t>(r)])) {
      const Eigen::Index other = row[static_cast<std::size_t>(arc.group)];
      if ((other < r) == before) means(r, other) = 1;
    }
    const double count = means.row(r).sum();
    if (count > 0) means.row(r) /= count;
  }
  return means;
}

Matrix node_features(const PlacementView& view, const PlacementCosts& costs) {
  const PlacementGraph& graph = costs.graph();
  const GroupFeatures shared = group_features(view, graph);
  const std::vector<std::int32_t>& order = graph.order();
  const std::vector<std::int32_t> backwards(order.rbegin(), order.rend());
  const std::vector<double> before = longest(costs, order), after = longest(costs, backwards);
  const double way = std::max(*std::max_element(before.begin(), before.end()), 1e-9);
  const Eigen::Index n = graph.groups();
  Matrix nodes(n, GraphLayers::kNodeFeatures);
  nodes << shared.kinds, shared.sizes, Matrix::Zero(n, GraphLayers::kNodeFeatures - kOpKinds - kOutputSizes);
  for (Eigen::Index r = 0; r < n; ++r) {
    const std::int32_t g = order[static_cast<std::size_t>(r)];
    std::int64_t bytes = 0;
    for (const PlacementGraph::Arc& arc : graph.arcs(g)) bytes += arc.bytes();
    auto f = nodes.row(r).tail(GraphLayers::kNodeFeatures - kOpKinds - kOutputSizes);
    f[0] = std::log1p(costs.shortest(g));
    f[1] = static_cast<double>(r) / static_cast<double>(n);
    f[2] = before[static_cast<std::size_t>(g)] / way;
    f[3] = after[static_cast<std::size_t>(g)] / way;
    f[4] = std::log1p(static_cast<double>(graph.arcs(g).size()));
    f[5] = std::log1p(costs.mean_transfer(bytes));
    f[6] = costs.memory_share(g, costs.devices() - 1);
  }
  return nodes;
}

}  // namespace

GraphLayers::GraphLayers(LayerMaker make)
    : input_(make, "input", {kNodeFeatures, kUnits}),
      group_(make, "group", {kUnits, kHidden}),
      device_(make, "device", {kDeviceFeatures, kHidden}),
      output_(make, "output", {.inputs = kHidden, .outputs = 1, .gain = 0.1}) {
  for (int k = 0; k < kRounds; ++k) {
    const std::string name = "round" + std::to_string(k);
    rounds_.push_back({.own = Linear(make, name + "/own", {kUnits, kUnits}),
                       .from = Linear(make, name + "/from", {kUnits, kUnits}),
                       .to = Linear(make, name + "/to", {kUnits, kUnits})});
  }
}

NetworkBlueprint GraphLayers::blueprint() {
  ParameterSet parameters;
  sim::Random random(0);
  const GraphLayers layers({parameters, random});
  return policies::blueprint(kKind, parameters);
}

GraphPlacer::GraphPlacer(const GraphLayers& layers, const PlacementView& view)
    : layers_(layers),
      costs_(view),
      nodes_(node_features(view, costs_)),
      from_(neighbour_means(costs_.graph(), true)),
      to_(neighbour_means(costs_.graph(), false)) {}

Var GraphPlacer::embed(Tape& tape) const {
  Var h = tape.tanh(layers_.input_(tape, tape.constant(nodes_)));
  const Var from = tape.constant(from_), to = tape.constant(to_);
  for (const GraphLayers::Round& round : layers_.rounds_) {
    const Var messages = tape.add(round.from(tape, tape.matmul(from, h)), round.to(tape, tape.matmul(to, h)));
    h = tape.add(h, tape.tanh(tape.add(round.own(tape, h), messages)));
  }
  return h;
}

PlacementSamples GraphPlacer::sample(Tape& tape, const PlacementRows& rows) const {
  const std::size_t batch = rows.count(), devices = static_cast<std::size_t>(costs_.devices());
  const Var groups = layers_.group_(tape, embed(tape));
  RowChoices choices(rows, static_cast<std::size_t>(costs_.graph().groups()));
  std::vector<PartialPlacement> partial(batch, PartialPlacement(costs_));
  std::vector<double> features(batch * devices * kDeviceFeatures), haste(batch * devices);
  for (std::int32_t r = 0; r < costs_.graph().groups(); ++r) {
    const std::int32_t group = costs_.graph().order()[static_cast<std::size_t>(r)];
    for (std::size_t s = 0; s < batch; ++s)
      partial[s].describe(group, std::span(features).subspan(s * devices * kDeviceFeatures, devices * kDeviceFeatures));
    for (std::size_t i = 0; i < haste.size(); ++i) haste[i] = -kHaste * features[i * kDeviceFeatures + kLateness];
    const Shape pairs{static_cast<Eigen::Index>(batch * devices), kDeviceFeatures};
    const Var seen = layers_.device_(tape, tape.constant(pairs, features));
    const Var hidden = tape.tanh(tape.add(seen, tape.gather(groups, std::span(&r, 1))));
    const Shape shape{static_cast<Eigen::Index>(batch), static_cast<Eigen::Index>(devices)};
    const Var judged = clip_scores(tape, tape.reshape(layers_.output_(tape, hidden), shape), kClip);
    const auto chosen = choices.choose(tape, group, tape.log_softmax(tape.add(judged, tape.constant(shape, haste))));
    for (std::size_t s = 0; s < batch; ++s) partial[s].place(group, chosen[s]);
  }
  return choices.take(tape);
}

}  // namespace rehearse::policies
