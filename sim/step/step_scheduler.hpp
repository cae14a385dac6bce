// The one scheduler of a training step (docs/explain/model.md, "Step level"): what runs where and when, which tensors go where, what lies
// in memory. The network decides how long transfers take.
//
// At one date: operations end in the order of their indices; transfers whose latency is over begin; tensors arrive in the order
// of their producers; every free device takes its first ready operation.
#pragma once

#include "sim/engine/flow_network.hpp"
#include "sim/step/ready_queues.hpp"
#include "sim/step/step_memory.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::sim {

/// The machine's ways, as networks take them.
Ways ways_of(const Machine& machine);

class StepScheduler final : public FlowClient {
 public:
  StepScheduler(const StepGraph& graph, const Machine& machine);

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

  void begin(const StepPlacement& placement, StepTimeline* timeline);
  void set_keys(const StepPlacement& placement);
  void finish_ops();
  void finish(int op);
  void publish(int op, int tensor);
  std::int32_t send(int tensor, int to);
  void begin_transfers();
  void arrive(std::int32_t transfer);
  void give_input(int op);
  void release(std::int32_t copy);
  void dispatch();

  const StepGraph& graph_;
  const Machine& machine_;
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
  std::vector<std::int32_t> running_;         // on each device, -1: nothing
  std::vector<Tick> ends_, starts_;           // of those
  std::vector<std::int32_t> sent_, sent_as_;  // by device: the last tensor sent there, and its copy
  std::vector<std::int32_t> finished_, arrived_;
  std::vector<std::int32_t> free_;  // devices that may have become able to run something; some twice
  std::vector<FlowStart> flows_;
  ReadyQueues ready_;
  StepMemory memory_;
  StepResult timing_;
  int left_ = 0;  // operations
};

}  // namespace rehearse::sim
