#include "sim/step/cpu_step.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/step/cpu_machine.hpp"

namespace rehearse::sim {

namespace {

struct Running {
  CpuTeam team;
  std::int32_t op = 0;
  bool spare = false, leads = false;
  int slot = 0;
  Tick start = 0, end = 0;
  double left = 1;  // of the operation, at the last change of speeds
  double believed_end_s = 0;
  std::size_t timeline_row = 0;
};

/// Ready operations, the next one first.
class ReadyList {
 public:
  explicit ReadyList(const std::vector<double>& priority) : priority_(priority) {}
  void add(std::int32_t op) {
    // Equal ones in the order in which they became ready.
    const auto before = [&](std::int32_t a, std::int32_t b) { return rank(a) > rank(b); };
    ops_.insert(priority_.empty() ? ops_.end() : std::upper_bound(ops_.begin(), ops_.end(), op, before), op);
  }
  bool empty() const { return ops_.empty(); }
  std::size_t size() const { return ops_.size(); }
  std::int32_t operator[](std::size_t i) const { return ops_[i]; }
  std::int32_t take(std::size_t i) {
    const std::int32_t op = ops_[i];
    ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(i));
    return op;
  }

 private:
  double rank(std::int32_t op) const { return priority_[static_cast<std::size_t>(op)]; }
  const std::vector<double>& priority_;
  std::deque<std::int32_t> ops_;
};

class CpuStep {
 public:
  CpuStep(const CpuGraph& graph, const CpuCosts& costs, const CpuMachine& machine, const CpuPlan& plan, CpuTimeline* timeline)
      : graph_(graph),
        costs_(costs),
        machine_(machine),
        plan_(plan),
        timeline_(timeline),
        cores_(machine),
        ready_(plan.priority),
        waits_for_(graph.predecessors),
        slot_taken_(static_cast<std::size_t>(plan.slots), 0) {}

  CpuTiming run() {
    timing_.duration_of_op.assign(static_cast<std::size_t>(graph_.ops()), 0);
    for (std::int32_t op = 0; op < graph_.ops(); ++op)
      if (waits_for_[static_cast<std::size_t>(op)] == 0) ready_.add(op);
    int ended = 0;
    for (;;) {
      dispatch();
      if (running_.empty()) break;
      change_speeds();
      ended += advance();
    }
    check(ended == graph_.ops(), "every operation of a step runs", seconds_of(now_));
    timing_.makespan = now_;
    return std::move(timing_);
  }

 private:
  int class_of(std::int32_t op) const { return graph_.class_of[static_cast<std::size_t>(op)]; }
  int threads_of(std::int32_t op) const { return plan_.threads[static_cast<std::size_t>(op)]; }
  double now_s() const { return seconds_of(now_); }

  // ---- what starts

  void dispatch() {
    switch (plan_.dispatch) {
      case Dispatch::slots:
        return dispatch_slots();
      case Dispatch::list:
        return dispatch_list();
      case Dispatch::strategies:
        return dispatch_strategies();
    }
  }

  void dispatch_slots() {
    for (int slot = 0; slot < plan_.slots && !ready_.empty(); ++slot) {
      if (slot_taken_[static_cast<std::size_t>(slot)]) continue;
      const std::int32_t op = ready_.take(0);
      Running& one = add(op, threads_of(op), false);
      one.slot = slot;
      slot_taken_[static_cast<std::size_t>(slot)] = 1;
      const auto first = static_cast<std::int64_t>(slot) * one.team.threads % machine_.cores;
      cores_.take_from(static_cast<int>(first), one.team.threads, one.team.shares);
      begin(one);
    }
  }

  void dispatch_list() {
    for (std::size_t i = 0; i < ready_.size() && cores_.idle() > 0;)
      if (threads_of(ready_[i]) <= cores_.idle())
        start_on_idle(ready_.take(i), -1, false);
      else
        ++i;
  }

  void dispatch_strategies() {
    if (!has_leader_ && !ready_.empty()) start_leader();
    if (plan_.co_run)
      while (cores_.idle() > 0 && start_beside()) {
      }
    if (plan_.spare_threads)
      while (cores_.spare() > 0 && start_on_spare()) {
      }
  }

  /// Beside operations that run on: fewer threads at once, or its own when those have ended, whichever is believed to end first.
  void start_leader() {
    const std::int32_t op = ready_[0];
    int threads = threads_of(op);
    if (threads > cores_.idle()) {
      if (cores_.idle() == 0) return;
      const int fewer = plan_.belief->best(class_of(op), cores_.idle());
      if (plan_.belief->alone(class_of(op), fewer) > rest_s() + plan_.belief->alone(class_of(op), threads)) return;
      threads = fewer;
    }
    ready_.take(0);
    start_on_idle(op, threads, true);
    has_leader_ = true;
  }

  /// S3: of the operations that are believed to end within those that run, the next one.
  bool start_beside() {
    const double rest = rest_s();
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const int op_class = class_of(ready_[i]), threads = plan_.belief->best(op_class, cores_.idle());
      if (plan_.belief->alone(op_class, threads) > rest) continue;
      start_on_idle(ready_.take(i), threads, false);
      return true;
    }
    return false;
  }

  /// S4: the next operation that is believed to slow what runs by less than it takes alone.
  bool start_on_spare() {
    const int taken = machine_.cores - cores_.idle();
    double load = 0;  // of a core that is taken, believed
    for (const Running& one : running_) load += believed_load(one.op, one.team.threads) * one.team.threads / taken;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const int op_class = class_of(ready_[i]), planned = threads_of(ready_[i]);
      // As many as planned, so that no team changes that need not, or the best of what there is.
      const int threads = planned <= cores_.spare() ? planned : plan_.belief->best(op_class, cores_.spare());
      const double slower = std::max(1.0, (load + believed_load(ready_[i], threads)) / machine_.yield(2));
      const double beside_s = plan_.belief->alone(op_class, threads) * slower;
      const double slowed_s = beside_s * (1 - 1 / slower) * threads / taken;
      if (slowed_s > plan_.belief->alone(op_class, threads_of(ready_[i]))) continue;
      Running& one = add(ready_.take(i), threads, true);
      cores_.take_spare(threads, one.team.shares);
      one.believed_end_s = now_s() + beside_s;
      begin(one);
      return true;
    }
    return false;
  }

  double believed_load(std::int32_t op, int threads) const {
    return plan_.belief->load(class_of(op), std::min(threads, machine_.cores));
  }

  /// How long what runs is believed to run on.
  double rest_s() const {
    double end_s = now_s();
    for (const Running& one : running_) end_s = std::max(end_s, one.believed_end_s);
    return end_s - now_s();
  }

  void start_on_idle(std::int32_t op, int threads, bool leads) {
    Running& one = add(op, threads < 0 ? threads_of(op) : threads, false);
    one.leads = leads;
    cores_.take_idle(one.team.threads, !leads && plan_.dispatch == Dispatch::strategies, one.team.shares);
    if (plan_.belief) one.believed_end_s = now_s() + plan_.belief->alone(class_of(op), one.team.threads);
    begin(one);
  }

  Running& add(std::int32_t op, int threads, bool spare) {
    Running& one = running_.emplace_back();
    one.op = op;
    one.spare = spare;
    one.team.threads = threads;
    one.start = now_;
    return one;
  }

  /// Its cores are taken: what the team costs, and its place on the timeline.
  void begin(Running& one) {
    CpuTeam& team = one.team;
    team.cost = costs_.cost(class_of(one.op), team.threads);
    const int before = cores_.swap_team(team.shares.front().core, one.spare, team.threads);
    for (const CoreShare& share : team.shares) cores_.swap_team(share.core, one.spare, team.threads);
    if (before != 0 && before != team.threads) change_team(one, before);
    settle_team(machine_, team);
    if (timeline_ == nullptr) return;
    one.timeline_row = timeline_->runs.size();
    timeline_->runs.push_back({.op = one.op,
                               .threads = team.threads,
                               .start = now_,
                               .first = static_cast<std::int32_t>(timeline_->shares.size()),
                               .count = static_cast<std::int32_t>(team.shares.size()),
                               .spare = one.spare});
    for (const CoreShare& share : team.shares) timeline_->shares.push_back({share.core, share.threads});
  }

  void change_team(Running& one, int before) {
    const double input_bytes = graph_.input_bytes[static_cast<std::size_t>(one.op)];
    one.team.cost.fixed_s += rethreading_s(machine_, before, one.team.threads, input_bytes);
    one.team.cost.further_bytes += refill_bytes(machine_, one.team.threads, input_bytes);
    ++timing_.rethreadings;
  }

  // ---- time

  void change_speeds() {
    teams_.clear();
    for (Running& one : running_) teams_.push_back(&one.team);
    set_speeds(machine_, cores_, teams_);
    for (Running& one : running_) {
      check(std::isfinite(one.team.speed), "an operation takes time", now_s());
      one.end = now_ + std::max<Tick>(one.left > 0 ? 1 : 0, ticks_up(one.left / one.team.speed));
      whole_ticks(static_cast<double>(one.end));  // a whole step, too, is of a length that dates can have
    }
  }

  /// To the next end; all operations that end then are gone afterwards.
  int advance() {
    Tick next = std::numeric_limits<Tick>::max();
    for (const Running& one : running_) next = std::min(next, one.end);
    const double passed_s = seconds_of(next - now_);
    timing_.core_busy_s += passed_s * (machine_.cores - cores_.idle());
    now_ = next;
    for (Running& one : running_) one.left = one.end == next ? 0 : std::max(0.0, one.left - passed_s * one.team.speed);
    finished_.clear();
    for (Running& one : running_)
      if (one.end == next) {
        end(one);
        finished_.push_back(one.op);
      }
    std::erase_if(running_, [next](const Running& one) { return one.end == next; });
    std::sort(finished_.begin(), finished_.end());
    for (const std::int32_t op : finished_) release(op);
    return static_cast<int>(finished_.size());
  }

  void end(Running& one) {
    cores_.give_back(one.team.shares, one.spare);
    if (one.leads) has_leader_ = false;
    if (plan_.dispatch == Dispatch::slots) slot_taken_[static_cast<std::size_t>(one.slot)] = 0;
    timing_.duration_of_op[static_cast<std::size_t>(one.op)] = now_ - one.start;
    if (timeline_ != nullptr) timeline_->runs[one.timeline_row].end = now_;
  }

  void release(std::int32_t op) {
    for (std::int32_t i = graph_.first_successor[static_cast<std::size_t>(op)];
         i < graph_.first_successor[static_cast<std::size_t>(op) + 1]; ++i) {
      const std::int32_t next = graph_.successors[static_cast<std::size_t>(i)];
      if (--waits_for_[static_cast<std::size_t>(next)] == 0) ready_.add(next);
    }
  }

  const CpuGraph& graph_;
  const CpuCosts& costs_;
  const CpuMachine& machine_;
  const CpuPlan& plan_;
  CpuTimeline* timeline_;
  CpuCores cores_;
  ReadyList ready_;
  std::vector<std::int32_t> waits_for_;
  std::vector<char> slot_taken_;
  std::deque<Running> running_;
  std::vector<CpuTeam*> teams_;
  std::vector<std::int32_t> finished_;
  Tick now_ = 0;
  bool has_leader_ = false;
  CpuTiming timing_;
};

void check_plan(const CpuGraph& graph, const CpuMachine& machine, const CpuPlan& plan) {
  check(static_cast<int>(plan.threads.size()) == graph.ops(), "a thread count for each operation");
  check(plan.priority.empty() || plan.priority.size() == plan.threads.size(), "a priority for each operation");
  const int most = plan.dispatch == Dispatch::slots ? machine.logical_cores() : machine.cores;
  for (const std::int32_t threads : plan.threads) check(threads >= 1 && threads <= most, "as many threads as the machine has");
  check(plan.slots >= 1, "at least one slot");
  const bool beside = plan.dispatch == Dispatch::strategies && (plan.co_run || plan.spare_threads);
  check(!beside || (plan.belief && plan.belief->cores == machine.cores), "co-running goes by believed times");
}

}  // namespace

CpuBelief CpuBelief::of(int cores, std::vector<double> alone_s) {
  CpuBelief belief{.cores = cores, .alone_s = std::move(alone_s)};
  belief.best_threads.resize(belief.alone_s.size());
  const auto size = static_cast<std::size_t>(cores);
  for (std::size_t i = 0; i < belief.alone_s.size(); ++i) {
    const std::size_t first = i / size * size;
    const std::size_t before = i == first ? i : first + static_cast<std::size_t>(belief.best_threads[i - 1]) - 1;
    belief.best_threads[i] = static_cast<std::int32_t>((belief.alone_s[i] < belief.alone_s[before] ? i : before) - first + 1);
  }
  return belief;
}

double CpuBelief::load(int op_class, int threads) const {
  if (threads < 2) return 1;
  const int half = threads / 2;
  const double gained =
      std::log(alone(op_class, half) / alone(op_class, threads)) / std::log(static_cast<double>(threads) / half);
  return std::clamp(gained, 0.0, 1.0);
}

double cpu_alone_s(const CpuMachine& machine, const CpuOpCost& cost, int threads) {
  CpuCores cores(machine);
  CpuTeam team{.cost = cost, .threads = threads};
  cores.take_from(0, threads, team.shares);
  settle_team(machine, team);
  CpuTeam* const teams[] = {&team};
  set_speeds(machine, cores, teams);
  return 1 / team.speed;
}

CpuTiming time_cpu_step(const CpuGraph& graph, const CpuCosts& costs, const CpuMachine& machine, const CpuPlan& plan,
                        CpuTimeline* timeline) {
  check_plan(graph, machine, plan);
  if (timeline != nullptr) *timeline = {};
  return CpuStep(graph, costs, machine, plan, timeline).run();
}

}  // namespace rehearse::sim
