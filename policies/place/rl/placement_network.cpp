#include "policies/place/rl/placement_network.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace rehearse::policies
