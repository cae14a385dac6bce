#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {

int conv_bn_relu(Network& net, const std::string& name, int from, int filters, const Window& window) {
  net.add(name, Conv{filters, window, 1, false}, {from});
  net.add(name + "/bn", BatchNorm{});
  return net.add(name + "/relu", Activation{});
}

void dense_relu(Network& net, const std::string& name, int units) {
  net.add(name, Dense{units});
  net.add(name + "/relu", Activation{});
}

void classify_pooled(Network& net, int classes) {
  net.add("pool", GlobalPool{});
  net.add("flatten", Flatten{});
  net.add("classifier", Dense{classes});
  net.add("loss", Loss{});
}

int transformer_block(Network& net, const std::string& name, int from, const TransformerBlock& block) {
  const auto norm = [&](const char* which, int input) { return net.add(name + which, LayerNorm{}, {input}); };
  const int attended = block.norm_first ? norm("/norm1", from) : from;
  const int query = net.add(name + "/query", Dense{block.width}, {attended});
  const int key = net.add(name + "/key", Dense{block.width}, {attended});
  const int value = net.add(name + "/value", Dense{block.width}, {attended});
  net.add(name + "/attention", Attention{block.heads}, {query, key, value});
  net.add(name + "/project", Dense{block.width});
  const int projected = net.add(name + "/dropout1", Dropout{});
  int sum = net.add(name + "/add1", Add{}, {from, projected});
  if (!block.norm_first) sum = norm("/norm1", sum);
  if (block.norm_first) norm("/norm2", sum);
  net.add(name + "/expand", Dense{4 * block.width});
  net.add(name + "/gelu", Activation{.in_place = false});
  net.add(name + "/contract", Dense{block.width});
  const int contracted = net.add(name + "/dropout2", Dropout{});
  const int out = net.add(name + "/add2", Add{}, {sum, contracted});
  return block.norm_first ? out : norm("/norm2", out);
}

}  // namespace rehearse::workloads
