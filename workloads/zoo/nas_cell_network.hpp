// The network that NAS-Bench-201 makes of a cell.
#pragma once

#include <optional>

#include "workloads/layers/nas_cell.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

/// Dong and Yang, ICLR 2020, section 2.1, and the published code: on 3 x 32 x 32 images a
/// 3x3 convolution to 16 channels, three stages of five cells with 16, 32 and 64 channels, between them a residual block that
/// halves the image, then the average over all positions and a classifier. A node is the sum of its edges' operations; a
/// convolution is ReLU, convolution, batch norm. Named as the cell's text. Operations of which the output knows nothing, and
/// those that are given nothing, are left out. Nothing for a cell whose output hangs on no input.
std::optional<Network> nas_cell_network(const NasCell& cell, int classes);

}  // namespace rehearse::workloads
