// A table of measured NAS-Bench-201 cells: CSV with a column `arch_str`, accuracies in percent in columns `acc_...`, latencies in
// milliseconds in columns `..._ms` (those of Lee et al., "HELP: Hardware-adaptive efficient latency prediction for NAS via
// meta-learning", NeurIPS 2021, put beside the benchmark's accuracies).
#pragma once

#include <string>
#include <vector>

#include "workloads/layers/nas_cell.hpp"

namespace rehearse::traces {

struct CellTable {
  std::vector<double> accuracy;                ///< by workloads::nas_cell_index, in [0, 1]
  std::vector<std::vector<double>> latency_s;  ///< by column, then cell
};

struct CellColumns {
  std::string accuracy;
  std::vector<std::string> latency;
};

/// Throws sim::InputError for every bad row, and unless each cell is there once.
CellTable read_cell_table(const std::string& path, const CellColumns& columns);

}  // namespace rehearse::traces
