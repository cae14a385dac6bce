#include "workloads/layers/account.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.hpp"
#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {

namespace {

constexpr std::size_t kMostShapes = 4;

template <class Spec>
bool is_a(const Layer& layer) {
  return std::holds_alternative<Spec>(layer.spec);
}

/// "input 1000", "inputs 1000 and 2 more".
std::string shapes_words(const char* what, const std::vector<Shape>& shapes) {
  std::string text = fmt::format("{}{} ", what, shapes.size() == 1 ? "" : "s");
  if (shapes.empty()) return text + "none";
  for (std::size_t i = 0; i < std::min(kMostShapes, shapes.size()); ++i) text += (i == 0 ? "" : " and ") + shape_words(shapes[i]);
  if (shapes.size() > kMostShapes) text += fmt::format(" and {} more", shapes.size() - kMostShapes);
  return text;
}

}  // namespace

NetworkAccount account_of(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  NetworkAccount account;
  std::vector<bool> is_read(network.layers.size());
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    std::vector<Shape> in;
    for (const int from : layer.inputs) {
      in.push_back(shapes[static_cast<std::size_t>(from)]);
      if (!is_a<Loss>(layer)) is_read[static_cast<std::size_t>(from)] = true;
    }
    const LayerCost cost = layer_cost(layer.spec, in, shapes[i]);
    const LayerAccount& of =
        account.of_layer.emplace_back(LayerAccount{shapes[i], layer.shares < 0 ? cost.parameters() : 0, cost.multiply_adds()});
    if (is_a<Input>(layer)) account.inputs.push_back(of.output);
    if (is_a<Input>(layer) || is_a<Loss>(layer)) continue;
    ++account.layers;
    account.products += of.multiply_adds > 0;
    account.weights += of.weights;
    account.multiply_adds += of.multiply_adds;
    account.has_attention = account.has_attention || (of.multiply_adds > 0 && cost.weights == 0 && layer.inputs.size() > 1);
  }
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    if (!is_read[i] && !is_a<Loss>(network.layers[i])) account.outputs.push_back(shapes[i]);
  return account;
}

std::string shape_words(const Shape& shape) {
  if (shape.width > 1) return fmt::format("{} x {} x {}", shape.channels, shape.height, shape.width);
  return shape.height > 1 ? fmt::format("{} steps of {}", shape.height, shape.channels) : fmt::format("{}", shape.channels);
}

std::string count_words(double count) {
  constexpr int kDigits = 4;
  if (count >= 1e9) return sim::figure(count / 1e9, kDigits) + " G";
  return count >= 1e6 ? sim::figure(count / 1e6, kDigits) + " M" : sim::figure(count, kDigits);
}

std::string account_words(const NetworkAccount& account) {
  return fmt::format("{} ({} with matrix products), {} weights, {} multiply-adds a sample; {}, {}",
                     sim::counted(account.layers, "layer"), account.products, count_words(account.weights),
                     count_words(account.multiply_adds), shapes_words("input", account.inputs),
                     shapes_words("output", account.outputs));
}

}  // namespace rehearse::workloads
