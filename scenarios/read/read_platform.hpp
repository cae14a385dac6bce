// A platform file of SimGrid's as a cluster.
#pragma once

#include <string>

#include "scenarios/read/catalogue.hpp"
#include "sim/base/errors.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/engine/platform_file.hpp"

namespace rehearse::scenarios {

struct PlatformCluster {
  std::string json;  ///< an object with devices, instances and pools, as a scenario would have them
  sim::Racks racks;  ///< of these pools, in their order
};

/// Hosts of one pool that are not alike, properties that are no numbers and devices that nobody knows are mistakes in `path`.
PlatformCluster platform_cluster(const sim::Platform& platform, const std::string& path, const Catalogue& catalogue,
                                 sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
