// What is trained on: sizes of public data sets.
#pragma once

#include <span>
#include <string_view>

namespace rehearse::workloads {

struct Dataset {
  std::string_view name;
  double training_samples;    ///< samples of one epoch
  double validation_samples;  ///< samples of one evaluation
  int classes;                ///< or the size of the vocabulary; 0 where there is neither
  std::string_view sample;    ///< what one sample is: channels x height x width, or a sequence
  double bytes_per_sample;    ///< as stored, mean
  std::string_view source;
};

/// All of them, by name in alphabetical order.
std::span<const Dataset> datasets();

/// Null when there is none of this name.
const Dataset* find_dataset(std::string_view name);

}  // namespace rehearse::workloads
