// Three of the four networks of soumith's convnet-benchmarks as their Caffe logs have them (February 2016, Titan X of the Maxwell
// generation), and the measured forward and backward pass. Optional data.
#pragma once

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "workloads/layers/network.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::tests {

struct ConvnetLog {
  const char* file;
  double batch;
  workloads::Network network;
};

inline void conv_relu(workloads::Network& net, int filters, const workloads::Window& window) {
  const std::string name = fmt::format("conv{}", net.layers.size());
  net.add(name, workloads::Conv{filters, window});
  net.add(name + "/relu", workloads::Activation{});
}

inline void halve(workloads::Network& net, int kernel) {
  net.add(fmt::format("pool{}", net.layers.size()), workloads::Pool{workloads::Pooling::max, workloads::square(kernel, 2)});
}

inline void dense_head(workloads::Network& net, int first, int second) {
  net.add("flatten", workloads::Flatten{});
  net.add("fc6", workloads::Dense{first});
  net.add("fc7", workloads::Dense{second});
  net.add("fc8", workloads::Dense{1000});
  net.add("loss", workloads::Loss{});
}

inline workloads::Network vgg_a() {
  workloads::Network net{"vgg-a", {}};
  net.add("input", workloads::Input{{3, 224, 224}});
  const std::array<std::vector<int>, 5> stages{{{64}, {128}, {256, 256}, {512, 512}, {512, 512}}};
  for (const auto& filters : stages) {
    for (const int one : filters) conv_relu(net, one, workloads::same(3, 3));
    halve(net, 2);
  }
  dense_head(net, 4096, 4096);
  return net;
}

inline workloads::Network overfeat() {
  workloads::Network net{"overfeat", {}};
  net.add("input", workloads::Input{{3, 231, 231}});
  conv_relu(net, 96, workloads::square(11, 4));
  halve(net, 2);
  conv_relu(net, 256, workloads::square(5));
  halve(net, 2);
  for (const int filters : {512, 1024, 1024}) conv_relu(net, filters, workloads::same(3, 3));
  halve(net, 2);
  dense_head(net, 3072, 4096);
  return net;
}

/// Milliseconds of "Average Forward-Backward", as seconds. Throws std::runtime_error without that line.
inline double forward_backward_s(const std::string& path) {
  std::ifstream in(path);
  const std::string what = "Average Forward-Backward: ";
  for (std::string line; std::getline(in, line);)
    if (const std::size_t at = line.find(what); at != std::string::npos) return std::stod(line.substr(at + what.size())) / 1e3;
  throw std::runtime_error(path + " has no mean of its steps");
}

inline std::vector<ConvnetLog> convnet_logs() {
  return {{"output_alexnet.log", 128, workloads::zoo_entry("alexnet").build(workloads::dataset("imagenet"))},
          {"output_vgg_a.log", 64, vgg_a()},
          {"output_overfeat.log", 128, overfeat()}};
}

}  // namespace rehearse::tests
