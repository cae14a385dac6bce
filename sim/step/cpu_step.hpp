// One training step on a many-core CPU: operations run on given cores with given numbers of threads, share memory bandwidth by
// max-min and cores by hardware threads (docs/explain/step.md, "Threads"). Event-exact: between two ends of operations all speeds are
// constant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/step/cpu_machine.hpp"

namespace rehearse::sim {

/// Who starts what when cores become free.
enum class Dispatch : std::uint8_t {
  /// `slots` teams side by side, team i on the cores from i x threads on, round and round; what overlaps shares cores.
  slots,
  /// One operation at a time has its own threads; what CpuPlan::co_run and spare_threads say runs beside it.
  strategies,
  /// Each operation on as many free cores as it has threads, as soon as there are so many: list scheduling.
  list
};

/// Believed seconds alone, of each class on 1, 2, ..., `cores` threads.
struct CpuBelief {
  int cores = 0;
  std::vector<double> alone_s;             ///< by class, then threads
  std::vector<std::int32_t> best_threads;  ///< likewise: the quickest number of threads up to this one
  double alone(int op_class, int threads) const { return alone_s[index(op_class, threads)]; }
  int best(int op_class, int most) const { return best_threads[index(op_class, most)]; }

  /// The part of its time in which its threads compute: what twice the threads gain of what they could, in [0, 1].
  double load(int op_class, int threads) const;

  /// From believed seconds, `cores` for each class.
  static CpuBelief of(int cores, std::vector<double> alone_s);

 private:
  std::size_t index(int op_class, int threads) const {
    return static_cast<std::size_t>(op_class) * static_cast<std::size_t>(cores) + static_cast<std::size_t>(threads) - 1;
  }
};

struct CpuPlan {
  Dispatch dispatch = Dispatch::strategies;
  std::vector<std::int32_t> threads;  ///< of each operation: at most the cores, for Dispatch::slots the logical cores
  int slots = 1;                      ///< of Dispatch::slots
  bool co_run = false;                ///< S3: ready operations on idle cores when they are believed to end within those that run
  bool spare_threads = false;         ///< S4: ready operations on further hardware threads of cores that are taken, when they are
                                      ///< believed to slow what runs by less than they take themselves
  /// Of each operation: the largest of the ready ones is next. Empty: the one that has been ready longest.
  std::vector<double> priority;
  std::shared_ptr<const CpuBelief> belief;  ///< for co_run and spare_threads
};

/// What ran where, in the order of its start.
struct CpuTimeline {
  struct Run {
    std::int32_t op = 0, threads = 0;
    Tick start = 0, end = 0;
    std::int32_t first = 0, count = 0;  ///< into `shares`
    bool spare = false;                 ///< S4: on cores that another operation was given
  };
  struct Share {
    std::int32_t core = 0, threads = 0;
  };
  std::vector<Run> runs;
  std::vector<Share> shares;
  std::span<const Share> cores_of(const Run& run) const { return std::span(shares).subspan(run.first, run.count); }
};

struct CpuTiming {
  Tick makespan = 0;
  double core_busy_s = 0;  ///< integral of the cores that run something
  int rethreadings = 0;    ///< starts on a core whose last team had another size
  std::vector<Tick> duration_of_op;
  double makespan_s() const { return seconds_of(makespan); }
};

/// Seconds of an operation alone on cores of its own, in the lowest places of the machine; threads beyond the cores share them.
double cpu_alone_s(const CpuMachine& machine, const CpuOpCost& cost, int threads);

/// The plan is checked (sim::check): a positive number of threads for each operation that the machine has, a belief when the
/// strategies need one.
CpuTiming time_cpu_step(const CpuGraph& graph, const CpuCosts& costs, const CpuMachine& machine, const CpuPlan& plan,
                        CpuTimeline* timeline = nullptr);

}  // namespace rehearse::sim
