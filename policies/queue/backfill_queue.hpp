// What backfilling disciplines have in common: for each pool the jobs that wait, in order of arrival, and when those that hold
// its devices are expected to let go, by what the user gave or the menu predicts.
#pragma once

#include <deque>
#include <vector>

#include "policies/queue/durations.hpp"
#include "policies/queue/ordered_queue.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
