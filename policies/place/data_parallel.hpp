// Data-parallel: a replica of the whole graph on every worker of the node.
#pragma once

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

class DataParallel final : public sim::Place {
 public:
  sim::StepPlan place(const sim::PlaceView& view) override { return {.replicas = view.workers_on_node}; }
};

}  // namespace rehearse::policies
