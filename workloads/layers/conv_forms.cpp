#include "workloads/layers/conv_forms.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {
namespace {

using sim::Affine;

/// Of the fused kernels, beside a plain product on DeepBench's GPUs: transforms take turns with multiplications.
constexpr double kFusedEfficiency = 0.75;

/// Fourier transforms pay for wider windows (Mathieu et al., "Fast Training of Convolutional Networks through FFTs", ICLR 2014).
bool has_fourier(const Window& w) {
  constexpr int kNarrowest = 4, kWidest = 16;
  return std::min(w.height, w.width) >= kNarrowest && std::max(w.height, w.width) <= kWidest && w.stride_height == 1 &&
         w.stride_width == 1 && !w.is_dilated();
}

double tiles_of(const Shape& shape, double height, double width) {
  return std::ceil(shape.height / height) * std::ceil(shape.width / width);
}

/// `products` for each of `tiles` of a sample, and all tiles transformed, `numbers` for each, channel and filter by filter.
sim::FastForm transformed(const Filtering& f, double tiles, double products, double numbers) {
  const double all = 2 * kBytesPerNumber * numbers * f.groups;  // written and read
  return {.matrix = {a_sample(f.groups * tiles), fixed(f.filters), fixed(f.channels)},
          .products = products,
          .transform_bytes = {all * f.filters * f.channels, all * tiles * (f.channels + f.filters)}};
}

/// Whose transforms are passes of their own: F(4 x 4, 3 x 3) and F(2 x 2, 5 x 5), tiles of 6 x 6; Fourier's of 32 x 32, whose
/// coefficients are 32 x 17 complex numbers, a product of which takes four.
std::vector<sim::FastForm> transformed_forms(const Window& w, const Filtering& f, const Shape& to) {
  constexpr double kTile = 6, kFourierTile = 32, kCoefficients = 32 * 17;
  std::vector<sim::FastForm> forms;
  if (has_winograd(w)) {
    const double side = kTile + 1 - w.height;
    forms.push_back(transformed(f, tiles_of(to, side, side), kTile * kTile, kTile * kTile));
  }
  if (has_fourier(w))
    forms.push_back(transformed(f, tiles_of(to, kFourierTile + 1 - w.height, kFourierTile + 1 - w.width), 4 * kCoefficients,
                                2 * kCoefficients));
  return forms;
}

}  // namespace

bool has_winograd(const Window& w) {
  return w.height == w.width && (w.height == 3 || w.height == 5) && w.stride_height == 1 && w.stride_width == 1 &&
         !w.is_dilated();
}

std::vector<sim::FastForm> fast_forms(const Window& w, const Filtering& f, const Shape& to) {
  std::vector<sim::FastForm> forms = transformed_forms(w, f, to);
  if (has_winograd(w) && w.height == 3)  // one kernel: 16 multiplications for 4 outputs, where the window has 36
    forms.push_back({.matrix = {a_sample(4 * f.groups * tiles_of(to, 2, 2)), fixed(f.filters), fixed(4 * f.channels)},
                     .relative_efficiency = kFusedEfficiency});
  return forms;
}

std::vector<sim::FastForm> fast_gradient_forms(const Window& w, const Filtering& f, const Shape& to) {
  std::vector<sim::FastForm> forms = transformed_forms(w, f, to);
  for (sim::FastForm& form : forms)  // sums over the tiles
    form.matrix = {fixed(f.groups * f.filters), fixed(f.channels), a_sample(form.matrix.m.per_sample / f.groups)};
  return forms;
}

}  // namespace rehearse::workloads
