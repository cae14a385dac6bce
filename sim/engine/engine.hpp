// Runs events in order and asks for decisions, driven by SimGrid's clock. The only room that includes SimGrid.
#pragma once

#include <cstddef>

#include "sim/engine/event_queue.hpp"

namespace rehearse::sim {

/// What an engine drives. Handlers use the event's date, never a clock.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  /// May push events at `event.date_s` or later.
  virtual void handle(const Event& event) = 0;
  /// After all events of a date; called again when it leads to more events at the same date, at most kMaxRounds times and
  /// kRoundsPerJob times more for each of `jobs()`.
  virtual void decide(double now_s) = 0;
  /// That have been there at once, so far.
  virtual std::size_t jobs() const { return 0; }
};

inline constexpr std::size_t kMaxRounds = 1000;
/// Where the first in line alone makes running jobs give way, each that waits has a round in which it asks and one in which it
/// starts, and so may those that it stops.
inline constexpr std::size_t kRoundsPerJob = 4;

/// Handles every event at the first date in the queue, then asks for decisions, until nothing more happens at that date.
void run_one_date(EventQueue& events, EventHandler& handler);

/// A plain loop over the queue. Same results as `run_with_simgrid`, to the bit: dates are always ours.
void run_plain(EventQueue& events, EventHandler& handler);

/// Runs the queue as a kernel Model of SimGrid's engine, beside SimGrid's own models. SimGrid's engine is a singleton whose
/// clock never goes back: at most one call in a process (fork one for each run). Rethrows what the handler throws.
void run_with_simgrid(EventQueue& events, EventHandler& handler);

}  // namespace rehearse::sim
