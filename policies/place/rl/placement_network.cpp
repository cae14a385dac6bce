#include "policies/place/rl/placement_network.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace rehearse::policies {

std::int32_t drawn(std::span<const double> log_probabilities, double uniform) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < log_probabilities.size(); ++i) {
    sum += std::exp(log_probabilities[i]);
    if (uniform < sum) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(log_probabilities.size()) - 1;
}

RowChoices::RowChoices(const PlacementRows& rows, std::size_t groups)
    : rows_(rows), placements_(rows.count(), DeviceOfGroup(groups)), choice_(rows.count()) {}

std::span<const std::int32_t> RowChoices::choose(Tape& tape, std::int32_t group, Var log_probabilities) {
  const ConstMatrixView values = tape.value(log_probabilities);
  const auto g = static_cast<std::size_t>(group);
  const std::size_t sampled = rows_.drawn.size(), given = rows_.given.size();
  for (std::size_t r = 0; r < choice_.size(); ++r) {
    const auto row = row_of(values, static_cast<Eigen::Index>(r));
    if (r < sampled)
      choice_[r] = drawn(row, rows_.drawn[r].uniform());
    else if (r < sampled + given)
      choice_[r] = rows_.given[r - sampled][g];
    else
      choice_[r] = static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    placements_[r][g] = choice_[r];
  }
  picked_.push_back(tape.pick(log_probabilities, choice_));
  entropies_.push_back(tape.entropy(log_probabilities));
  return choice_;
}

PlacementSamples RowChoices::take(Tape& tape) {
  return {.placements = std::move(placements_),
          .log_probability = tape.row_sum(tape.side_by_side(picked_)),
          .entropy = tape.mean(tape.side_by_side(entropies_))};
}

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
