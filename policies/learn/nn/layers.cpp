#include "policies/learn/nn/layers.hpp"

#include <cmath>

#include "policies/learn/nn/parameter_set.hpp"

namespace rehearse::policies {

namespace {

ParameterId add_weight(LayerMaker make, const std::string& name, Shape shape, double gain = 1) {
  return make.parameters.add(name, glorot_uniform(shape, gain, make.random));
}

}  // namespace

Linear::Linear(LayerMaker make, const std::string& name, Size size)
    : weight_(add_weight(make, name + "/weight", {size.inputs, size.outputs}, size.gain)),
      bias_(make.parameters.add(name + "/bias", Matrix::Zero(1, size.outputs))) {}

Var Linear::operator()(Tape& tape, Var x) const {
  return tape.add(tape.matmul(x, tape.parameter(weight_)), tape.parameter(bias_));
}

Mlp::Mlp(LayerMaker make, const std::string& name, const Size& size) : activation_(size.activation) {
  Eigen::Index inputs = size.inputs;
  for (const Eigen::Index outputs : size.hidden) {
    layers_.emplace_back(make, name + "/" + std::to_string(layers_.size()), Linear::Size{inputs, outputs});
    inputs = outputs;
  }
  layers_.emplace_back(make, name + "/" + std::to_string(layers_.size()), Linear::Size{inputs, size.outputs, size.output_gain});
}

Var Mlp::operator()(Tape& tape, Var x) const {
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    x = layers_[i](tape, x);
    x = activation_ == Activation::tanh ? tape.tanh(x) : tape.relu(x);
  }
  return layers_.back()(tape, x);
}

LstmCell::LstmCell(LayerMaker make, const std::string& name, Size size)
    : input_(make, name + "/input", {size.inputs, 4 * size.units}),
      recurrent_(add_weight(make, name + "/recurrent", {size.units, 4 * size.units})),
      units_(size.units) {
  make.parameters.value(input_.bias()).middleCols(units_, units_).setOnes();
}

LstmCell::State LstmCell::begin(Tape& tape, Eigen::Index rows) const {
  const Var zeros = tape.constant({rows, units_}, 0.0);
  return {zeros, zeros};
}

Var LstmCell::project(Tape& tape, Var x) const { return input_(tape, x); }

LstmCell::State LstmCell::step(Tape& tape, Var projected, State state) const {
  const Var gates = tape.add(tape.matmul(state.h, tape.parameter(recurrent_)), projected);
  const Var in_and_forget = tape.sigmoid(tape.columns(gates, 0, 2 * units_));
  const Var written = tape.multiply(tape.columns(in_and_forget, 0, units_), tape.tanh(tape.columns(gates, 2 * units_, units_)));
  const Var c = tape.add(tape.multiply(tape.columns(in_and_forget, units_, units_), state.c), written);
  const Var out = tape.sigmoid(tape.columns(gates, 3 * units_, units_));
  return {tape.multiply(out, tape.tanh(c)), c};
}

AdditiveAttention::AdditiveAttention(LayerMaker make, const std::string& name, Size size)
    : query_(add_weight(make, name + "/query", {size.query, size.units})),
      memory_(add_weight(make, name + "/memory", {size.memory, size.units})),
      direction_(add_weight(make, name + "/direction", {size.units, 1})) {}

Var AdditiveAttention::keys(Tape& tape, Var memory) const { return tape.matmul(memory, tape.parameter(memory_)); }

Var AdditiveAttention::scores(Tape& tape, Var query, Var keys) const {
  return tape.additive_scores(tape.matmul(query, tape.parameter(query_)), keys, tape.parameter(direction_));
}

ProductAttention::ProductAttention(LayerMaker make, const std::string& name, Size size)
    : query_(add_weight(make, name + "/query", {size.query, size.units})),
      memory_(add_weight(make, name + "/memory", {size.memory, size.units})) {}

Var ProductAttention::keys(Tape& tape, Var memory) const { return tape.matmul(memory, tape.parameter(memory_)); }

Var ProductAttention::scores(Tape& tape, Var query, Var keys) const {
  const Var products = tape.matmul_transposed(tape.matmul(query, tape.parameter(query_)), keys);
  return tape.scale(products, 1 / std::sqrt(static_cast<double>(tape.value(keys).cols())));
}

Var clip_scores(Tape& tape, Var scores, ScoreClip clip) {
  return tape.scale(tape.tanh(tape.scale(scores, 1 / clip.temperature)), clip.bound);
}

}  // namespace rehearse::policies
