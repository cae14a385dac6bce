// m-ETF (Baechi: Jeon et al., SoCC 2020, section 3.2; ETF: Hwang, Chow, Anger, Lee, SIAM J. Computing 18(2), 1989): always the
// operation and GPU with the earliest start, as far as the GPU's memory goes.
#pragma once

#include "policies/place/list_schedule.hpp"

namespace rehearse::policies {

class MEtf final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// One schedule on the GPUs, without the timer. `favourite`: empty, or of each operation the successor that should follow it on
/// its device (m-SCT), -1 for none.
ListSchedule etf_schedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity,
                          std::span<const std::int32_t> favourite = {});

}  // namespace rehearse::policies
