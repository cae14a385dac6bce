#include "policies/place/rl/group_features.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace rehearse::policies {

namespace {

/// Bytes of the tensors of each group that others read, the largest first.
std::vector<std::vector<std::int64_t>> outputs_of(const PlacementView& view) {
  std::vector<std::vector<std::int64_t>> outputs(static_cast<std::size_t>(view.groups().count));
  for (int t = 0; t < view.graph().tensors(); ++t) {
    const int from = view.group_of(view.graph().tensor(t).producer);
    const auto readers = view.graph().readers_of(t);
    if (std::any_of(readers.begin(), readers.end(), [&](std::int32_t reader) { return view.group_of(reader) != from; }))
      outputs[static_cast<std::size_t>(from)].push_back(view.graph().tensor(t).bytes);
  }
  for (auto& sizes : outputs) std::sort(sizes.begin(), sizes.end(), std::greater<>());
  return outputs;
}

}  // namespace

GroupFeatures group_features(const PlacementView& view, const PlacementGraph& graph) {
  const Eigen::Index n = graph.groups();
  GroupFeatures features{.group = graph.order(),
                         .kinds = Matrix::Zero(n, kOpKinds),
                         .sizes = Matrix::Zero(n, kOutputSizes),
                         .neighbours = Matrix::Zero(n, n)};
  std::vector<Eigen::Index> row(static_cast<std::size_t>(n));
  for (Eigen::Index r = 0; r < n; ++r) row[static_cast<std::size_t>(features.group[static_cast<std::size_t>(r)])] = r;
  for (int op = 0; op < view.graph().ops(); ++op)
    features.kinds(row[static_cast<std::size_t>(view.group_of(op))], static_cast<int>(view.graph().op(op).kind)) += 1;
  for (Eigen::Index r = 0; r < n; ++r) features.kinds.row(r) /= features.kinds.row(r).sum();
  const auto outputs = outputs_of(view);
  for (int g = 0; g < graph.groups(); ++g) {
    const Eigen::Index r = row[static_cast<std::size_t>(g)];
    const auto& sizes = outputs[static_cast<std::size_t>(g)];
    for (std::size_t i = 0; i < std::min<std::size_t>(sizes.size(), kOutputSizes); ++i)
      features.sizes(r, static_cast<Eigen::Index>(i)) = std::log10(1 + static_cast<double>(sizes[i])) / 10;
    for (const PlacementGraph::Arc& arc : graph.arcs(g)) features.neighbours(r, row[static_cast<std::size_t>(arc.group)]) = 1;
  }
  return features;
}

}  // namespace rehearse::policies
