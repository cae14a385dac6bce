// How fast operations go that run side by side on a CPU. Each asks of its cores the part of its time in which it computes, and of
// its sockets' memory its mean traffic; a core that is asked for too much is shared in proportion, bandwidth by max-min.
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
  std::vector<double> on_socket;     ///< the part of its traffic: its data lie evenly on the sockets of its cores
  double bandwidth_bytes_per_s = 0;  ///< that its cores can draw

  double arithmetic_s = 0;  ///< alone on its cores
  double load = 0;          ///< the part of its time alone in which it computes
  double alone_s = 0;       ///< at the present share of its cores, with all the bandwidth
  double speed = 0;         ///< of the whole operation, a second
};

/// Fills in what follows from the shares.
void settle_team(const CpuMachine& machine, CpuTeam& team);

/// The speed of each team; all running ones must be given.
void set_speeds(const CpuMachine& machine, const CpuCores& cores, std::span<CpuTeam* const> teams);

}  // namespace rehearse::sim
