// The one queue of simulated events: a heap ordered by (date, class, sequence number), with cancellation by generation number.
// Dates are never changed; stale entries are dropped when they surface, or together when they are many. Each entry has four below
// it: half as many levels as with two, on as many cache lines each.
#pragma once

#include <cstdint>
#include <vector>

namespace rehearse::sim {

/// The order of events at one date (SEMANTICS, "Time"). Decisions come last: the engine asks for them once all others are done.
enum class EventClass : std::uint8_t { completion, failure, arrival, timer };

struct Event {
  double date_s = 0;
  EventClass event_class = EventClass::completion;
  std::uint32_t subject = 0;  ///< what the handler makes of it: a job's slot, a source's index, ...
};

/// Names a pushed event until it fires or is cancelled; harmless afterwards.
struct EventHandle {
  std::uint32_t slot = kNone;
  std::uint32_t generation = 0;
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
};

class EventQueue {
 public:
  /// `event.date_s` must be finite and not before the last popped date.
  EventHandle push(const Event& event);
  /// No effect on an event that has fired or was cancelled.
  void cancel(EventHandle& handle);
  bool empty() const { return live_ == 0; }
  /// Date of the first live event; the queue must not be empty.
  double next_date();
  Event pop();
  std::size_t live() const { return live_; }

 private:
  struct Entry {
    double date_s;
    std::uint64_t order;  // class in the top byte, sequence number below
    std::uint32_t slot;
    std::uint32_t generation;
    bool before(const Entry& other) const { return date_s != other.date_s ? date_s < other.date_s : order < other.order; }
  };
  struct Slot {
    std::uint32_t generation = 0;  // the one its live event has
    std::uint32_t subject = 0;     // of that event
  };
  static constexpr std::size_t kBelow = 4;
  bool stale(const Entry& entry) const { return slots_[entry.slot].generation != entry.generation; }
  void rise(std::size_t at);
  void sink(std::size_t at);
  void remove_top();
  void drop_stale_top();
  void compact();
  void retire(std::uint32_t slot);

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t sequence_ = 0;
  std::size_t live_ = 0;
  double last_date_ = 0;
};

}  // namespace rehearse::sim
