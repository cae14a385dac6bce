// First come, first served: one queue over all pools in which nobody overtakes. The head starts at the first entry of its
// menu that could ever fit, and waits for it. With `per_pool` each pool has a line of its own.
#pragma once

#include "policies/queue/line_queue.hpp"

namespace rehearse::policies {

struct FifoParameters {
  bool per_pool = false;
  LineOptions line = {};
};

class Fifo final : public LineQueue {
 public:
  explicit Fifo(const FifoParameters& parameters = {}) : LineQueue(options(parameters)) {}

 private:
  static LineOptions options(const FifoParameters& parameters) {
    LineOptions options = parameters.line;
    options.one_line = !parameters.per_pool;
    return options;
  }
  double waiting_key(const sim::QueueView&, sim::JobSlot) override { return 0; }
};

}  // namespace rehearse::policies
