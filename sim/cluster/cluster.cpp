#include "sim/cluster/cluster.hpp"

#include <algorithm>

namespace rehearse::sim {

ModelCorrection correction_of(const Device& device, std::string_view model, std::string_view dataset) {
  const auto found = std::find_if(device.corrections.begin(), device.corrections.end(),
                                  [&](const ModelCorrection& c) { return c.model == model && c.dataset == dataset; });
  return found == device.corrections.end() ? ModelCorrection{} : *found;
}

}  // namespace rehearse::sim
