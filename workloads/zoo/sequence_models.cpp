// Recurrent models: two LSTM language models, sequence-to-sequence translation with attention, DeepSpeech-2.
//
// BERT-base with the question-answering head (Devlin et al., NAACL 2019) and GPT-2 small (Radford et al. 2019).
#include <fmt/format.h>

#include "workloads/layers/structure.hpp"
#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {

/// "Large" of Zaremba et al., "Recurrent Neural Network Regularization", 2014: two layers of 1500, 66 M parameters.
Network rnnlm(const Dataset& sample) {
  constexpr int kHidden = 1500;
  Network net{"rnnlm", {}};
  net.add("tokens", Input{sample.shape});
  net.add("embedding", Embedding{sample.classes, kHidden});
  for (int i = 1; i <= 2; ++i) {
    net.add(fmt::format("dropout{}", i), Dropout{});
    net.add(fmt::format("lstm{}", i), Recurrent{Cell::lstm, kHidden});
  }
  net.add("dropout3", Dropout{});
  net.add("classifier", Dense{sample.classes});
  net.add("loss", Loss{});
  return net;
}

/// "LSTM-8192-1024" of Jozefowicz et al., "Exploring the Limits of Language Modeling", 2016, arXiv:1602.02410, section 3 and
/// Table 1: two layers of 8192 projected to 1024, 1.8 B parameters. The softmax is over the whole vocabulary; the publication
/// trains with 8,192 samples of it.
Network big_lstm(const Dataset& sample) {
  constexpr int kHidden = 8192, kProjected = 1024;
  Network net{"big-lstm", {}};
  net.add("tokens", Input{sample.shape});
  net.add("embedding", Embedding{sample.classes, kProjected});
  net.add("dropout0", Dropout{});
  for (int i = 1; i <= 2; ++i) {
    net.add(fmt::format("lstm{}", i), Recurrent{.cell = Cell::lstm, .hidden = kHidden, .projection = kProjected});
    net.add(fmt::format("dropout{}", i), Dropout{});
  }
  net.add("classifier", Dense{sample.classes});
  net.add("loss", Loss{});
  return net;
}

/// GNMT (Wu et al. 2016, section 3) in the size of MLPerf v0.5: 4 + 4 LSTM layers of 1024.
Network nmt(const Dataset& sample) {
  Network net = make_network(TranslationStructure{.layers = 4,
                                                  .hidden = 1024,
                                                  .source_steps = sample.shape.height,
                                                  .target_steps = sample.shape.height,
                                                  .vocabulary = sample.classes});
  net.name = "nmt";
  return net;
}

/// Amodei et al., ICML 2016: two 2-D convolutions, five bidirectional recurrent layers with summed directions and batch norm, one
/// dense layer. Widths of the usual open implementation on LibriSpeech (GRU, 800 hidden units; 40.9 M parameters).
Network deepspeech2(const Dataset& sample) {
  constexpr int kHidden = 800;
  Network net{"deepspeech2", {}};
  net.add("spectrogram", Input{sample.shape});
  const Window windows[] = {{41, 11, 2, 2, 20, 5}, {21, 11, 2, 1, 10, 5}};
  for (int i = 0; i < 2; ++i) {
    const std::string name = fmt::format("conv{}", i + 1);
    net.add(name, Conv{32, windows[i]});
    net.add(name + "/bn", BatchNorm{});
    net.add(name + "/clipped_relu", Activation{});
  }
  net.add("to_sequence", ToSequence{});
  for (int i = 1; i <= 5; ++i) {
    if (i > 1) net.add(fmt::format("gru{}/bn", i), BatchNorm{});
    net.add(fmt::format("gru{}", i), Recurrent{Cell::gru, kHidden, true, true});
  }
  net.add("bn", BatchNorm{});
  net.add("classifier", Dense{sample.classes, false});
  net.add("loss", Loss{});
  return net;
}

Network bert(const Dataset& sample) {
  constexpr int kWidth = 768, kVocabulary = 30'522, kPositions = 512, kSegments = 2;
  Network net{"bert", {}};
  const int tokens = net.add("tokens", Input{sample.shape});
  const int words = net.add("embedding/words", Embedding{kVocabulary, kWidth}, {tokens});
  const int positions = net.add("embedding/positions", Embedding{kPositions, kWidth}, {tokens});
  const int segments = net.add("embedding/segments", Embedding{kSegments, kWidth}, {tokens});
  net.add("embedding/add", Add{}, {words, positions, segments});
  net.add("embedding/norm", LayerNorm{});
  int from = net.add("embedding/dropout", Dropout{});
  for (int i = 1; i <= 12; ++i) from = transformer_block(net, fmt::format("layer{}", i), from, {kWidth, 12, false});
  net.add("answer", Dense{sample.classes}, {from});
  net.add("loss", Loss{});
  return net;
}

Network gpt2(const Dataset& sample) {
  constexpr int kWidth = 768, kPositions = 1024;
  Network net{"gpt2", {}};
  const int tokens = net.add("tokens", Input{sample.shape});
  const int words = net.add("embedding/words", Embedding{sample.classes, kWidth}, {tokens});
  const int positions = net.add("embedding/positions", Embedding{kPositions, kWidth}, {tokens});
  net.add("embedding/add", Add{}, {words, positions});
  int from = net.add("embedding/dropout", Dropout{});
  for (int i = 1; i <= 12; ++i) from = transformer_block(net, fmt::format("layer{}", i), from, {kWidth, 12, true});
  net.add("norm", LayerNorm{}, {from});
  net.add("classifier", Dense{sample.classes, false});
  net.layers.back().shares = words;
  net.add("loss", Loss{});
  return net;
}

}  // namespace rehearse::workloads
