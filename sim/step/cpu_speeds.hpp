// How fast operations go that run side by side on a CPU: a core's arithmetic is shared by its threads, each socket's memory
// bandwidth by max-min.
#pragma once

#include <span>
#include <vector>

#include "sim/step/cpu_cores.hpp"
#include "sim/step/cpu_machine.hpp"

namespace rehearse::sim {

/// One operation that runs.
struct CpuTeam {
  CpuOpCost cost;  ///< what changing teams costs included
  int threads = 1;
  std::vector<CoreShare> shares;
  std::vector<double> on_socket;     ///< the part of its cores, and so of its traffic, on each socket
  double bandwidth_bytes_per_s = 0;  ///< that its cores can draw

  double alone_s = 0;  ///< at the present share of its cores, with all the bandwidth
  double speed = 0;    ///< of the whole operation, a second
};

/// Fills in what follows from the shares.
void settle_team(const CpuMachine& machine, CpuTeam& team);

/// The speed of each team; all running ones must be given.
void set_speeds(const CpuMachine& machine, const CpuCores& cores, std::span<CpuTeam* const> teams);

}  // namespace rehearse::sim
