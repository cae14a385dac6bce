// YOLOv3 (Redmon and Farhadi, "YOLOv3: An Incremental Improvement", 2018, arXiv:1804.02767): Darknet-53 (table 1) without its
// classifier, and detection at three scales, as its yolov3.cfg has it. Each head's answer is counted as one cross entropy over
// its numbers at every position, where the publication has squared errors of boxes and logistic losses.
#include <fmt/format.h>

#include <array>

#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {
namespace {

constexpr int kAnchorsAScale = 3;

/// Convolution without bias, batch norm, leaky ReLU. Returns the activation's index.
int darknet(Network& net, const std::string& name, int from, int filters, const Window& window) {
  net.add(name, Conv{filters, window, 1, false}, {from});
  net.add(name + "/bn", BatchNorm{});
  return net.add(name + "/leaky_relu", Activation{});
}

int squeeze_and_expand(Network& net, const std::string& name, int from, int filters) {
  const int squeezed = darknet(net, name + "/squeeze", from, filters / 2, square(1));
  return darknet(net, name + "/expand", squeezed, filters, same(3, 3));
}

}  // namespace

Network yolov3(const Dataset& sample) {
  Network net{"yolov3", {}};
  net.add("input", Input{sample.shape});
  int from = darknet(net, "stem", 0, 32, same(3, 3));
  std::array<int, 5> stages{};
  constexpr std::array<int, 5> kBlocks{1, 2, 8, 8, 4};
  for (int stage = 0; stage < 5; ++stage) {
    const int filters = 64 << stage;
    from = darknet(net, fmt::format("stage{}/down", stage + 1), from, filters, square(3, 2, 1));
    for (int i = 0; i < kBlocks[static_cast<std::size_t>(stage)]; ++i) {
      const std::string name = fmt::format("stage{}_{}", stage + 1, i + 1);
      const int branch = squeeze_and_expand(net, name, from, filters);
      from = net.add(name + "/add", Add{}, {branch, from});
    }
    stages[static_cast<std::size_t>(stage)] = from;
  }
  for (int scale = 0; scale < 3; ++scale) {
    const std::string name = fmt::format("scale{}", scale + 1);
    const int filters = 1024 >> scale;
    if (scale > 0) {  // from the coarser scale, beside the backbone's stage of this resolution
      const int narrowed = darknet(net, name + "/narrow", from, filters / 2, square(1));
      const int larger = net.add(name + "/upsample", Upsample{2}, {narrowed});
      from = net.add(name + "/concat", Concat{}, {larger, stages[static_cast<std::size_t>(4 - scale)]});
    }
    for (int i = 0; i < 2; ++i) from = squeeze_and_expand(net, fmt::format("{}_{}", name, i + 1), from, filters);
    from = darknet(net, name + "/branch", from, filters / 2, square(1));
    const int head = darknet(net, name + "/head", from, filters, same(3, 3));
    const int answer = net.add(name + "/detect", Conv{kAnchorsAScale * (5 + sample.classes), square(1), 1, true}, {head});
    net.add(name + "/loss", Loss{}, {answer});
  }
  return net;
}

}  // namespace rehearse::workloads
