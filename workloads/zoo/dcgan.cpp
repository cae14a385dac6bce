// DCGAN on 64 x 64 images (Radford et al., ICLR 2016: figure 1, with 64 to 512 filters, the width of the TensorFlow and PyTorch
// implementations; generator 3.58 M, discriminator 2.77 M parameters). One step: the discriminator on real and on generated
// images, then once more on the generated ones, through which the generator learns.
#include <fmt/format.h>

#include <vector>

#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {
namespace {

constexpr int kNoise = 100, kFilters = 64;

int generator(Network& net) {
  net.add("noise", Input{{kNoise, 1, 1}});
  for (int i = 0; i < 4; ++i) {
    const std::string name = fmt::format("generator{}", i + 1);
    net.add(name, TransposedConv{kFilters << (3 - i), i == 0 ? square(4) : square(4, 2, 1), false});
    net.add(name + "/bn", BatchNorm{});
    net.add(name + "/relu", Activation{});
  }
  net.add("generator5", TransposedConv{3, square(4, 2, 1), false});
  return net.add("generator5/tanh", Activation{});
}

/// Returns the index of the first layer; `like` is that of the application whose parameters are shared, or -1.
int discriminator(Network& net, const std::string& name, int from, int like) {
  const int first = net.last() + 1;
  for (int i = 0; i < 4; ++i) {
    const std::string layer = fmt::format("{}{}", name, i + 1);
    net.add(layer, Conv{kFilters << i, square(4, 2, 1), 1, false}, {i == 0 ? from : net.last()});
    if (i > 0) net.add(layer + "/bn", BatchNorm{});
    net.add(layer + "/leaky_relu", Activation{});
  }
  net.add(name + "5", Conv{1, square(4), 1, false});
  net.add(name + "/loss", Loss{});
  if (like >= 0)
    for (int i = first; i <= net.last(); ++i) net.layers[i].shares = like + i - first;
  return first;
}

}  // namespace

Network dcgan(const Dataset& sample) {
  Network net{"dcgan", {}};
  const int image = generator(net);
  const int real = net.add("real", Input{sample.shape});
  const int first = discriminator(net, "on_real", real, -1);
  const int generated = net.add("generated", Detach{}, {image});
  discriminator(net, "on_generated", generated, first);
  discriminator(net, "for_generator", image, first);
  return net;
}

}  // namespace rehearse::workloads
