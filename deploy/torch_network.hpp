// Networks as the list of layers that templates/torch/network.py makes PyTorch modules of.
#pragma once

#include <optional>
#include <string>

#include "workloads/layers/network.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::traces {

struct TorchNetwork {
  std::string lines;       ///< a Python tuple a layer: name, kind, inputs, shape of the output, figures
  std::string inputs;      ///< a Python list: index and form of each input
  int output = 0;          ///< index of what goes into the loss
  int classes = 0;         ///< that the loss tells apart
  bool positions = false;  ///< a label for each position of a sequence; else one a sample
};

/// Throws sim::InputError for networks that only count costs, for losses other than cross entropy of one label a sample or a
/// position (detection of spans, CTC, adversarial trainings: the Keras export has these), and for shapes that do not fit.
TorchNetwork torch_network(const workloads::Network& network, std::optional<workloads::Task> task);

}  // namespace rehearse::traces
