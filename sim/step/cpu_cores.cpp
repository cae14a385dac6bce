#include "sim/step/cpu_cores.hpp"

#include <algorithm>
#include <utility>

namespace rehearse::sim {

CpuCores::CpuCores(const CpuMachine& machine)
    : machine_(machine),
      own_of_(static_cast<std::size_t>(machine.cores), 0),
      spare_of_(own_of_),
      team_(own_of_),
      spare_team_(own_of_),
      idle_(machine.cores) {}

void CpuCores::count(int core, int sign) {
  const auto c = static_cast<std::size_t>(core);
  if (own_of_[c] == 0)
    idle_ += sign;
  else if (spare_of_[c] + 1 < machine_.threads_per_core)
    spare_ += sign;
}

void CpuCores::add(int core, int threads, bool spare, std::vector<CoreShare>& out) {
  count(core, -1);
  (spare ? spare_of_ : own_of_)[static_cast<std::size_t>(core)] += threads;
  count(core, +1);
  out.push_back({core, threads});
}

void CpuCores::take_idle(int count, bool from_top, std::vector<CoreShare>& out) {
  const int cores = machine_.cores, tile = machine_.cores_per_tile;
  whole_.clear();
  broken_.clear();
  for (int i = 0; i < cores; ++i) {
    const int core = from_top ? cores - 1 - i : i, first = core / tile * tile;
    if (own_of_[static_cast<std::size_t>(core)] != 0) continue;
    const auto end = own_of_.begin() + std::min(cores, first + tile);
    (std::all_of(own_of_.begin() + first, end, [](int threads) { return threads == 0; }) ? whole_ : broken_).push_back(core);
  }
  whole_.insert(whole_.end(), broken_.begin(), broken_.end());
  for (int i = 0; i < count; ++i) add(whole_[static_cast<std::size_t>(i)], 1, false, out);
}

void CpuCores::take_spare(int count, std::vector<CoreShare>& out) {
  for (int core = machine_.cores - 1; core >= 0 && count > 0; --core)
    if (own_of_[static_cast<std::size_t>(core)] > 0 &&
        spare_of_[static_cast<std::size_t>(core)] + 1 < machine_.threads_per_core) {
      add(core, 1, true, out);
      --count;
    }
}

void CpuCores::take_from(int core, int count, std::vector<CoreShare>& out) {
  const int cores = machine_.cores, used = std::min(count, cores);
  for (int i = 0; i < used; ++i) add((core + i) % cores, count / cores + (i < count % cores ? 1 : 0), false, out);
}

void CpuCores::give_back(const std::vector<CoreShare>& shares, bool spare) {
  for (const CoreShare& share : shares) {
    count(share.core, -1);
    (spare ? spare_of_ : own_of_)[static_cast<std::size_t>(share.core)] -= share.threads;
    count(share.core, +1);
  }
}

int CpuCores::swap_team(int core, bool spare, int threads) {
  return std::exchange((spare ? spare_team_ : team_)[static_cast<std::size_t>(core)], threads);
}

}  // namespace rehearse::sim
