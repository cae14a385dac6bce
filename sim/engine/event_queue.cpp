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
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot].subject = event.subject;
  const std::uint64_t order = (static_cast<std::uint64_t>(event.event_class) << 56) | sequence_++;
  heap_.push_back({event.date_s, order, slot, slots_[slot].generation});
  rise(heap_.size() - 1);
  ++live_;
  return {slot, slots_[slot].generation};
}

void EventQueue::rise(std::size_t at) {
  const Entry entry = heap_[at];
  while (at > 0) {
    const std::size_t above = (at - 1) / kBelow;
    if (!entry.before(heap_[above])) break;
    heap_[at] = heap_[above];
    at = above;
  }
  heap_[at] = entry;
}

void EventQueue::sink(std::size_t at) {
  const Entry entry = heap_[at];
  while (true) {
    const std::size_t begin = kBelow * at + 1, end = std::min(begin + kBelow, heap_.size());
    if (begin >= end) break;
    std::size_t first = begin;
    for (std::size_t below = begin + 1; below < end; ++below)
      if (heap_[below].before(heap_[first])) first = below;
    if (!heap_[first].before(entry)) break;
    heap_[at] = heap_[first];
    at = first;
  }
  heap_[at] = entry;
}

void EventQueue::remove_top() {
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sink(0);
}

void EventQueue::retire(std::uint32_t slot) {
  ++slots_[slot].generation;
  free_slots_.push_back(slot);
  --live_;
}

void EventQueue::cancel(EventHandle& handle) {
  if (handle.slot != EventHandle::kNone && slots_[handle.slot].generation == handle.generation) {
    retire(handle.slot);
    if (heap_.size() > 64 && heap_.size() > 2 * live_) compact();
  }
  handle = {};
}

void EventQueue::compact() {
  std::erase_if(heap_, [this](const Entry& entry) { return stale(entry); });
  for (std::size_t at = heap_.size() / kBelow + 1; at-- > 0;)
    if (at < heap_.size()) sink(at);
}

void EventQueue::drop_stale_top() {
  while (heap_.size() > live_ && stale(heap_.front())) remove_top();
}

double EventQueue::next_date() {
  drop_stale_top();
  check(!heap_.empty(), "the event queue is empty", last_date_);
  return heap_.front().date_s;
}

Event EventQueue::pop() {
  drop_stale_top();
  check(!heap_.empty(), "the event queue is empty", last_date_);
  const Entry entry = heap_.front();
  remove_top();
  retire(entry.slot);
  last_date_ = entry.date_s;
  return {entry.date_s, static_cast<EventClass>(entry.order >> 56), slots_[entry.slot].subject};
}

}  // namespace rehearse::sim
