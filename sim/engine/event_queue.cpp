#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

EventHandle EventQueue::push(const Event& event) {
  check(std::isfinite(event.date_s), "an event's date is not finite", last_date_);
  check(event.date_s >= last_date_, "an event lies in the past", last_date_);
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(generation_.size());
    generation_.push_back(0);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  const std::uint64_t order = (static_cast<std::uint64_t>(event.event_class) << 56) | sequence_++;
  heap_.push_back({event.date_s, order, slot, generation_[slot], event.subject});
  std::push_heap(heap_.begin(), heap_.end(), Later());
  ++live_;
  return {slot, generation_[slot]};
}

void EventQueue::retire(std::uint32_t slot) {
  ++generation_[slot];
  free_slots_.push_back(slot);
  --live_;
}

void EventQueue::cancel(EventHandle& handle) {
  if (handle.slot != EventHandle::kNone && generation_[handle.slot] == handle.generation) {
    retire(handle.slot);
    if (heap_.size() > 64 && heap_.size() > 2 * live_) compact();
  }
  handle = {};
}

void EventQueue::compact() {
  std::erase_if(heap_, [this](const Entry& entry) { return stale(entry); });
  std::make_heap(heap_.begin(), heap_.end(), Later());
}

void EventQueue::drop_stale_top() {
  while (!heap_.empty() && stale(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    heap_.pop_back();
  }
}

bool EventQueue::empty() { return live_ == 0; }

double EventQueue::next_date() {
  drop_stale_top();
  check(!heap_.empty(), "the event queue is empty", last_date_);
  return heap_.front().date_s;
}

Event EventQueue::pop() {
  drop_stale_top();
  check(!heap_.empty(), "the event queue is empty", last_date_);
  const Entry entry = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  heap_.pop_back();
  retire(entry.slot);
  last_date_ = entry.date_s;
  return {entry.date_s, static_cast<EventClass>(entry.order >> 56), entry.subject};
}

}  // namespace rehearse::sim
