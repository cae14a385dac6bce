// The one scheduler of a training step (docs/explain/step.md, "Step level"): what runs where and when, and what it keeps. For
// this room's sources alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/flow_network.hpp"
#include "sim/step/bfc_pool.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::sim {

// The operations that are ready on each device, in the order in which they are to run. One flat array, as each operation is
// ready once.

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
  /// The key of what comes next; something must be there.
  std::int64_t first_key(int device) const { return entries_[first_[device]].key; }
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

// The memory of a machine's devices during one step: what lies there now, the most that ever did, the first that found no room.

class StepMemory {
 public:
  explicit StepMemory(const Machine& machine) {
    for (int d = 0; d < machine.devices(); ++d) capacity_.push_back(machine.device(d).memory_bytes);
    clear();
  }
  void clear() {
    used_.assign(capacity_.size(), 0);
    peak_.assign(capacity_.size(), 0);
    out_of_memory_ = {};
    for (BfcPool& pool : pools_) pool.clear();
  }
  /// For operation `op`.
  void take(int device, std::int64_t bytes, int op) {
    const std::int64_t used = used_[device] += bytes;
    if (used <= peak_[device]) return;
    peak_[device] = used;
    if (used > capacity_[device] && !out_of_memory_.happened())
      out_of_memory_ = {device, op, bytes, std::max<std::int64_t>(0, capacity_[device] - (used - bytes))};
  }
  void give(int device, std::int64_t bytes) { used_[device] -= bytes; }

  /// Likewise in chunks, all of them or none.
  void use_chunks() {
    for (const std::int64_t capacity : capacity_) pools_.emplace_back(capacity);
  }
  bool in_chunks() const { return !pools_.empty(); }
  std::int32_t take_chunk(int device, std::int64_t bytes, int op) {
    BfcPool& pool = pools_[device];
    const bool was_exceeded = pool.exceeded();
    const std::int32_t chunk = pool.take(bytes);
    used_[device] += pool.size_of(chunk);
    peak_[device] = std::max(peak_[device], pool.exceeded() ? pool.region() : used_[device]);
    if (pool.exceeded() && !was_exceeded && !out_of_memory_.happened())
      out_of_memory_ = {device, op, bytes, std::max<std::int64_t>(0, capacity_[device] - (used_[device] - bytes))};
    return chunk;
  }
  void give_chunk(int device, std::int32_t chunk) {
    used_[device] -= pools_[device].size_of(chunk);
    pools_[device].give(chunk);
  }
  std::int64_t used(int device) const { return used_[device]; }
  const std::vector<std::int64_t>& peak() const { return peak_; }
  const OutOfMemory& out_of_memory() const { return out_of_memory_; }

 private:
  std::vector<std::int64_t> capacity_, used_, peak_;
  OutOfMemory out_of_memory_;
  std::vector<BfcPool> pools_;
};

// The one scheduler of a training step (docs/explain/step.md, "Step level"): what runs where and when, which tensors go where,
// what lies in memory. The network decides how long transfers take.
//
// At one date: operations end in the order of their indices; transfers whose latency is over begin; tensors arrive in the order
// of their producers; every free device takes its first ready operation.

/// The machine's ways, as networks take them.
Ways ways_of(const Machine& machine);

class StepScheduler final : public FlowClient {
 public:
  /// `host` null: operations issue themselves, and what is issued has run.
  StepScheduler(const StepGraph& graph, const Machine& machine, const HostModel* host = nullptr);

  const StepResult& time(const StepPlacement& placement, FlowNetwork& network, StepTimeline* timeline);

  Tick next_date() override;
  std::span<const FlowStart> at(Tick date, std::span<const std::int32_t> ended) override;

 private:
  /// A tensor on a device: where it is made (index: the tensor's), or sent to (index: tensors + transfer's).
  struct Copy {
    std::int64_t bytes = 0;
    std::int32_t users = 0;  // operations there, and transfers from there, that still need it
    std::int32_t device = 0;
  };
  struct Transfer {
    std::int32_t tensor = 0, to = 0;
    Tick ready = 0, start = 0;
  };
  /// Transfers in the latency of their ways, those of equal latencies together: first in, first out.
  struct Lane {
    Tick latency = 0;
    std::size_t head = 0;
    struct Entry {
      Tick date;
      std::int32_t transfer;
    };
    std::vector<Entry> waiting;
    Tick next() const { return head < waiting.size() ? waiting[head].date : kNeverTick; }
  };

  /// For a heap: whoever comes last is the smallest.
  static bool starts_later(const Lane::Entry& a, const Lane::Entry& b) {
    return a.date != b.date ? a.date > b.date : a.transfer > b.transfer;
  }

  void begin(const StepPlacement& placement, StepTimeline* timeline);
  void set_keys(const StepPlacement& placement);
  void finish_ops();
  void finish(int op);
  bool has_stream(int device) const { return host_ != nullptr && machine_.device(device).kind == DeviceKind::gpu; }
  void issue(int op);
  void go_on_sending(int device);
  void start_later(std::int32_t transfer, Tick date);
  void publish(int op, int tensor);
  std::int32_t send(int tensor, int to);
  void begin_transfers();
  void begin_transfer(std::int32_t transfer);
  void arrive(std::int32_t transfer);
  void give_input(int op);
  void release(std::int32_t copy);
  void dispatch();
  void dispatch_by_turns();
  void start(int device);
  void take_memory(int device, int op);

  const StepGraph& graph_;
  const Machine& machine_;
  const HostModel* host_;
  std::vector<std::int32_t> class_of_device_;  // the graph's class
  std::vector<std::int32_t> lane_of_way_;
  std::vector<std::int32_t> inputs_;         // how many each operation has
  std::vector<std::int64_t> working_bytes_;  // workspace and outputs of each operation
  std::vector<std::int64_t> workspace_bytes_;
  std::vector<std::int32_t> sources_, residents_;  // operations without inputs, and with resident bytes

  StepPlacement placement_;  // of this step, as all that follows
  StepTimeline* timeline_ = nullptr;
  Tick now_ = 0;
  std::vector<std::int32_t> missing_;  // inputs of each operation
  std::vector<std::int64_t> keys_;     // in the ready queue, for the orders by priority
  std::vector<Copy> copies_;
  std::vector<std::int32_t> copy_of_reader_;
  std::vector<Transfer> transfers_;
  std::vector<Lane> lanes_;
  std::vector<std::int32_t> running_;  // on each device, -1: nothing
  std::vector<Tick> ends_, starts_;    // of those
  // With a host: until when streams are taken, the end of what was issued last, who works, and transfers that wait for a date.
  std::vector<Tick> stream_free_;
  Tick run_end_ = 0;
  int working_ = 0, sends_ = 0;
  std::vector<Lane::Entry> later_;  // a heap
  std::vector<std::int32_t> turns_;
  std::vector<std::int32_t> chunk_of_copy_, workspace_chunk_;  // of each copy of a tensor, and on each device
  std::vector<std::int32_t> sent_, sent_as_;                   // by device: the last tensor sent there, and its copy
  std::vector<std::int32_t> finished_, arrived_;
  std::vector<std::int32_t> free_;  // devices that may have become able to run something; some twice
  std::vector<FlowStart> flows_;
  ReadyQueues ready_;
  StepMemory memory_;
  StepResult timing_;
  int left_ = 0;  // operations
};

}  // namespace rehearse::sim
