// Jobs in an order: an index by key, then by number of arrival, so that ties are stable. What every discipline keeps of the jobs
// that wait or run; a change costs O(log jobs).
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

class OrderedQueue {
 public:
  struct Item {
    double key = 0;  ///< the smallest is first
    std::uint64_t number = 0;
    sim::JobSlot slot = 0;
    bool operator<(const Item& other) const { return key != other.key ? key < other.key : number < other.number; }
  };
  using Iterator = std::set<Item>::const_iterator;

  OrderedQueue() = default;
  OrderedQueue(OrderedQueue&&) = default;  // not copied: places are iterators
  OrderedQueue& operator=(OrderedQueue&&) = default;

  /// A job that is in the queue changes its place.
  void put(sim::JobSlot slot, double key, std::uint64_t number) {
    remove(slot);
    if (at_.size() <= slot) at_.resize(slot + 1);
    at_[slot] = items_.insert({key, number, slot}).first;
  }
  /// No effect on a job that is not in the queue.
  void remove(sim::JobSlot slot) {
    if (!contains(slot)) return;
    items_.erase(*at_[slot]);
    at_[slot].reset();
  }
  bool contains(sim::JobSlot slot) const { return slot < at_.size() && at_[slot].has_value(); }
  /// The job must be in the queue.
  const Item& item_of(sim::JobSlot slot) const { return **at_[slot]; }
  double key_of(sim::JobSlot slot) const { return item_of(slot).key; }
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  /// The queue must not be empty.
  const Item& first() const { return *items_.begin(); }
  Iterator begin() const { return items_.begin(); }
  Iterator end() const { return items_.end(); }

 private:
  std::set<Item> items_;
  std::vector<std::optional<Iterator>> at_;  // by slot
};

}  // namespace rehearse::policies
