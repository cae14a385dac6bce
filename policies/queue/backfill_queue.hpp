// Backfilling: EASY and conservative.
#pragma once

#include <deque>
#include <vector>

#include "policies/queue/durations.hpp"
#include "policies/queue/ordered_queue.hpp"
#include "policies/queue/planned_devices.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

// What backfilling disciplines have in common: for each pool the jobs that wait, in order of arrival (a rigid job that names
// several pools waits in the line of each, until one starts it), and when those that hold its devices are expected to let go, by
// what the user gave or the menu predicts. Devices are counted, until a job needs a number of nodes: from then on the queue
// follows on which nodes they are.

struct BackfillParameters {
  Durations::Source durations = Durations::Source::user;
  int depth = 1000;  ///< waiting jobs of a pool that are looked at, from the first on
  sim::Placement placement = sim::Placement::consolidated;
};

class BackfillQueue : public sim::Queue {
 public:
  explicit BackfillQueue(const BackfillParameters& parameters) : parameters_(parameters), durations_(parameters.durations) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) final;
  Durations& durations() { return durations_; }
  /// When the first job of the pool's line will start at the latest, if nothing outruns what was believed; infinite when none
  /// waits.
  double reserved_start_s(sim::PoolId pool) const {
    const auto p = static_cast<std::size_t>(pool);
    return p < lines_.size() ? lines_[p].head_start_s : sim::kNever;
  }

 protected:
  struct Waiting {
    std::uint64_t number = 0;
    sim::JobSlot slot = 0;
    int entry = 0;  ///< of its menu, with which it starts here
    int devices = 0;
    int nodes = 0;  ///< as in sim::Group
    double need_s = 0;
    Booking reserved = {};
    sim::Group group() const { return {.workers = devices, .nodes = nodes}; }
  };
  struct Held {
    std::size_t pool = 0;
    int devices = 0;
    double since_s = sim::kNever;
    bool waits = false;
    std::vector<sim::NodeShare> nodes = {};  ///< by node: where the devices are
    std::vector<std::size_t> lines = {};     ///< that it waits in: of each pool that it may start in
  };
  struct Line {
    std::size_t pool = 0;
    std::deque<Waiting> waiting;  ///< by number; who leaves it stands near the front
    OrderedQueue releases;        ///< jobs that hold devices, by the date at which they are expected to let go
    double head_start_s = sim::kNever;
  };
  virtual void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) = 0;
  /// A job lets go of devices before it was expected to.
  virtual void let_go_early(Line&, double /*expected_s*/, const Held&) {}

  /// A waiting job has ended.
  virtual void give_up(Line&, const Waiting&) {}

  const Held& held(sim::JobSlot slot) const { return held_[slot]; }
  int free_of(const Line& line) const { return free_.of(static_cast<sim::PoolId>(line.pool)); }
  /// Whether some job has needed a number of nodes: plans then say which.
  bool is_by_node() const { return free_.is_by_node(); }
  const sim::Nodes* nodes_of(const Line& line) const {
    return is_by_node() ? &free_.nodes(static_cast<sim::PoolId>(line.pool)) : nullptr;
  }
  bool fits_now(const sim::QueueView& view, const Waiting& waiting);
  /// Its devices must be free. Does not erase it from the line.
  void start(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer);
  /// By node: the same, unless one of its devices would be on one of these nodes.
  bool start_off(Line& line, const Waiting& waiting, std::span<const sim::NodeShare> nodes, const sim::QueueView& view,
                 sim::QueueAnswer& answer);
  /// By node: the same on the devices that are reserved for it, if they are free.
  bool start_as_planned(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer);
  const BackfillParameters& parameters() const { return parameters_; }

 private:
  void read(const sim::QueueView& view);
  void join(const sim::QueueView& view, sim::JobSlot slot);
  void holds(const sim::QueueView& view, sim::JobSlot slot);
  void leave(const sim::QueueView& view, sim::JobSlot slot);
  void note_start(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer,
                  std::vector<sim::NodeShare> nodes);
  void find_held(const sim::QueueView& view);
  void leave_line(std::size_t pool, std::uint64_t number);
  void serve_all(const sim::QueueView& view, sim::QueueAnswer& answer);

  BackfillParameters parameters_;
  Durations durations_;
  std::vector<Line> lines_;  // by pool
  std::vector<Held> held_;   // by slot
  sim::FreeDevices free_;    // less what this answer has given away
  bool by_node_ = false;     // some job has needed a number of nodes
  // Of jobs that wait in several lines: the pool that a job names first has a first look; somebody was kept waiting for that; and
  // somebody has left the other lines.
  bool prefers_ = true, kept_waiting_ = false, left_others_ = false;
};

// EASY backfilling: the first job of a line has a reservation at the date by which enough devices are expected to be free; others
// may overtake it if they are expected to end by then, or use devices that it leaves over (Lifka, JSSPP 1995; Mu'alem and
// Feitelson, IEEE TPDS 12(6), 2001, section 2). With durations that are upper bounds the reservation never moves later.

class Easy final : public BackfillQueue {
 public:
  explicit Easy(const BackfillParameters& parameters = {}) : BackfillQueue(parameters) {}

 private:
  struct Reservation {
    double start_s = sim::kNever;
    int left_over = 0;                       ///< devices that the job does not need then
    std::vector<sim::NodeShare> nodes = {};  ///< of a job that needs a number of nodes: those that are kept for it, whole
  };
  Reservation reserve(const Line& line, const Waiting& head, double now_s) const;
  Reservation reserve_nodes(const Line& line, const Waiting& head, double now_s) const;
  void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) override;
};

// Conservative backfilling: every waiting job (up to `depth`) has a reservation, made when it joins at the first date that
// delays no other. When a job ends early, reservations move to earlier dates, in order of arrival (Mu'alem and Feitelson, IEEE
// TPDS 12(6), 2001, section 2).

class Conservative final : public BackfillQueue {
 public:
  explicit Conservative(const BackfillParameters& parameters = {}) : BackfillQueue(parameters) {}

 private:
  struct Plan {
    PoolAvailability available;
    bool early = false;                    ///< something was let go of early since the last call
    double gained_until_s = -sim::kNever;  ///< nothing beyond has become free since everybody last looked for an earlier date
  };
  Plan& plan_of(const Line& line);
  void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) override;
  void let_go_early(Line& line, double expected_s, const Held& held) override;
  void give_up(Line& line, const Waiting& waiting) override;
  void rebuild(Line& line, Plan& plan, double now_s);
  void compress(Line& line, Plan& plan, double now_s);
  bool is_as_planned(const Line& line, const Plan& plan, double now_s) const;
  std::size_t planned(const Line& line) const;

  std::deque<Plan> plans_;  // by pool
};

}  // namespace rehearse::policies
