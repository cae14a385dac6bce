// HEFT: heterogeneous earliest finish time (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002): operations by falling upward rank,
// each on the device where it ends first, gaps used. Our additions: co-location groups and the devices' memory.
#pragma once

#include "policies/place/list_schedule.hpp"

namespace rehearse::policies {

class Heft final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// One schedule on all devices, without the timer.
ListSchedule heft_schedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity);

}  // namespace rehearse::policies
