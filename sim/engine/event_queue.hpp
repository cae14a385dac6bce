// The one queue of simulated events: a binary heap ordered by (date, class, sequence number), with cancellation by
// generation number. Dates are never changed; stale entries are dropped when they surface, or together when they are many.
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
  bool empty();
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
    std::uint32_t subject;
  };
  struct Later {  // an object, as the heap's functions inline no function pointer
    bool operator()(const Entry& a, const Entry& b) const {
      return a.date_s != b.date_s ? a.date_s > b.date_s : a.order > b.order;
    }
  };
  bool stale(const Entry& entry) const { return generation_[entry.slot] != entry.generation; }
  void drop_stale_top();
  void compact();
  void retire(std::uint32_t slot);

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> generation_;  // of each slot: the one its live event has
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t sequence_ = 0;
  std::size_t live_ = 0;
  double last_date_ = 0;
};

}  // namespace rehearse::sim
