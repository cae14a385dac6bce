// Measured failures of nodes: a CSV file with the columns node, time_s, down_s.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/nodes/node_events.hpp"

namespace rehearse::traces {

/// A node is POOL/INDEX, from 0. Throws sim::InputError with all mistakes at once: unlike jobs, outages are few, and one that is
/// left out changes what all jobs meet.
std::vector<sim::Outage> read_outages(const std::string& path, const sim::Cluster& cluster);

}  // namespace rehearse::traces
