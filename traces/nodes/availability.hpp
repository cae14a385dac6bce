// When nodes are there: failures that were measured, and spot capacity over time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/nodes/node_events.hpp"

namespace rehearse::traces {

// Measured failures of nodes: a CSV file with the columns node, time_s, down_s.

/// A node is POOL/INDEX, from 0. Throws sim::InputError with all mistakes at once: unlike jobs, outages are few, and one that is
/// left out changes what all jobs meet.
std::vector<sim::Outage> read_outages(const std::string& path, const sim::Cluster& cluster);

// Spot capacity of zones over time: CSV, run-length encoded, as taken from the traces of Wu et al., "Can't Be Late", NSDI 2024
// (github.com/skypilot-org/spot-traces). Columns start_date, zone, gpu, gpus_per_node, time_s (from the start), available_nodes
// and length_s; a series is the rows of one date, zone, gpu and gpus_per_node.

struct SpotSeries {
  std::string start_date, zone, gpu;
  int gpus_per_node = 1;
  std::vector<std::uint8_t> up;  ///< step by step: whether a node was available at the step's beginning
};

/// In the order of their first rows. Throws sim::InputError for every bad row: one that does not begin where the one before of
/// its series ends, and a series that does not begin at 0 or takes more than ten years, included.
std::vector<SpotSeries> read_spot_series(const std::string& path, double step_s);

}  // namespace rehearse::traces
