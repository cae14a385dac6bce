#include "policies/threads/type_counts.hpp"

#include <limits>

namespace rehearse::policies {

namespace {

constexpr int kMostRounds = 20;  // of improvements; a few are enough

/// One type's operations behind those of another.
struct Transition {
  int from = 0, to = 0;  // types
  double count = 0;
  std::vector<double> refill_s;  // by threads, from 1: of all of them
};

class TypeCounts {
 public:
  TypeCounts(const sim::CpuMachine& machine, const sim::CpuGraph& graph, const workloads::OpClasses& classes,
             const sim::CpuBelief& belief)
      : machine_(machine), types_(classes.types), threads_(static_cast<std::size_t>(types_), 0) {
    work_s_.assign(static_cast<std::size_t>(types_ * machine.cores), 0);
    std::vector<Transition> all(static_cast<std::size_t>(types_ * types_));
    int before = -1;
    for (const std::int32_t op : serial_order(graph)) {
      const std::int32_t op_class = graph.class_of[static_cast<std::size_t>(op)];
      const int type = classes.type_of[static_cast<std::size_t>(op_class)];
      for (int k = 1; k <= machine.cores; ++k) work_s(type, k) += belief.alone(op_class, k);
      if (before >= 0 && before != type) {
        Transition& t = all[static_cast<std::size_t>(before * types_ + type)];
        t.from = before;
        t.to = type;
        ++t.count;
        t.refill_s.resize(static_cast<std::size_t>(machine.cores), 0);
        for (int k = 1; k <= machine.cores; ++k)
          t.refill_s[static_cast<std::size_t>(k) - 1] +=
              sim::rethreading_s(machine, k, k, graph.input_bytes[static_cast<std::size_t>(op)]);
      }
      before = type;
    }
    for (Transition& t : all)
      if (t.count > 0) transitions_.push_back(std::move(t));
  }

  /// From each type's quickest number, and from all cores for all.
  std::vector<int> settle() {
    for (int type = 0; type < types_; ++type) threads_[static_cast<std::size_t>(type)] = quickest(type, false);
    improve();
    const std::vector<int> own = threads_;
    const double own_s = step_s();
    threads_.assign(threads_.size(), machine_.cores);
    improve();
    return step_s() < own_s ? threads_ : own;
  }

 private:
  double& work_s(int type, int k) { return work_s_[static_cast<std::size_t>(type * machine_.cores + k - 1)]; }

  void improve() {
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<int> before = threads_;
      for (int type = 0; type < types_; ++type) threads_[static_cast<std::size_t>(type)] = quickest(type, true);
      if (before == threads_) break;
    }
  }

  double step_s() {
    double sum_s = 0;
    for (int type = 0; type < types_; ++type) {
      const int k = threads_[static_cast<std::size_t>(type)];
      sum_s += work_s(type, k) + changes_s(type, k) / 2;  // each change belongs to two types
    }
    return sum_s;
  }

  int quickest(int type, bool with_changes) {
    int best = machine_.cores;
    double least_s = std::numeric_limits<double>::infinity();
    for (int k = machine_.cores; k >= 1; --k) {
      const double all_s = work_s(type, k) + (with_changes ? changes_s(type, k) : 0);
      if (all_s < least_s) {
        least_s = all_s;
        best = k;
      }
    }
    return best;
  }

  double changes_s(int type, int k) const {
    double sum_s = 0;
    for (const Transition& t : transitions_) {
      if (t.from != type && t.to != type) continue;
      const int from = t.from == type ? k : threads_[static_cast<std::size_t>(t.from)];
      const int to = t.to == type ? k : threads_[static_cast<std::size_t>(t.to)];
      if (from != to) sum_s += t.count * sim::rethreading_s(machine_, from, to, 0) + t.refill_s[static_cast<std::size_t>(to) - 1];
    }
    return sum_s;
  }

  const sim::CpuMachine& machine_;
  int types_;
  std::vector<int> threads_;
  std::vector<double> work_s_;  // by type, then threads
  std::vector<Transition> transitions_;
};

}  // namespace

std::vector<std::int32_t> serial_order(const sim::CpuGraph& graph) {
  std::vector<std::int32_t> waits_for = graph.predecessors, order;
  for (std::int32_t op = 0; op < graph.ops(); ++op)
    if (waits_for[static_cast<std::size_t>(op)] == 0) order.push_back(op);
  for (std::size_t next = 0; next < order.size(); ++next) {
    const auto op = static_cast<std::size_t>(order[next]);
    for (std::int32_t i = graph.first_successor[op]; i < graph.first_successor[op + 1]; ++i) {
      const std::int32_t successor = graph.successors[static_cast<std::size_t>(i)];
      if (--waits_for[static_cast<std::size_t>(successor)] == 0) order.push_back(successor);
    }
  }
  return order;
}

std::vector<int> type_counts(const sim::CpuMachine& machine, const sim::CpuGraph& graph, const workloads::OpClasses& classes,
                             const sim::CpuBelief& belief) {
  return TypeCounts(machine, graph, classes, belief).settle();
}

}  // namespace rehearse::policies
