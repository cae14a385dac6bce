// AlexNet in its one-column form (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014; 61.1 M
// parameters, 0.71 G multiply-adds) and VGG (Simonyan and Zisserman, ICLR 2015, configurations D and E).
#include <fmt/format.h>

#include <array>

#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {
namespace {

void conv_relu(Network& net, const std::string& name, int filters, const Window& window) {
  net.add(name, Conv{filters, window});
  net.add(name + "/relu", Activation{});
}

void dense_head(Network& net, int classes) {
  net.add("flatten", Flatten{});
  dense_relu(net, "fc6", 4096);
  net.add("dropout6", Dropout{});
  dense_relu(net, "fc7", 4096);
  net.add("dropout7", Dropout{});
  net.add("fc8", Dense{classes});
  net.add("loss", Loss{});
}

Network vgg(std::string name, const Dataset& sample, const std::array<int, 5>& convolutions) {
  Network net{std::move(name), {}};
  net.add("input", Input{sample.shape});
  const std::array<int, 5> filters{64, 128, 256, 512, 512};
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 1; i <= convolutions[stage]; ++i)
      conv_relu(net, fmt::format("conv{}_{}", stage + 1, i), filters[stage], same(3, 3));
    net.add(fmt::format("pool{}", stage + 1), Pool{Pooling::max, square(2, 2)});
  }
  dense_head(net, sample.classes);
  return net;
}

}  // namespace

Network alexnet(const Dataset& sample) {
  const Pool pool{Pooling::max, square(3, 2)};
  Network net{"alexnet", {}};
  net.add("input", Input{sample.shape});
  conv_relu(net, "conv1", 64, square(11, 4, 2));
  net.add("pool1", pool);
  conv_relu(net, "conv2", 192, same(5, 5));
  net.add("pool2", pool);
  conv_relu(net, "conv3", 384, same(3, 3));
  conv_relu(net, "conv4", 256, same(3, 3));
  conv_relu(net, "conv5", 256, same(3, 3));
  net.add("pool5", pool);
  dense_head(net, sample.classes);
  return net;
}

Network vgg16(const Dataset& sample) { return vgg("vgg16", sample, {2, 2, 3, 3, 3}); }
Network vgg19(const Dataset& sample) { return vgg("vgg19", sample, {2, 2, 4, 4, 4}); }

}  // namespace rehearse::workloads
