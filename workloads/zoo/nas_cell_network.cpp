#include "workloads/zoo/nas_cell_network.hpp"

#include <fmt/format.h>

#include <vector>

namespace rehearse::workloads {

namespace {

constexpr int kCellsOfAStage = 5;
constexpr std::array kChannels{16, 32, 64};

struct Edge {
  std::size_t from, to;
};
/// In kNasEdges' order.
constexpr std::array<Edge, 6> kEdges{{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}};

/// Edges on a way from node 0 to node 3.
std::array<bool, 6> used_edges(const NasCell& cell) {
  std::array<bool, 4> begins{true}, ends{false, false, false, true};  // reached from node 0; reaches node 3
  for (std::size_t e = 0; e < kEdges.size(); ++e) begins[kEdges[e].to] |= cell[e] != NasOp::none && begins[kEdges[e].from];
  for (std::size_t e = kEdges.size(); e-- > 0;) ends[kEdges[e].from] |= cell[e] != NasOp::none && ends[kEdges[e].to];
  std::array<bool, 6> used{};
  for (std::size_t e = 0; e < kEdges.size(); ++e)
    used[e] = cell[e] != NasOp::none && begins[kEdges[e].from] && ends[kEdges[e].to];
  return used;
}

/// ReLU, convolution, batch norm; the last layer's index.
int add_conv(Network& net, const std::string& name, const Conv& conv, int input) {
  const int relu = net.add(name + "_relu", Activation{}, {input});
  const int product = net.add(name, conv, {relu});
  return net.add(name + "_norm", BatchNorm{}, {product});
}

Conv conv(int filters, int kernel, int stride = 1) { return {filters, square(kernel, stride, kernel / 2), 1, false}; }

int add_op(Network& net, const std::string& name, NasOp op, int channels, int input) {
  if (op == NasOp::conv_1x1) return add_conv(net, name, conv(channels, 1), input);
  if (op == NasOp::conv_3x3) return add_conv(net, name, conv(channels, 3), input);
  if (op == NasOp::avg_pool_3x3) return net.add(name + "_pool", Pool{Pooling::average, square(3, 1, 1)}, {input});
  return input;
}

int add_cell(Network& net, const std::string& name, const NasCell& cell, int channels, int input) {
  const std::array<bool, 6> used = used_edges(cell);
  std::array<int, 4> nodes{input, -1, -1, -1};
  for (std::size_t node = 1; node < nodes.size(); ++node) {
    std::vector<int> summed;
    for (std::size_t e = 0; e < kEdges.size(); ++e)
      if (kEdges[e].to == node && used[e])
        summed.push_back(add_op(net, fmt::format("{}_{}", name, kNasEdges[e]), cell[e], channels, nodes[kEdges[e].from]));
    if (summed.empty()) continue;
    nodes[node] = summed.size() == 1 ? summed[0] : net.add(fmt::format("{}_{}", name, node), Add{}, std::move(summed));
  }
  return nodes[3];
}

/// The published code's: two 3x3 convolutions, the first with stride 2, beside 2x2 average pooling and a 1x1 convolution.
int add_reduction(Network& net, const std::string& name, int channels, int input) {
  const int first = add_conv(net, name + "_a", conv(channels, 3, 2), input);
  const int second = add_conv(net, name + "_b", conv(channels, 3), first);
  const int pooled = net.add(name + "_pool", Pool{Pooling::average, square(2, 2)}, {input});
  const int shortcut = net.add(name + "_shortcut", conv(channels, 1), {pooled});
  return net.add(name, Add{}, {second, shortcut});
}

}  // namespace

std::optional<Network> nas_cell_network(const NasCell& cell, int classes) {
  if (used_edges(cell) == std::array<bool, 6>{}) return std::nullopt;
  Network net{to_string(cell), {}};
  net.add("input", Input{{3, 32, 32}});
  net.add("stem", conv(kChannels[0], 3));
  int last = net.add("stem_norm", BatchNorm{});
  for (std::size_t stage = 0; stage < kChannels.size(); ++stage) {
    if (stage > 0) last = add_reduction(net, fmt::format("reduction{}", stage), kChannels[stage], last);
    for (int i = 1; i <= kCellsOfAStage; ++i)
      last = add_cell(net, fmt::format("cell{}.{}", stage + 1, i), cell, kChannels[stage], last);
  }
  net.add("last_norm", BatchNorm{}, {last});
  net.add("last_relu", Activation{});
  net.add("average", GlobalPool{});
  net.add("flat", Flatten{});
  net.add("classifier", Dense{classes});
  net.add("loss", Loss{});
  return net;
}

}  // namespace rehearse::workloads
