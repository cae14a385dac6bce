// What is trained on: sizes of public data sets.
#pragma once

#include <span>
#include <string_view>

#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

struct Dataset {
  std::string_view name;
  double training_samples;    ///< samples of one epoch
  double validation_samples;  ///< samples of one evaluation
  int classes;                ///< or the size of the vocabulary; 0 where there is neither
  Shape shape;                ///< one sample as a network sees it: image, spectrogram, or tokens 1 x n x 1
  std::string_view sample;    ///< one sample as it is stored
  double bytes_per_sample;    ///< as stored, mean
  std::string_view source;
};

/// All of them, by name in alphabetical order.
std::span<const Dataset> datasets();

/// Throws sim::InputError with the nearest valid name when there is none of that name.
const Dataset& dataset(std::string_view name);
/// Null when there is none of this name.
const Dataset* find_dataset(std::string_view name);

}  // namespace rehearse::workloads
