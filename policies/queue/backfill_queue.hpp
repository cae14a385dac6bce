// Backfilling: EASY and conservative.
#pragma once

#include <deque>
#include <vector>

#include "policies/queue/durations.hpp"
#include "policies/queue/ordered_queue.hpp"
#include "policies/queue/planned_devices.hpp"

namespace rehearse::policies {

// What backfilling disciplines have in common: for each pool the jobs that wait, in order of arrival, and when those that hold
// its devices are expected to let go, by what the user gave or the menu predicts.

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
    int devices = 0;
    double need_s = 0;
    double start_s = sim::kNever;  ///< reserved
  };
  struct Line {
    std::size_t pool = 0;
    std::deque<Waiting> waiting;  ///< by number; who leaves it stands near the front
    OrderedQueue releases;        ///< jobs that hold devices, by the date at which they are expected to let go
    double head_start_s = sim::kNever;
  };
  virtual void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) = 0;
  /// A job lets go of devices before it was expected to.
  virtual void let_go_early(Line&, double /*expected_s*/, int /*devices*/) {}

  /// A waiting job has ended.
  virtual void give_up(Line&, const Waiting&) {}

  int devices_of(sim::JobSlot slot) const { return held_[slot].devices; }
  int free_of(const Line& line) const { return free_[line.pool]; }
  bool fits_now(const sim::QueueView& view, const Waiting& waiting) const;
  /// Its devices must be free. Does not erase it from the line.
  void start(Line& line, const Waiting& waiting, const sim::QueueView& view, sim::QueueAnswer& answer);
  const BackfillParameters& parameters() const { return parameters_; }

 private:
  struct Held {
    std::size_t pool = 0;
    int devices = 0;
    double since_s = sim::kNever;
    bool waits = false;
  };
  void read(const sim::QueueView& view);
  void join(const sim::QueueView& view, sim::JobSlot slot);
  void holds(const sim::QueueView& view, sim::JobSlot slot);
  void leave(const sim::QueueView& view, sim::JobSlot slot);

  BackfillParameters parameters_;
  Durations durations_;
  std::vector<Line> lines_;  // by pool
  std::vector<Held> held_;   // by slot
  std::vector<int> free_;    // by pool, less what this answer has given away
};

// EASY backfilling: the first job of a line has a reservation at the date by which enough devices are expected to be free; others
// may overtake it if they are expected to end by then, or use devices that it leaves over (Lifka, JSSPP 1995; Mu'alem and
// Feitelson, IEEE TPDS 12(6), 2001, section 2). With durations that are upper bounds the reservation never moves later.

class Easy final : public BackfillQueue {
 public:
  explicit Easy(const BackfillParameters& parameters = {}) : BackfillQueue(parameters) {}

 private:
  struct Reservation {
    double start_s;
    int left_over;  ///< devices that the job does not need then
  };
  Reservation reserve(const Line& line, const Waiting& head, double now_s) const;
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
    Availability available;
    bool early = false;                    ///< something was let go of early since the last call
    double gained_until_s = -sim::kNever;  ///< nothing beyond has become free since everybody last looked for an earlier date
  };
  Plan& plan_of(const Line& line);
  void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) override;
  void let_go_early(Line& line, double expected_s, int devices) override;
  void give_up(Line& line, const Waiting& waiting) override;
  void rebuild(Line& line, Plan& plan, double now_s);
  void compress(Line& line, Plan& plan, double now_s);
  std::size_t planned(const Line& line) const;

  std::vector<Plan> plans_;  // by pool
};

}  // namespace rehearse::policies
