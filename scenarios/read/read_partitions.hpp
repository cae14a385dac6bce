// The partitions of a queue strategy.
#pragma once

#include "policies/queue/partitions.hpp"
#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

/// Key "partitions"; none when it is not there.
std::vector<policies::Partition> read_partitions(sim::ObjectReader& in, const sim::Cluster& cluster, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
