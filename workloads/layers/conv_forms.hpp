// How libraries compute convolutions with fewer multiplications than their matrix product has (docs/explain/step.md, "GPU operation
// time"): Winograd's minimal filtering (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016,
// arXiv:1509.09308), fused or with transforms of their own, and Fourier transforms.
#pragma once

#include <vector>

#include "sim/step/op_graph.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

/// A convolution's groups, and the channels and filters of each.
struct Filtering {
  double groups = 1, channels = 1, filters = 1;
};

/// Beside the forward pass of the same products, on DeepBench's GPUs: what a filter gradient reaches, whose inner dimension runs
/// across images.
inline constexpr double kFilterGradientEfficiency = 0.75;

/// Square windows of 3 and 5 with stride 1.
bool has_winograd(const Window& window);
/// Of a convolution whose output is `to` (a sample), and of its data gradient: then `to` is the input, and channels and filters
/// change places.
std::vector<sim::FastForm> fast_forms(const Window& window, const Filtering& filtering, const Shape& to);
/// Of a filter gradient; `to` is the convolution's output.
std::vector<sim::FastForm> fast_gradient_forms(const Window& window, const Filtering& filtering, const Shape& to);

}  // namespace rehearse::workloads
