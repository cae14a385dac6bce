#include "sim/step/cpu_speeds.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rehearse::sim {

namespace {

double traffic(const CpuTeam& team) { return team.cost.bytes + team.cost.further_bytes; }

double duration_s(const CpuTeam& team, double arithmetic_s) {
  const double memory_s = team.cost.bytes > 0 ? team.cost.bytes / team.bandwidth_bytes_per_s : 0;
  return team.cost.fixed_s + (team.cost.packs ? arithmetic_s + memory_s : std::max(arithmetic_s, memory_s));
}

/// Of all cores, how much arithmetic is asked of them: 1 is what one thread does without a pause.
std::vector<double> loads(const CpuMachine& machine, std::span<CpuTeam* const> teams) {
  std::vector<double> load(static_cast<std::size_t>(machine.cores), 0);
  for (const CpuTeam* team : teams)
    for (const CoreShare& share : team->shares)
      load[static_cast<std::size_t>(share.core)] += team->load * machine.yield(share.threads);
  return load;
}

double shared_s(const CpuMachine& machine, const CpuCores& cores, const std::vector<double>& load, const CpuTeam& team) {
  double got = 0, most_threads = 0;
  for (const CoreShare& share : team.shares) {
    const int all = cores.threads_on(share.core);
    got += std::min(1.0, machine.yield(all) / load[static_cast<std::size_t>(share.core)]);
    most_threads = std::max<double>(most_threads, all);
  }
  const double waiting_s = std::max(0.0, most_threads / machine.threads_per_core - 1) * machine.time_slice_s;
  return duration_s(team, team.arithmetic_s * static_cast<double>(team.shares.size()) / got) + waiting_s;
}

/// Progressive filling: all rates grow together until a team has its demand or one of its sockets is full.
void share_bandwidth(const CpuMachine& machine, std::span<CpuTeam* const> teams) {
  const double socket_bandwidth = machine.bandwidth_bytes_per_s / machine.sockets;
  std::vector<double> left(static_cast<std::size_t>(machine.sockets), socket_bandwidth);
  const auto demand = [](const CpuTeam& team) { return traffic(team) / team.alone_s; };
  std::vector<double> wanted(left.size(), 0);
  for (const CpuTeam* team : teams)
    for (std::size_t s = 0; s < left.size(); ++s) wanted[s] += demand(*team) * team->on_socket[s];
  const bool enough = std::all_of(wanted.begin(), wanted.end(), [&](double w) { return w <= socket_bandwidth; });
  if (enough) return;  // each goes at 1/alone_s, as set before

  std::vector<CpuTeam*> growing;
  for (CpuTeam* team : teams)
    if (traffic(*team) > 0) growing.push_back(team);
  double level = 0;  // bytes a second that each of `growing` has
  while (!growing.empty()) {
    double step = std::numeric_limits<double>::infinity();
    for (const CpuTeam* team : growing) step = std::min(step, demand(*team) - level);
    std::vector<double> weight(left.size(), 0);
    for (const CpuTeam* team : growing)
      for (std::size_t s = 0; s < left.size(); ++s) weight[s] += team->on_socket[s];
    std::size_t full = left.size();
    for (std::size_t s = 0; s < left.size(); ++s)
      if (weight[s] > 0 && left[s] / weight[s] < step) {
        step = left[s] / weight[s];
        full = s;
      }
    level += step;
    for (std::size_t s = 0; s < left.size(); ++s) left[s] = std::max(0.0, left[s] - step * weight[s]);
    if (full < left.size()) left[full] = 0;
    std::erase_if(growing, [&](CpuTeam* team) {
      const bool has_all = full == left.size() && demand(*team) <= level * (1 + 1e-12);
      const bool stopped = full < left.size() && team->on_socket[full] > 0;
      if (!has_all && stopped) team->speed = level / traffic(*team);
      return has_all || stopped;
    });
  }
}

}  // namespace

void settle_team(const CpuMachine& machine, CpuTeam& team) {
  team.on_socket.assign(static_cast<std::size_t>(machine.sockets), 0);
  const auto cores = static_cast<double>(team.shares.size());
  for (const CoreShare& share : team.shares) team.on_socket[static_cast<std::size_t>(machine.socket_of(share.core))] = 1;
  const double sockets = std::accumulate(team.on_socket.begin(), team.on_socket.end(), 0.0);
  for (double& part : team.on_socket) part /= sockets;
  team.bandwidth_bytes_per_s =
      std::min(cores * machine.core_bandwidth_bytes_per_s, machine.bandwidth_bytes_per_s * sockets / machine.sockets);
  double yield = 0;
  for (const CoreShare& share : team.shares) yield += machine.yield(share.threads);
  team.arithmetic_s = team.cost.arithmetic_s * team.threads / yield;
  team.load = team.arithmetic_s / duration_s(team, team.arithmetic_s);
}

void set_speeds(const CpuMachine& machine, const CpuCores& cores, std::span<CpuTeam* const> teams) {
  const std::vector<double> load = loads(machine, teams);
  for (CpuTeam* team : teams) {
    team->alone_s = shared_s(machine, cores, load, *team);
    team->speed = 1 / team->alone_s;
  }
  share_bandwidth(machine, teams);
}

}  // namespace rehearse::sim
