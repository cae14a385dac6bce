// Which cores are whose: free ones are handed out in whole tiles first, and every core remembers the size of its last team.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/step/cpu_machine.hpp"

namespace rehearse::sim {

struct CoreShare {
  std::int32_t core = 0, threads = 0;
};

/// A core's own thread (or threads, where teams overlap), and spare ones on its further hardware threads.
class CpuCores {
 public:
  explicit CpuCores(const CpuMachine& machine);

  /// Without an own thread.
  int idle() const { return idle_; }
  /// With an own thread, and a further hardware thread that is free.
  int spare() const { return spare_; }
  int threads_on(int core) const { return own_of_[static_cast<std::size_t>(core)] + spare_of_[static_cast<std::size_t>(core)]; }

  /// `count` idle cores, from the lowest or from the highest, those in tiles that are all idle first.
  void take_idle(int count, bool from_top, std::vector<CoreShare>& out);
  /// Spare threads, from the highest core.
  void take_spare(int count, std::vector<CoreShare>& out);
  /// `count` threads from this core on, round and round, whoever is there.
  void take_from(int core, int count, std::vector<CoreShare>& out);
  void give_back(const std::vector<CoreShare>& shares, bool spare);

  /// The size of the last team that the core's own (or its spare) thread was in, 0: none; then it is `threads`.
  int swap_team(int core, bool spare, int threads);

 private:
  void add(int core, int threads, bool spare, std::vector<CoreShare>& out);
  void count(int core, int sign);
  const CpuMachine& machine_;
  std::vector<std::int32_t> own_of_, spare_of_, team_, spare_team_;
  std::vector<std::int32_t> whole_, broken_;  // scratch
  int idle_ = 0, spare_ = 0;
};

}  // namespace rehearse::sim
