// The thread counts that the TensorFlow performance guide recommends: intra-op = physical cores, inter-op = sockets.
#pragma once

#include <algorithm>

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

class RecommendedThreads final : public sim::Threads {
 public:
  sim::ThreadPlan plan(const sim::OpGraph&, const sim::Device& cpu, double) override {
    const int cores = std::max(1, cpu.cores);
    return {.inter_op = std::clamp(cpu.sockets, 1, cores), .intra_op = cores};
  }
};

}  // namespace rehearse::policies
