// Which layers of a recurrent network fall apart into time steps, and what one step's piece of an operation is.
#pragma once

#include <vector>

#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

/// For each layer into how many time steps it falls; 1: it stays whole. Recurrent layers do, and in a network that has any, all
/// layers that treat each position of a sequence by itself; attention by its queries. Normalisation over a batch does not.
std::vector<int> time_steps(const Network& network, const std::vector<Shape>& shapes);

/// 2 for a bidirectional recurrent layer, else 1.
int directions(const LayerSpec& spec);

/// One of `steps` x `directions` equal pieces of an operation; `directions` counts for products one after the other alone.
sim::Op piece_of(const LayerOp& whole, int steps, int directions);

}  // namespace rehearse::workloads
