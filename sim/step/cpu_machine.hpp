// A many-core CPU as operations share it, and what an operation asks of it with a given number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::sim {

/// Core i belongs to tile i / cores_per_tile; tiles go round the sockets, so that cores with neighbouring numbers use the memory
/// of all sockets, as a spread affinity does.
struct CpuMachine {
  int cores = 1;  ///< physical, of all sockets
  int sockets = 1;
  int cores_per_tile = 1;                 ///< that share one L2 cache
  int threads_per_core = 1;               ///< hardware threads
  double bandwidth_bytes_per_s = 0;       ///< of the memory of all sockets
  double core_bandwidth_bytes_per_s = 0;  ///< that one core draws at most
  double tile_cache_bytes = 0;
  std::vector<double> smt_yield{1};  ///< arithmetic of a core with 1, 2, ... threads, of that with one
  double wake_s = 0;                 ///< for each thread that joins or leaves a core's team
  double time_slice_s = 0;           ///< that an operation waits for, with twice as many threads on a core as its hardware has
  double rethreading = 1;            ///< multiplies all that changing a team costs

  int socket_of(int core) const { return core / cores_per_tile % sockets; }
  int logical_cores() const { return cores * threads_per_core; }
  /// Above the hardware threads the system shares them out: no more is gained.
  double yield(int threads) const {
    return smt_yield[static_cast<std::size_t>(threads < static_cast<int>(smt_yield.size()) ? threads : smt_yield.size()) - 1];
  }
};

/// Of a catalogue's CPU. Its cores, arithmetic and bandwidth must be positive (sim::check).
CpuMachine cpu_machine_of(const Device& cpu);

/// What it takes for a core's team of `from` threads to be followed by one of another number, that reads `input_bytes`: threads
/// wake or leave, and what lay in the caches of other cores is fetched again.
double rethreading_s(const CpuMachine& machine, int from, int to, double input_bytes);
/// Bytes that are fetched.
double refill_bytes(const CpuMachine& machine, int to, double input_bytes);

/// What one operation takes alone on k threads with a core each.
struct CpuOpCost {
  double fixed_s = 0;        ///< on no matter which cores
  double arithmetic_s = 0;   ///< beside memory traffic
  double bytes = 0;          ///< of that traffic
  bool packs = false;        ///< memory traffic comes before the arithmetic instead of beside it
  double further_bytes = 0;  ///< traffic whose time is in fixed_s
};

/// Operations of one class cost the same. Thread counts from 1 to what the machine has; asked for often, so answers are kept.
class CpuCosts {
 public:
  virtual ~CpuCosts() = default;
  virtual int classes() const = 0;
  virtual const CpuOpCost& cost(int op_class, int threads) const = 0;
};

/// Operations of one step at one batch size, for a CPU. Every edge leads from a smaller index to a larger one.
struct CpuGraph {
  std::vector<std::int32_t> class_of;         ///< of each operation
  std::vector<double> input_bytes;            ///< of each operation, from others
  std::vector<std::int32_t> predecessors;     ///< how many each operation has
  std::vector<std::int32_t> first_successor;  ///< of each operation and the end, into `successors`
  std::vector<std::int32_t> successors;
  int ops() const { return static_cast<int>(class_of.size()); }
};

/// `class_of`: one for each operation.
CpuGraph cpu_graph(const OpGraph& graph, double batch, std::vector<std::int32_t> class_of);

// Which cores are whose: free ones are handed out in whole tiles first, and every core remembers the size of its last team.

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

// How fast operations go that run side by side on a CPU. Each asks of its cores the part of its time in which it computes, and of
// its sockets' memory its mean traffic; a core that is asked for too much is shared in proportion, bandwidth by max-min.

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
