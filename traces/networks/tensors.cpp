#include "traces/networks/tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace rehearse::traces {

using workloads::Shape;

std::int64_t count_of(const Sizes& sizes) {
  std::int64_t all = 1;
  for (const int size : sizes) all = std::min(all * std::max(size, 0), kMostNumbers);
  return all;
}

Shape natural_shape(const Sizes& sizes, bool channels_first) {
  const auto side = [&](std::size_t i) { return sizes[i]; };
  if (sizes.size() < 2) return {sizes.empty() ? 1 : side(0), 1, 1};
  if (sizes.size() == 3) return channels_first ? Shape{side(0), side(1), side(2)} : Shape{side(2), side(0), side(1)};
  const int width = side(sizes.size() - 1);
  return {width, static_cast<int>(count_of(sizes) / std::max(1, width)), 1};
}

std::optional<Arrangement> arrange(const std::vector<Sizes>& sizes, const std::vector<Shape>& shapes, int special) {
  struct Group {
    Sizes sizes;  ///< of each tensor
    bool is_special = false;
    std::vector<bool> full() const {
      std::vector<bool> whole;
      for (const int size : sizes) whole.push_back(size == *std::ranges::max_element(sizes));
      return whole;
    }
  };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < sizes[0].size(); ++i) {
    Group group{.is_special = static_cast<int>(i) == special};
    for (const Sizes& one : sizes) group.sizes.push_back(one[i]);
    if (group.is_special || *std::ranges::max_element(group.sizes) > 1) groups.push_back(std::move(group));
  }
  while (groups.size() > 3) {
    std::size_t at = groups.size() - 1;
    const auto alike = [&] {
      return !groups[at].is_special && !groups[at - 1].is_special && groups[at].full() == groups[at - 1].full();
    };
    while (at > 0 && !alike()) --at;
    if (at == 0) return std::nullopt;
    for (std::size_t k = 0; k < sizes.size(); ++k)
      groups[at - 1].sizes[k] = static_cast<int>(count_of({groups[at - 1].sizes[k], groups[at].sizes[k]}));
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(at));
  }
  const std::size_t used = groups.size();
  groups.resize(3, {.sizes = Sizes(sizes.size(), 1)});
  using Order = std::array<std::size_t, 3>;
  const auto shapes_by = [&](const Order& order) {
    std::vector<Shape> made;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      made.push_back({groups[order[0]].sizes[k], groups[order[1]].sizes[k], groups[order[2]].sizes[k]});
    }
    return made;
  };
  const auto fitting = [&](const Order& order) {
    const std::vector<Shape> made = shapes_by(order);
    std::ptrdiff_t count = 0;
    for (std::size_t k = 0; k < made.size(); ++k) count += made[k] == shapes[k];
    return count;
  };
  Order best = used == 2 ? Order{1, 0, 2} : Order{0, 1, 2}, other{0, 1, 2};
  do
    if (fitting(other) > fitting(best)) best = other;
  while (std::ranges::next_permutation(other).found);
  const auto slot = std::ranges::find_if(best, [&](std::size_t i) { return groups[i].is_special; }) - best.begin();
  return Arrangement{shapes_by(best), slot < 3 ? static_cast<workloads::Axis>(slot) : workloads::Axis::channels};
}

std::vector<Sizes> of_one_rank(std::vector<Sizes> sizes) {
  std::size_t rank = 0;
  for (const Sizes& one : sizes) rank = std::max(rank, one.size());
  for (Sizes& one : sizes) one.insert(one.begin(), rank - one.size(), 1);
  return sizes;
}

Sizes broadcast_sizes(const std::vector<Sizes>& of_one_rank) {
  Sizes made = of_one_rank[0];
  for (const Sizes& one : of_one_rank)
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = std::max(made[i], one[i]);
  return made;
}

namespace {

/// Kinds of layers that have weights.
template <class Spec>
constexpr bool trains = false;
template <>
constexpr bool trains<workloads::Conv> = true;
template <>
constexpr bool trains<workloads::TransposedConv> = true;
template <>
constexpr bool trains<workloads::Dense> = true;
template <>
constexpr bool trains<workloads::BatchNorm> = true;
template <>
constexpr bool trains<workloads::LayerNorm> = true;
template <>
constexpr bool trains<workloads::Embedding> = true;
template <>
constexpr bool trains<workloads::Recurrent> = true;

}  // namespace

bool has_zeros(const ShapedTensor& tensor) { return tensor.zeros != std::array<int, 4>{}; }

ShapedTensor TensorNetwork::input(std::string name, Sizes sizes, const Shape& natural) {
  inputs_.push_back({std::move(name), natural});
  return {.shape = natural, .sizes = std::move(sizes), .input = static_cast<int>(inputs_.size()) - 1};
}

int TensorNetwork::layer_of(const std::string& name, const ShapedTensor& tensor, std::optional<Shape> wanted) {
  int layer = tensor.layer;
  Shape shape = tensor.shape;
  if (tensor.input >= 0) {
    InputOf& input = inputs_[static_cast<std::size_t>(tensor.input)];
    if (input.layer < 0) {
      if (wanted) input.shape = *wanted;
      input.layer = put(input.name, workloads::Input{input.shape}, {});
    }
    layer = input.layer;
    shape = input.shape;
  }
  if (has_zeros(tensor)) {
    shape.height += tensor.zeros[0] + tensor.zeros[1];
    shape.width += tensor.zeros[2] + tensor.zeros[3];
    layer = put(name + "/zeros", workloads::Resize{shape}, {layer});
  }
  return !wanted || *wanted == shape ? layer : put(name + "/reshape", workloads::Rearrange{*wanted}, {layer});
}

std::string TensorNetwork::unique(const std::string& name) {
  const int times = ++names_[name];
  return times == 1 ? name : unique(fmt::format("{}:{}", name, times));
}

int TensorNetwork::put(const std::string& name, workloads::LayerSpec spec, std::vector<int> inputs, const std::string& weights) {
  const bool has_weights = std::visit([](const auto& of) { return trains<std::decay_t<decltype(of)>>; }, spec);
  const auto owner = has_weights ? owners_.find(weights) : owners_.end();
  const int layer = net_.add(unique(name), std::move(spec), std::move(inputs), owner == owners_.end() ? -1 : owner->second);
  if (has_weights && !weights.empty()) owners_.try_emplace(weights, layer);
  return layer;
}

workloads::Network TensorNetwork::finish(const ShapedTensors& results) {
  std::set<int> done;
  if (net_.good())
    for (const ShapedTensor& result : results) {
      const int layer = layer_of("output", result);
      if (done.insert(layer).second) put("loss", workloads::Loss{}, {layer});
    }
  return net_.finish();
}

}  // namespace rehearse::traces
