// AlexNet in its one-column form (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014; 61.1 M
// parameters, 0.71 G multiply-adds) and VGG (Simonyan and Zisserman, ICLR 2015, configurations D and E).
//
// Residual networks (He et al., CVPR 2016): tables 1 and 6. In bottlenecks the 3 x 3 convolution carries the stride, as in
// today's implementations (ResNet-50: 4.1 G multiply-adds; 3.9 G with the stride in the first 1 x 1).
//
// Inception-v2 with batch norm (Ioffe and Szegedy, ICML 2015: figure 5) and Inception-v3 (Szegedy et al., CVPR 2016: table 1,
// with the filter counts of the authors' published code) without its auxiliary head, on 299 x 299 images.
#include <fmt/format.h>

#include <array>
#include <vector>

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

struct Step {
  int filters;
  Window window;
};
using Branch = std::vector<Step>;

/// The branches of a module, joined along the channels.
class Module {
 public:
  Module(Network& net, std::string name, int from) : net_(net), name_(std::move(name)), from_(from) {}

  /// Returns the end of the branch, for those that split again; they are not joined.
  int chain(const Branch& branch, int from) {
    for (const Step& step : branch)
      from = conv_bn_relu(net_, fmt::format("{}/conv{}", name_, ++convs_), from, step.filters, step.window);
    return from;
  }
  Module& branch(const Branch& steps) { return join(chain(steps, from_)); }
  Module& pooled(Pooling kind, const Window& window, const Branch& steps = {}) {
    return join(chain(steps, net_.add(name_ + "/pool", Pool{kind, window}, {from_})));
  }
  Module& split(const Branch& stem, const Step& left, const Step& right) {
    const int end = chain(stem, from_);
    join(chain({left}, end));
    return join(chain({right}, end));
  }
  int concat() { return net_.add(name_ + "/concat", Concat{}, ends_); }

 private:
  Module& join(int end) {
    ends_.push_back(end);
    return *this;
  }

  Network& net_;
  std::string name_;
  int from_;
  int convs_ = 0;
  std::vector<int> ends_;
};

/// 1 x 1 | 1 x 1, 3 x 3 | 1 x 1, 3 x 3, 3 x 3 | pool, 1 x 1; with stride 2 the first is absent and the pool keeps its channels.
struct V2Module {
  const char* name;
  int direct, reduce3, conv3, reduce_double, conv_double;
  Pooling pooling;
  int pool_filters;
};

int v2_module(Network& net, int from, const V2Module& m) {
  const int stride = m.direct == 0 ? 2 : 1;
  const Step one{m.reduce3, square(1)};
  Module module(net, m.name, from);
  if (m.direct > 0) module.branch({{m.direct, square(1)}});
  module.branch({one, {m.conv3, square(3, stride, 1)}});
  module.branch({{m.reduce_double, square(1)}, {m.conv_double, same(3, 3)}, {m.conv_double, square(3, stride, 1)}});
  const Branch projection = m.pool_filters > 0 ? Branch{{m.pool_filters, square(1)}} : Branch{};
  module.pooled(m.pooling, square(3, stride, 1), projection);
  return module.concat();
}

constexpr Window kOne = square(1), kThree = same(3, 3), kRow = same(1, 7), kColumn = same(7, 1);
constexpr Window kAverage = same(3, 3), kHalve = square(3, 2);

int v3_a(Network& net, const std::string& name, int from, int pool_filters) {
  return Module(net, name, from)
      .branch({{64, kOne}})
      .branch({{48, kOne}, {64, same(5, 5)}})
      .branch({{64, kOne}, {96, kThree}, {96, kThree}})
      .pooled(Pooling::average, kAverage, {{pool_filters, kOne}})
      .concat();
}

int v3_c(Network& net, const std::string& name, int from, int f) {
  return Module(net, name, from)
      .branch({{192, kOne}})
      .branch({{f, kOne}, {f, kRow}, {192, kColumn}})
      .branch({{f, kOne}, {f, kColumn}, {f, kRow}, {f, kColumn}, {192, kRow}})
      .pooled(Pooling::average, kAverage, {{192, kOne}})
      .concat();
}

int v3_e(Network& net, const std::string& name, int from) {
  return Module(net, name, from)
      .branch({{320, kOne}})
      .split({{384, kOne}}, {384, same(1, 3)}, {384, same(3, 1)})
      .split({{448, kOne}, {384, kThree}}, {384, same(1, 3)}, {384, same(3, 1)})
      .pooled(Pooling::average, kAverage, {{192, kOne}})
      .concat();
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

Network inceptionv2(const Dataset& sample) {
  Network net{"inception-v2", {}};
  net.add("input", Input{sample.shape});
  conv_bn_relu(net, "conv1", net.last(), 64, square(7, 2, 3));
  net.add("pool1", Pool{Pooling::max, square(3, 2, 1)});
  conv_bn_relu(net, "conv2_reduce", net.last(), 64, square(1));
  conv_bn_relu(net, "conv2", net.last(), 192, same(3, 3));
  int from = net.add("pool2", Pool{Pooling::max, square(3, 2, 1)});
  constexpr auto average = Pooling::average, max = Pooling::max;
  const V2Module modules[] = {{"3a", 64, 64, 64, 64, 96, average, 32},       {"3b", 64, 64, 96, 64, 96, average, 64},
                              {"3c", 0, 128, 160, 64, 96, max, 0},           {"4a", 224, 64, 96, 96, 128, average, 128},
                              {"4b", 192, 96, 128, 96, 128, average, 128},   {"4c", 160, 128, 160, 128, 160, average, 128},
                              {"4d", 96, 128, 192, 160, 192, average, 128},  {"4e", 0, 128, 192, 192, 256, max, 0},
                              {"5a", 352, 192, 320, 160, 224, average, 128}, {"5b", 352, 192, 320, 192, 224, max, 128}};
  for (const V2Module& m : modules) from = v2_module(net, from, m);
  classify_pooled(net, sample.classes);
  return net;
}

Network inceptionv3(const Dataset& sample) {
  Network net{"inception-v3", {}};
  const bool imagenet = sample.shape == Shape{3, 224, 224};
  net.add("input", Input{imagenet ? Shape{3, 299, 299} : sample.shape});
  conv_bn_relu(net, "conv1", net.last(), 32, kHalve);
  conv_bn_relu(net, "conv2", net.last(), 32, square(3));
  conv_bn_relu(net, "conv3", net.last(), 64, kThree);
  net.add("pool3", Pool{Pooling::max, kHalve});
  conv_bn_relu(net, "conv4", net.last(), 80, kOne);
  conv_bn_relu(net, "conv5", net.last(), 192, square(3));
  int from = net.add("pool5", Pool{Pooling::max, kHalve});
  for (int i = 1; i <= 3; ++i) from = v3_a(net, fmt::format("a{}", i), from, i == 1 ? 32 : 64);
  from = Module(net, "b", from)
             .branch({{384, kHalve}})
             .branch({{64, kOne}, {96, kThree}, {96, kHalve}})
             .pooled(Pooling::max, kHalve)
             .concat();
  const int widths[] = {128, 160, 160, 192};
  for (int i = 0; i < 4; ++i) from = v3_c(net, fmt::format("c{}", i + 1), from, widths[i]);
  from = Module(net, "d", from)
             .branch({{192, kOne}, {320, kHalve}})
             .branch({{192, kOne}, {192, kRow}, {192, kColumn}, {192, kHalve}})
             .pooled(Pooling::max, kHalve)
             .concat();
  for (int i = 1; i <= 2; ++i) from = v3_e(net, fmt::format("e{}", i), from);
  net.add("pool", GlobalPool{}, {from});
  net.add("dropout", Dropout{});
  net.add("flatten", Flatten{});
  net.add("classifier", Dense{sample.classes});
  net.add("loss", Loss{});
  return net;
}

}  // namespace rehearse::workloads
