#include "policies/place/rl/seq2seq_placer.hpp"

#include <cmath>

#include "policies/learn/nn/initialise.hpp"

namespace rehearse::policies {

std::int32_t drawn(std::span<const double> log_probabilities, double uniform) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < log_probabilities.size(); ++i) {
    sum += std::exp(log_probabilities[i]);
    if (uniform < sum) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(log_probabilities.size()) - 1;
}

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

PlacementSamples Seq2SeqPlacer::sample(Tape& tape, std::span<sim::Random> streams) const {
  const std::size_t samples = streams.size(), groups = features_.group.size();
  const Var memory = encode(tape), keys = attention_.keys(tape, memory), projected = decoder_.project(tape, memory);
  const Var devices = tape.parameter(device_embedding_);
  PlacementSamples result{
      .placements = std::vector<DeviceOfGroup>(samples, DeviceOfGroup(groups)), .log_probability = {}, .entropy = {}};
  std::vector<std::int32_t> choice(samples, devices_), row(samples);
  std::vector<Var> picked, entropies;
  LstmCell::State state = decoder_.begin(tape, static_cast<Eigen::Index>(samples));
  for (std::size_t r = 0; r < groups; ++r) {
    row.assign(samples, static_cast<std::int32_t>(r));
    state = decoder_.step(tape, tape.add(tape.gather(projected, row), tape.gather(devices, choice)), state);
    const Var context = tape.matmul(tape.softmax(attention_.scores(tape, state.h, keys)), memory);
    const Var scores = clip_scores(tape, output_(tape, tape.side_by_side({state.h, context})), size_.clip);
    const Var log_probabilities = tape.log_softmax(scores);
    const ConstMatrixView values = tape.value(log_probabilities);
    for (std::size_t s = 0; s < samples; ++s) {
      choice[s] = drawn(row_of(values, static_cast<Eigen::Index>(s)), streams[s].uniform());
      result.placements[s][static_cast<std::size_t>(features_.group[r])] = choice[s];
    }
    picked.push_back(tape.pick(log_probabilities, choice));
    entropies.push_back(tape.entropy(log_probabilities));
  }
  result.log_probability = tape.row_sum(tape.side_by_side(picked));
  result.entropy = tape.mean(tape.side_by_side(entropies));
  return result;
}

}  // namespace rehearse::policies
