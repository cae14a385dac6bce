// Residual networks (He et al., CVPR 2016): tables 1 and 6. In bottlenecks the 3 x 3 convolution carries the stride, as in
// today's implementations (ResNet-50: 4.1 G multiply-adds; 3.9 G with the stride in the first 1 x 1).
#include <fmt/format.h>

#include <array>

#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {
namespace {

struct ResidualBlock {
  int filters, stride;
  bool bottleneck, projection;  // a 1 x 1 convolution on the shortcut
};

int residual(Network& net, const std::string& name, int from, const ResidualBlock& b) {
  const int out_filters = b.bottleneck ? 4 * b.filters : b.filters;
  if (b.bottleneck) {
    const int reduced = conv_bn_relu(net, name + "/conv1", from, b.filters, square(1));
    conv_bn_relu(net, name + "/conv2", reduced, b.filters, square(3, b.stride, 1));
    net.add(name + "/conv3", Conv{out_filters, square(1), 1, false});
  } else {
    conv_bn_relu(net, name + "/conv1", from, b.filters, square(3, b.stride, 1));
    net.add(name + "/conv2", Conv{out_filters, same(3, 3), 1, false});
  }
  const int branch = net.add(name + "/bn", BatchNorm{});
  int shortcut = from;
  if (b.projection) {
    net.add(name + "/shortcut", Conv{out_filters, square(1, b.stride), 1, false}, {from});
    shortcut = net.add(name + "/shortcut/bn", BatchNorm{});
  }
  net.add(name + "/add", Add{}, {branch, shortcut});
  return net.add(name + "/relu", Activation{});
}

/// Small images (sides below 64) keep their size in the stem: one 3 x 3 convolution and no pooling, as is usual on CIFAR.
Network resnet(std::string name, const Dataset& sample, const std::array<int, 4>& blocks, bool bottleneck) {
  Network net{std::move(name), {}};
  net.add("input", Input{sample.shape});
  const bool small = sample.shape.height < 64;
  int from = conv_bn_relu(net, "stem", 0, 64, small ? same(3, 3) : square(7, 2, 3));
  if (!small) from = net.add("stem/pool", Pool{Pooling::max, square(3, 2, 1)});
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      const bool first = i == 0;
      from = residual(net, fmt::format("stage{}_{}", stage + 1, i + 1), from,
                      {64 << stage, first && stage > 0 ? 2 : 1, bottleneck, first && (stage > 0 || bottleneck)});
    }
  classify_pooled(net, sample.classes);
  return net;
}

}  // namespace

Network resnet18(const Dataset& sample) { return resnet("resnet18", sample, {2, 2, 2, 2}, false); }
Network resnet34(const Dataset& sample) { return resnet("resnet34", sample, {3, 4, 6, 3}, false); }
Network resnet50(const Dataset& sample) { return resnet("resnet50", sample, {3, 4, 6, 3}, true); }
Network resnet101(const Dataset& sample) { return resnet("resnet101", sample, {3, 4, 23, 3}, true); }
Network resnet152(const Dataset& sample) { return resnet("resnet152", sample, {3, 8, 36, 3}, true); }

/// Section 4.2: 6 n + 2 layers with n = 5, and 16, 32, 64 filters. The shortcuts that widen are projections (the paper's have no
/// parameters: 0.46 M; ours add 2,752).
Network resnet32(const Dataset& sample) {
  Network net{"resnet32", {}};
  net.add("input", Input{sample.shape});
  int from = conv_bn_relu(net, "stem", 0, 16, same(3, 3));
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < 5; ++i) {
      const bool widens = i == 0 && stage > 0;
      from = residual(net, fmt::format("stage{}_{}", stage + 1, i + 1), from, {16 << stage, widens ? 2 : 1, false, widens});
    }
  classify_pooled(net, sample.classes);
  return net;
}

}  // namespace rehearse::workloads
