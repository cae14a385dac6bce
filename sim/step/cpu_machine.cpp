#include "sim/step/cpu_machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

CpuMachine cpu_machine_of(const Device& cpu) {
  check(cpu.cores > 0 && cpu.peak_fp32_flops > 0 && cpu.memory_bandwidth_bytes_per_s > 0,
        "a CPU has cores, arithmetic and memory");
  const Threading& threading = cpu.threading;
  const double bandwidth = cpu.memory_bandwidth_bytes_per_s * cpu.efficiency.bandwidth;
  CpuMachine machine{
      .cores = cpu.cores,
      .sockets = std::clamp(cpu.sockets, 1, cpu.cores),
      .cores_per_tile = threading.cores_per_tile,
      .threads_per_core = std::max(1, cpu.threads_per_core),
      .bandwidth_bytes_per_s = bandwidth,
      .core_bandwidth_bytes_per_s = cpu.core_bandwidth_bytes_per_s > 0 ? cpu.core_bandwidth_bytes_per_s : bandwidth,
      .tile_cache_bytes = threading.tile_cache_bytes,
      .wake_s = threading.wake_s,
      .time_slice_s = threading.time_slice_s};
  // Of two threads; more of them gain nothing further.
  machine.smt_yield.assign(static_cast<std::size_t>(machine.threads_per_core), threading.smt_yield);
  machine.smt_yield.front() = 1;
  return machine;
}

double refill_bytes(const CpuMachine& machine, int to, double input_bytes) {
  const int tiles = (std::min(to, machine.cores) + machine.cores_per_tile - 1) / machine.cores_per_tile;
  return machine.rethreading * std::min(input_bytes, tiles * machine.tile_cache_bytes);
}

double rethreading_s(const CpuMachine& machine, int from, int to, double input_bytes) {
  const double bandwidth =
      std::min(std::min(to, machine.cores) * machine.core_bandwidth_bytes_per_s, machine.bandwidth_bytes_per_s);
  return machine.rethreading * machine.wake_s * std::abs(to - from) + refill_bytes(machine, to, input_bytes) / bandwidth;
}

CpuGraph cpu_graph(const OpGraph& graph, double batch, std::vector<std::int32_t> class_of) {
  const std::size_t ops = graph.ops.size();
  check(class_of.size() == ops, "a class for each operation");
  CpuGraph out{.class_of = std::move(class_of)};
  out.input_bytes.assign(ops, 0);
  out.predecessors.assign(ops, 0);
  out.first_successor.assign(ops + 1, 0);
  for (const Edge& edge : graph.edges) {
    check(edge.from >= 0 && edge.from < edge.to && edge.to < static_cast<int>(ops), "an edge leads forward");
    ++out.first_successor[static_cast<std::size_t>(edge.from) + 1];
    ++out.predecessors[static_cast<std::size_t>(edge.to)];
    out.input_bytes[static_cast<std::size_t>(edge.to)] += edge.bytes.at(batch);
  }
  for (std::size_t op = 0; op < ops; ++op) out.first_successor[op + 1] += out.first_successor[op];
  out.successors.resize(graph.edges.size());
  std::vector<std::int32_t> next(out.first_successor.begin(), out.first_successor.end() - 1);
  for (const Edge& edge : graph.edges)
    out.successors[static_cast<std::size_t>(next[static_cast<std::size_t>(edge.from)]++)] = edge.to;
  return out;
}

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
