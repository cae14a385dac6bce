// Recurrent models: an LSTM language model, sequence-to-sequence translation with attention, DeepSpeech-2.
#include <fmt/format.h>

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

/// GNMT (Wu et al. 2016, section 3) in the size of MLPerf v0.5: 4 + 4 LSTM layers of 1024, the first of the encoder
/// bidirectional, residual connections from the third on, additive attention (counted as a product of equal size) from the first
/// decoder layer whose context feeds the others, one embedding for both languages.
Network nmt(const Dataset& sample) {
  constexpr int kHidden = 1024, kLayers = 4;
  Network net{"nmt", {}};
  net.add("source", Input{sample.shape});
  const int embedding = net.add("source/embedding", Embedding{sample.classes, kHidden});
  net.add("encoder1", Recurrent{Cell::lstm, kHidden, true});
  net.add("encoder1/dropout", Dropout{});
  int memory = net.add("encoder2", Recurrent{Cell::lstm, kHidden});
  for (int i = 3; i <= kLayers; ++i) {
    const std::string name = fmt::format("encoder{}", i);
    net.add(name + "/dropout", Dropout{}, {memory});
    const int lstm = net.add(name, Recurrent{Cell::lstm, kHidden});
    memory = net.add(name + "/add", Add{}, {memory, lstm});
  }

  net.add("target", Input{sample.shape});
  net.add("target/embedding", Embedding{sample.classes, kHidden});
  net.layers.back().shares = embedding;
  int state = net.add("decoder1", Recurrent{Cell::lstm, kHidden});
  const int query = net.add("attention/query", Dense{kHidden, false}, {state});
  const int key = net.add("attention/key", Dense{kHidden, false}, {memory});
  const int context = net.add("attention", Attention{1}, {query, key, memory});
  for (int i = 2; i <= kLayers; ++i) {
    const std::string name = fmt::format("decoder{}", i);
    const int dropped = net.add(name + "/dropout", Dropout{}, {state});
    net.add(name + "/concat", Concat{}, {dropped, context});
    const int lstm = net.add(name, Recurrent{Cell::lstm, kHidden});
    state = i == 2 ? lstm : net.add(name + "/add", Add{}, {state, lstm});
  }
  net.add("classifier", Dense{sample.classes}, {state});
  net.add("loss", Loss{});
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

}  // namespace rehearse::workloads
