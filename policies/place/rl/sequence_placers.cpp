// The network of "Device placement optimization with reinforcement learning" (Mirhoseini et al., ICML 2017, section 3.2): an LSTM
// reads the groups; another one, with attention to what the first made of them, names a device for each, and reads the
// device that it named before.
//
// The network of "A hierarchical model for device placement" (Mirhoseini et al., ICLR 2018): a feed-forward grouper puts each
// group of co-located operations into one of a few bundles, an LSTM names a device for each bundle, and reads the device that it
// named before. Both are learnt together; a bundle moves as one.
#include <algorithm>
#include <cmath>

#include "policies/learn/nn/parameter_set.hpp"
#include "policies/place/rl/placers.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

std::int32_t largest(std::span<const double> row) {
  return static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

ConstMatrixView view_of(const Matrix& m) { return {m.data(), m.rows(), m.cols()}; }

/// kinds, sizes and neighbours side by side.
Matrix inputs_of(const GroupFeatures& f) {
  Matrix inputs(f.kinds.rows(), f.kinds.cols() + f.sizes.cols() + f.neighbours.cols());
  inputs << f.kinds, f.sizes, f.neighbours;
  return inputs;
}

}  // namespace

Seq2SeqPlacer::Seq2SeqPlacer(LayerMaker make, const GroupFeatures& features, int devices, Size size)
    : features_(features),
      devices_(devices),
      size_(size),
      kinds_(make, "kinds", {kOpKinds, size.kind_units}),
      sizes_(make, "sizes", {kOutputSizes, size.kind_units}),
      encoder_(make, "encoder", {2 * size.kind_units + features.neighbours.cols(), size.units}),
      decoder_(make, "decoder", {size.units, size.units}),
      device_embedding_(make.parameters.add("devices", glorot_uniform({devices + 1, 4 * size.units}, 1, make.random))),
      attention_(make, "attention", {size.units, size.units, size.units}),
      output_(make, "output", {.inputs = 2 * size.units, .outputs = devices, .gain = 0.1}) {}

Var Seq2SeqPlacer::encode(Tape& tape) const {
  const Var inputs = tape.side_by_side({kinds_(tape, tape.constant(features_.kinds)),
                                        sizes_(tape, tape.constant(features_.sizes)), tape.constant(features_.neighbours)});
  const Var projected = encoder_.project(tape, inputs);
  LstmCell::State state = encoder_.begin(tape, 1);
  std::vector<Var> rows;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(features_.group.size()); ++r) {
    state = encoder_.step(tape, tape.gather(projected, std::span(&r, 1)), state);
    rows.push_back(state.h);
  }
  return tape.stack(rows);
}

PlacementSamples Seq2SeqPlacer::sample(Tape& tape, const PlacementRows& rows) const {
  const std::size_t groups = features_.group.size();
  const Var memory = encode(tape), keys = attention_.keys(tape, memory), projected = decoder_.project(tape, memory);
  const Var devices = tape.parameter(device_embedding_);
  RowChoices choices(rows, groups);
  std::vector<std::int32_t> choice(rows.count(), devices_), row(rows.count());
  LstmCell::State state = decoder_.begin(tape, static_cast<Eigen::Index>(rows.count()));
  for (std::size_t r = 0; r < groups; ++r) {
    row.assign(row.size(), static_cast<std::int32_t>(r));
    state = decoder_.step(tape, tape.add(tape.gather(projected, row), tape.gather(devices, choice)), state);
    const Var context = tape.matmul(tape.softmax(attention_.scores(tape, state.h, keys)), memory);
    const Var scores = clip_scores(tape, output_(tape, tape.side_by_side({state.h, context})), size_.clip);
    const auto chosen = choices.choose(tape, features_.group[r], tape.log_softmax(scores));
    choice.assign(chosen.begin(), chosen.end());
  }
  return choices.take(tape);
}

Bundling explain(const ConstMatrixView& share, std::span<const std::int32_t> device_of_group, int devices) {
  const auto groups = static_cast<Eigen::Index>(device_of_group.size()), bundles = share.cols();
  sim::check(bundles >= devices, "a bundle for each device");
  Matrix votes = Matrix::Zero(bundles, devices);
  for (Eigen::Index g = 0; g < groups; ++g) votes.col(device_of_group[static_cast<std::size_t>(g)]) += share.row(g).transpose();
  Bundling result;
  std::vector<int> bundles_of(static_cast<std::size_t>(devices), 0);
  for (Eigen::Index b = 0; b < bundles; ++b) {
    result.device_of_bundle.push_back(largest(row_of(view_of(votes), b)));
    ++bundles_of[static_cast<std::size_t>(result.device_of_bundle.back())];
  }
  for (int device = 0; device < devices; ++device) {
    const bool is_used = std::find(device_of_group.begin(), device_of_group.end(), device) != device_of_group.end();
    if (!is_used || bundles_of[static_cast<std::size_t>(device)] > 0) continue;
    Eigen::Index gives = -1;
    for (Eigen::Index b = 0; b < bundles; ++b)
      if (bundles_of[static_cast<std::size_t>(result.device_of_bundle[static_cast<std::size_t>(b)])] > 1 &&
          (gives < 0 || votes(b, device) > votes(gives, device)))
        gives = b;
    auto& had = result.device_of_bundle[static_cast<std::size_t>(gives)];
    --bundles_of[static_cast<std::size_t>(had)];
    had = device;
    ++bundles_of[static_cast<std::size_t>(device)];
  }
  for (Eigen::Index g = 0; g < groups; ++g) {
    std::int32_t best = -1;
    for (Eigen::Index b = 0; b < bundles; ++b)
      if (result.device_of_bundle[static_cast<std::size_t>(b)] == device_of_group[static_cast<std::size_t>(g)] &&
          (best < 0 || share(g, b) > share(g, best)))
        best = static_cast<std::int32_t>(b);
    result.bundle_of_group.push_back(best);
  }
  return result;
}

HierarchicalPlacer::HierarchicalPlacer(LayerMaker make, const GroupFeatures& features, int devices, Size size)
    : features_(features),
      devices_(devices),
      bundles_(std::max(size.bundles, devices)),
      inputs_(inputs_of(features)),
      grouper_(make, "grouper", {.inputs = inputs_.cols(), .hidden = {size.hidden}, .outputs = bundles_}),
      bundle_(make, "bundle", {kOpKinds + kOutputSizes + 1 + bundles_, size.units}),
      placer_(make, "placer", {size.units, size.units}),
      device_embedding_(make.parameters.add("devices", glorot_uniform({devices + 1, 4 * size.units}, 1, make.random))),
      output_(make, "output", {.inputs = size.units, .outputs = devices, .gain = 0.1}),
      clip_(size.clip) {}

/// A row for each bundle: mean kinds and sizes of its members, their share of all, and which bundles it exchanges tensors with.
Matrix HierarchicalPlacer::describe(std::span<const std::int32_t> bundle_of_group) const {
  const Eigen::Index groups = inputs_.rows(), own = kOpKinds + kOutputSizes;
  Matrix rows = Matrix::Zero(bundles_, own + 1 + bundles_);
  for (Eigen::Index g = 0; g < groups; ++g) {
    const Eigen::Index b = bundle_of_group[static_cast<std::size_t>(g)];
    rows.row(b).head(own) += inputs_.row(g).head(own);
    rows(b, own) += 1;
    for (Eigen::Index other = 0; other < groups; ++other)
      if (features_.neighbours(g, other) != 0) rows(b, own + 1 + bundle_of_group[static_cast<std::size_t>(other)]) = 1;
  }
  for (Eigen::Index b = 0; b < bundles_; ++b)
    if (rows(b, own) > 0) rows.row(b).head(own) /= rows(b, own);
  rows.col(own) /= static_cast<double>(groups);
  return rows;
}

PlacementSamples HierarchicalPlacer::sample(Tape& tape, const PlacementRows& rows) const {
  const std::size_t groups = features_.group.size(), count = rows.count(), drawn_rows = rows.drawn.size();
  const Var shares = tape.log_softmax(grouper_(tape, tape.constant(inputs_)));  // groups x bundles
  const Matrix log_share = tape.value(shares), share = log_share.array().exp();
  std::vector<Bundling> bundlings(count);
  Matrix descriptions(bundles_ * static_cast<Eigen::Index>(count), kOpKinds + kOutputSizes + 1 + bundles_);
  std::vector<Var> grouped;
  for (std::size_t r = 0; r < count; ++r) {
    Bundling& own = bundlings[r];
    if (r >= drawn_rows && r < drawn_rows + rows.given.size()) {
      std::vector<std::int32_t> device_of_row;
      for (const std::int32_t group : features_.group)
        device_of_row.push_back(rows.given[r - drawn_rows][static_cast<std::size_t>(group)]);
      own = explain(view_of(share), device_of_row, devices_);
    } else {
      for (std::size_t g = 0; g < groups; ++g) {
        const auto row = row_of(view_of(log_share), static_cast<Eigen::Index>(g));
        own.bundle_of_group.push_back(r < drawn_rows ? drawn(row, rows.drawn[r].uniform()) : largest(row));
      }
      own.device_of_bundle.resize(static_cast<std::size_t>(bundles_));
    }
    // Row b * count + r, so that one step of the LSTM reads one bundle of all rows.
    const Matrix described = describe(own.bundle_of_group);
    for (Eigen::Index b = 0; b < bundles_; ++b)
      descriptions.row(b * static_cast<Eigen::Index>(count) + static_cast<Eigen::Index>(r)) = described.row(b);
    grouped.push_back(tape.sum(tape.pick(shares, own.bundle_of_group)));
  }
  const Var projected = placer_.project(tape, tape.tanh(bundle_(tape, tape.constant(descriptions))));
  const Var devices = tape.parameter(device_embedding_);
  LstmCell::State state = placer_.begin(tape, static_cast<Eigen::Index>(count));
  std::vector<std::int32_t> choice(count, devices_), at(count);
  std::vector<Var> picked{tape.stack(grouped)}, entropies;
  std::vector<double> is_used(count);
  for (std::int32_t b = 0; b < bundles_; ++b) {
    for (std::size_t r = 0; r < count; ++r) at[r] = b * static_cast<std::int32_t>(count) + static_cast<std::int32_t>(r);
    state = placer_.step(tape, tape.add(tape.gather(projected, at), tape.gather(devices, choice)), state);
    const Var chances = tape.log_softmax(clip_scores(tape, output_(tape, state.h), clip_));
    const ConstMatrixView values = tape.value(chances);
    for (std::size_t r = 0; r < count; ++r) {
      Bundling& own = bundlings[r];
      std::int32_t& device = own.device_of_bundle[static_cast<std::size_t>(b)];
      const auto row = row_of(values, static_cast<Eigen::Index>(r));
      if (r < drawn_rows)
        device = drawn(row, rows.drawn[r].uniform());
      else if (r >= drawn_rows + rows.given.size())
        device = largest(row);
      choice[r] = device;
      is_used[r] = std::find(own.bundle_of_group.begin(), own.bundle_of_group.end(), b) != own.bundle_of_group.end() ? 1 : 0;
    }
    // Where an empty bundle would go says nothing.
    const Var used = tape.constant({static_cast<Eigen::Index>(count), 1}, is_used);
    picked.push_back(tape.multiply(tape.pick(chances, choice), used));
    entropies.push_back(tape.multiply(tape.entropy(chances), used));
  }
  PlacementSamples samples;
  for (const Bundling& own : bundlings) {
    DeviceOfGroup& placement = samples.placements.emplace_back(groups);
    for (std::size_t g = 0; g < groups; ++g)
      placement[static_cast<std::size_t>(features_.group[g])] =
          own.device_of_bundle[static_cast<std::size_t>(own.bundle_of_group[g])];
  }
  samples.log_probability = tape.row_sum(tape.side_by_side(picked));
  const double per_group = static_cast<double>(bundles_) / static_cast<double>(groups);
  samples.entropy = tape.add(tape.mean(tape.entropy(shares)), tape.scale(tape.mean(tape.side_by_side(entropies)), per_group));
  return samples;
}

}  // namespace rehearse::policies
