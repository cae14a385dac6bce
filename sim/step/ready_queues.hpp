// The operations that are ready on each device, in the order in which they are to run. One flat array, as each operation is
// ready once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace rehearse::sim {

class ReadyQueues {
 public:
  /// Empty queues, each with room for all operations that are placed on its device. `dated`: keys never decrease, as dates do.
  void clear(int devices, std::span<const std::int32_t> device_of_op, bool dated) {
    dated_ = dated;
    first_.assign(devices + 1, 0);
    for (const std::int32_t device : device_of_op) ++first_[device + 1];
    for (int d = 0; d < devices; ++d) first_[d + 1] += first_[d];
    end_.assign(first_.begin(), first_.end() - 1);
    entries_.resize(device_of_op.size());
  }
  bool empty(int device) const { return first_[device] == end_[device]; }
  /// The smallest key comes first, of equal ones the smallest operation.
  void push(int device, std::int64_t key, std::int32_t op) {
    const Entry entry{key, op};
    std::int32_t at = end_[device]++;
    if (dated_) {
      for (; at > first_[device] && Later()(entries_[at - 1], entry); --at) entries_[at] = entries_[at - 1];
      entries_[at] = entry;
    } else {
      entries_[at] = entry;
      std::push_heap(entries_.begin() + first_[device], entries_.begin() + end_[device], Later());
    }
  }
  std::int32_t pop(int device) {
    if (dated_) return entries_[first_[device]++].op;
    std::pop_heap(entries_.begin() + first_[device], entries_.begin() + end_[device], Later());
    return entries_[--end_[device]].op;
  }

 private:
  struct Entry {
    std::int64_t key;
    std::int32_t op;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.key != b.key ? a.key > b.key : a.op > b.op; }
  };
  std::vector<std::int32_t> first_, end_;  // of each device's part of entries_: sorted when `dated`, else a heap
  std::vector<Entry> entries_;
  bool dated_ = true;
};

}  // namespace rehearse::sim
