// The thread counts that the TensorFlow performance guide recommends: intra-op = physical cores, inter-op = sockets.
#pragma once

#include <algorithm>

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

class RecommendedThreads final : public sim::Threads {
 public:
  sim::ThreadPlan plan(const sim::OpGraph&, const sim::Device& cpu, double) override {
    return {.inter_op = std::max(1, cpu.sockets), .intra_op = std::max(1, cpu.cores)};
  }
};

}  // namespace rehearse::policies
