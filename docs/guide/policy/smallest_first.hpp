// A line for each pool in which the job with the fewest GPUs is first.
#pragma once

#include "policies/queue/line_queue.hpp"

namespace rehearse::policies {

class SmallestFirst final : public LineQueue {
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override { return view.jobs[slot].job.gpus; }
};

}  // namespace rehearse::policies
