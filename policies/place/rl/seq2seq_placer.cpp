// The network of "Device placement optimization with reinforcement learning" (Mirhoseini et al., ICML 2017, section 3.2): an LSTM
// reads the groups; another one, with attention to what the first made of them, names a device for each, and reads the
// device that it named before.
#include "policies/learn/nn/parameter_set.hpp"
#include "policies/place/rl/placers.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
