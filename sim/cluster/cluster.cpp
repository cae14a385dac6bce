#include "sim/cluster/cluster.hpp"

#include <algorithm>

namespace rehearse::sim {

ModelCorrection correction_of(const Device& device, std::string_view model, std::string_view dataset) {
  const auto found = std::find_if(device.corrections.begin(), device.corrections.end(),
                                  [&](const ModelCorrection& c) { return c.model == model && c.dataset == dataset; });
  return found == device.corrections.end() ? ModelCorrection{} : *found;
}

PowerLaw power_law(const Device& device) {
  if (device.power) return *device.power;
  const double busy = device.busy_w - device.idle_w;
  return {.running_w = device.idle_w, .clock_w = busy, .launch_w = busy};
}

}  // namespace rehearse::sim
