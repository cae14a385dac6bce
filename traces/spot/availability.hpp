// Spot capacity of zones over time: CSV, run-length encoded, as taken from the traces of Wu et al., "Can't Be Late", NSDI 2024
// (github.com/skypilot-org/spot-traces). Columns start_date, zone, gpu, gpus_per_node, time_s (from the start), available_nodes
// and length_s; a series is the rows of one date, zone, gpu and gpus_per_node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rehearse::traces {

struct SpotSeries {
  std::string start_date, zone, gpu;
  int gpus_per_node = 1;
  std::vector<std::uint8_t> up;  ///< step by step: whether a node was available at the step's beginning
};

/// In the order of their first rows. Throws sim::InputError for every bad row: one that does not begin where the one before of
/// its series ends, and a series that does not begin at 0 or takes more than ten years, included.
std::vector<SpotSeries> read_spot_series(const std::string& path, double step_s);

}  // namespace rehearse::traces
