// What graph, rent and plan say of the network that they read.
#pragma once

#include <string>

#include "workloads/layers/account.hpp"

namespace rehearse::cli {

/// "Read: 175 layers (54 with matrix products), 25.56 M weights, ...": one line, however long.
std::string read_words(const workloads::NetworkAccount& account);
/// Under an answer that rests on predicted steps: the same and, of a network with attention, what error to expect and what to do.
std::string predicted_words(const workloads::NetworkAccount& account);

}  // namespace rehearse::cli
