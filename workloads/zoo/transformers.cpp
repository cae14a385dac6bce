// BERT-base with the question-answering head (Devlin et al., NAACL 2019) and GPT-2 small (Radford et al. 2019).
#include <fmt/format.h>

#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {

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
