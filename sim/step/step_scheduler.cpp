#include "sim/step/step_scheduler.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::sim {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::int32_t kSends = -2;  // instead of an operation: an executor that sends

}  // namespace

Ways ways_of(const Machine& machine) {
  Ways ways;
  ways.endpoints = machine.devices();
  for (const MachineLink& link : machine.links()) ways.bandwidths_bytes_per_s.push_back(link.bandwidth_bytes_per_s);
  for (int from = 0; from < machine.devices(); ++from)
    for (int to = 0; to < machine.devices(); ++to) {
      const std::span<const std::int32_t> links = machine.route(from, to).links;
      ways.links.emplace_back(links.begin(), links.end());
    }
  return ways;
}

StepScheduler::StepScheduler(const StepGraph& graph, const Machine& machine, const HostModel* host)
    : graph_(graph), machine_(machine), host_(host), class_of_device_(graph_classes(graph, machine)), memory_(machine) {
  check(host == nullptr || static_cast<int>(host->dispatch.size()) == graph.ops(), "an operation has a cost of dispatch");
  check(host == nullptr || host->threads > 0, "an executor may work");
  for (int from = 0; from < machine.devices(); ++from)
    for (int to = 0; to < machine.devices(); ++to) {
      if (from == to) {
        lane_of_way_.push_back(kNone);
        continue;
      }
      const Tick latency = machine.route(from, to).latency;
      auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.latency == latency; });
      if (lane == lanes_.end()) lane = lanes_.insert(lane, {.latency = latency, .head = 0, .waiting = {}});
      lane_of_way_.push_back(static_cast<std::int32_t>(lane - lanes_.begin()));
    }
  for (int op = 0; op < graph.ops(); ++op) {
    inputs_.push_back(static_cast<std::int32_t>(graph.inputs_of(op).size()));
    if (inputs_.back() == 0) sources_.push_back(op);
    if (graph.op(op).resident_bytes() > 0) residents_.push_back(op);
    workspace_bytes_.push_back(graph.op(op).workspace_bytes);
    working_bytes_.push_back(graph.op(op).workspace_bytes);
    for (int t = graph.first_tensor(op); t < graph.first_tensor(op + 1); ++t)
      if (!graph.tensor(t).held) working_bytes_.back() += graph.tensor(t).bytes;
  }
  copy_of_reader_.resize(graph.readers().size());
  if (host != nullptr && host->chunks) memory_.use_chunks();
  finished_.resize(machine.devices() + 1);
}

const StepResult& StepScheduler::time(const StepPlacement& placement, FlowNetwork& network, StepTimeline* timeline) {
  begin(placement, timeline);
  network.run(*this);
  check(left_ == 0, "a step ended before its last operation", seconds_of(now_));
  timing_.peak_memory_bytes = memory_.peak();
  timing_.out_of_memory = memory_.out_of_memory();
  timing_.transfers = static_cast<std::int64_t>(transfers_.size());
  return timing_;
}

/// In the orders by priority: smaller runs earlier.
void StepScheduler::set_keys(const StepPlacement& placement) {
  if (placement.order == StepOrder::critical_path) {
    critical_path(graph_, machine_, class_of_device_, placement.device_of_op, keys_);
  } else if (placement.order == StepOrder::given) {
    check(static_cast<int>(placement.priority.size()) == graph_.ops(), "an operation has a priority");
    keys_.assign(placement.priority.begin(), placement.priority.end());
  }
  if (placement.order != StepOrder::fifo)
    for (std::int64_t& key : keys_) key = -key;
}

void StepScheduler::begin(const StepPlacement& placement, StepTimeline* timeline) {
  const int devices = machine_.devices();
  check(static_cast<int>(placement.device_of_op.size()) == graph_.ops(), "an operation has a device");
  std::uint32_t largest = 0;  // a negative device is a large one
  for (const std::int32_t device : placement.device_of_op) largest = std::max(largest, static_cast<std::uint32_t>(device));
  check(largest < static_cast<std::uint32_t>(devices), "an operation is placed on a device that there is");
  placement_ = placement;
  timeline_ = timeline;
  if (timeline_ != nullptr) *timeline_ = {};
  now_ = 0;
  left_ = graph_.ops();
  timing_.makespan = 0;
  timing_.transferred_bytes = 0;
  timing_.busy.assign(devices, 0);
  missing_ = inputs_;
  copies_.resize(graph_.tensors());
  transfers_.clear();
  for (Lane& lane : lanes_) {
    lane.head = 0;
    lane.waiting.clear();
  }
  running_.assign(devices, kNone);
  ends_.assign(devices, kNeverTick);
  starts_.assign(devices, 0);
  stream_free_.assign(devices, 0);
  working_ = sends_ = 0;
  later_.clear();
  sent_.assign(devices, kNone);
  sent_as_.assign(devices, kNone);
  memory_.clear();
  ready_.clear(devices, placement.device_of_op, placement.order == StepOrder::fifo);
  free_.clear();
  for (int device = 0; device < devices; ++device) free_.push_back(device);
  set_keys(placement);
  if (memory_.in_chunks()) chunk_of_copy_.assign(graph_.tensors(), kNone);
  workspace_chunk_.assign(devices, kNone);
  for (const std::int32_t op : residents_) {
    const int device = placement.device_of_op[op];
    if (memory_.in_chunks())
      memory_.take_chunk(device, graph_.op(op).resident_bytes(), op);
    else
      memory_.take(device, graph_.op(op).resident_bytes(), op);
  }
  for (const std::int32_t op : sources_)
    ready_.push(placement.device_of_op[op], placement.order == StepOrder::fifo ? 0 : keys_[op], op);
  dispatch();
}

Tick StepScheduler::next_date() {
  Tick date = kNeverTick;
  for (const Tick end : ends_) date = std::min(date, end);
  for (const Lane& lane : lanes_) date = std::min(date, lane.next());
  if (!later_.empty()) date = std::min(date, later_.front().date);
  return date;
}

std::span<const FlowStart> StepScheduler::at(Tick date, std::span<const std::int32_t> ended) {
  now_ = date;
  flows_.clear();
  arrived_.assign(ended.begin(), ended.end());
  finish_ops();
  begin_transfers();
  const auto earlier = [&](int a, int b) {
    return transfers_[a].tensor != transfers_[b].tensor ? transfers_[a].tensor < transfers_[b].tensor
                                                        : transfers_[a].to < transfers_[b].to;
  };
  if (arrived_.size() > 1) std::sort(arrived_.begin(), arrived_.end(), earlier);
  for (const std::int32_t transfer : arrived_) arrive(transfer);
  dispatch();
  return flows_;
}

void StepScheduler::finish_ops() {
  std::size_t count = 0;
  for (std::size_t device = 0; device < ends_.size(); ++device) {  // without a branch that nobody can predict
    finished_[count] = static_cast<std::int32_t>(device);
    count += ends_[device] == now_;
  }
  const std::span finished(finished_.data(), count);
  for (std::int32_t& device : finished) {  // becomes the operation
    free_.push_back(device);
    ends_[device] = kNeverTick;
    device = std::exchange(running_[device], kNone);
  }
  if (count > 1) std::sort(finished.begin(), finished.end());
  working_ -= static_cast<int>(count);
  for (const std::int32_t op : finished)
    if (op != kSends) finish(op);
}

void StepScheduler::finish(int op) {
  const int device = placement_.device_of_op[op];
  sends_ = 0;
  issue(op);
  timing_.makespan = std::max(timing_.makespan, run_end_);
  --left_;
  if (memory_.in_chunks())
    memory_.give_chunk(device, workspace_chunk_[device]);
  else
    memory_.give(device, workspace_bytes_[op]);
  for (const StepInput& input : graph_.inputs_of(op)) release(copy_of_reader_[input.reader]);
  for (int tensor = graph_.first_tensor(op); tensor < graph_.first_tensor(op + 1); ++tensor) publish(op, tensor);
  if (sends_ > 0) go_on_sending(device);
}

/// When an operation runs that its device is done with: until now, or, issued to a stream, behind what lies there.
void StepScheduler::issue(int op) {
  const int device = placement_.device_of_op[op];
  Tick start = starts_[device], end = now_;
  if (host_ != nullptr) {
    const Tick duration = graph_.duration(op, class_of_device_[device]);
    start = now_ - duration;
    if (has_stream(device) && duration > 0) {
      start = std::max(now_, stream_free_[device]);
      stream_free_[device] = start + duration;
    }
    end = start + duration;
  }
  run_end_ = end;
  timing_.busy[device] += end - start;
  if (timeline_ != nullptr) timeline_->runs.push_back({op, device, start, end});
}

/// The operation's sends are the executor's next work.
void StepScheduler::go_on_sending(int device) {
  if (host_ == nullptr || host_->send == 0) return;
  running_[device] = kSends;
  ends_[device] = now_ + sends_ * host_->send;
  ++working_;
}

void StepScheduler::start_later(std::int32_t transfer, Tick date) {
  transfers_[transfer].start = date;
  later_.push_back({date, transfer});
  std::push_heap(later_.begin(), later_.end(), starts_later);
}

/// Hands a tensor to its readers: at once on its own device, with one transfer to each other one that has some.
void StepScheduler::publish(int op, int tensor) {
  const int device = placement_.device_of_op[op];
  const StepTensor& made = graph_.tensor(tensor);
  copies_[tensor] = {.bytes = made.held ? 0 : made.bytes, .users = 1, .device = device};
  const int end = graph_.first_reader(tensor + 1);
  for (int r = graph_.first_reader(tensor); r < end; ++r) {
    const std::int32_t reader = graph_.readers()[r];
    const int to = placement_.device_of_op[reader];
    std::int32_t copy = tensor;
    if (to == device)
      give_input(reader);
    else
      copy = sent_[to] == tensor ? sent_as_[to] : send(tensor, to);
    copy_of_reader_[r] = copy;
    ++copies_[copy].users;
  }
  release(tensor);
}

std::int32_t StepScheduler::send(int tensor, int to) {
  const StepTensor& made = graph_.tensor(tensor);
  const auto transfer = static_cast<std::int32_t>(transfers_.size());
  const auto copy = static_cast<std::int32_t>(copies_.size());
  Lane& lane = lanes_[lane_of_way_[machine_.way_of(copies_[tensor].device, to)]];
  transfers_.push_back({.tensor = tensor, .to = to, .ready = now_, .start = now_ + lane.latency});
  ++sends_;
  if (host_ == nullptr)
    lane.waiting.push_back({now_ + lane.latency, transfer});
  else  // order is kept by the host; data must have been made
    start_later(transfer, std::max(now_ + sends_ * host_->send, made.bytes > 0 ? run_end_ : 0) + lane.latency);
  ++copies_[tensor].users;
  copies_.push_back({.bytes = made.bytes, .users = 0, .device = to});
  if (memory_.in_chunks())
    chunk_of_copy_.push_back(memory_.take_chunk(to, made.bytes, made.producer));
  else
    memory_.take(to, made.bytes, made.producer);
  timing_.transferred_bytes += made.bytes;
  sent_[to] = tensor;
  sent_as_[to] = copy;
  return copy;
}

void StepScheduler::begin_transfers() {
  for (Lane& lane : lanes_)
    for (; lane.next() == now_; ++lane.head) begin_transfer(lane.waiting[lane.head].transfer);
  while (!later_.empty() && later_.front().date == now_) {
    begin_transfer(later_.front().transfer);
    std::pop_heap(later_.begin(), later_.end(), starts_later);
    later_.pop_back();
  }
}

void StepScheduler::begin_transfer(std::int32_t index) {
  const Transfer& transfer = transfers_[index];
  const std::int64_t bytes = graph_.tensor(transfer.tensor).bytes;
  if (bytes == 0)
    arrived_.push_back(index);
  else
    flows_.push_back({index, machine_.way_of(copies_[transfer.tensor].device, transfer.to), bytes});
}

void StepScheduler::arrive(std::int32_t index) {
  const Transfer& transfer = transfers_[index];
  const int from = copies_[transfer.tensor].device;
  if (timeline_ != nullptr)
    timeline_->transfers.push_back({transfer.tensor, from, transfer.to, transfer.ready, transfer.start, now_});
  release(transfer.tensor);
  const int end = graph_.first_reader(transfer.tensor + 1);
  for (int r = graph_.first_reader(transfer.tensor); r < end; ++r)
    if (const std::int32_t reader = graph_.readers()[r]; placement_.device_of_op[reader] == transfer.to) give_input(reader);
}

void StepScheduler::give_input(int op) {
  if (--missing_[op] > 0) return;
  const std::int32_t device = placement_.device_of_op[op];
  ready_.push(device, placement_.order == StepOrder::fifo ? now_ : keys_[op], op);
  if (running_[device] == kNone) free_.push_back(device);
}

void StepScheduler::release(std::int32_t index) {
  Copy& copy = copies_[index];
  if (--copy.users > 0) return;
  if (memory_.in_chunks())
    memory_.give_chunk(copy.device, chunk_of_copy_[index]);
  else
    memory_.give(copy.device, copy.bytes);
}

void StepScheduler::dispatch() {
  if (host_ != nullptr && host_->threads < machine_.devices()) return dispatch_by_turns();
  for (const std::int32_t device : free_)
    if (running_[device] == kNone && !ready_.empty(device)) start(device);
  free_.clear();
}

/// Fewer threads than executors: whoever's next operation has been ready longest comes first.
void StepScheduler::dispatch_by_turns() {
  free_.clear();
  turns_.clear();
  for (int device = 0; device < machine_.devices(); ++device)
    if (running_[device] == kNone && !ready_.empty(device)) turns_.push_back(device);
  std::stable_sort(turns_.begin(), turns_.end(),
                   [&](std::int32_t a, std::int32_t b) { return ready_.first_key(a) < ready_.first_key(b); });
  for (const std::int32_t device : turns_)
    if (working_ < host_->threads) start(device);
}

/// Workspace and outputs of an operation.
void StepScheduler::take_memory(int device, int op) {
  if (!memory_.in_chunks()) return memory_.take(device, working_bytes_[op], op);
  workspace_chunk_[device] = memory_.take_chunk(device, workspace_bytes_[op], op);
  for (int tensor = graph_.first_tensor(op); tensor < graph_.first_tensor(op + 1); ++tensor)
    if (const StepTensor& made = graph_.tensor(tensor); !made.held)
      chunk_of_copy_[tensor] = memory_.take_chunk(device, made.bytes, op);
}

void StepScheduler::start(int device) {
  const std::int32_t op = ready_.pop(device);
  take_memory(device, op);
  running_[device] = op;
  starts_[device] = now_;
  const Tick duration = graph_.duration(op, class_of_device_[device]);
  ends_[device] = now_ + (host_ == nullptr ? duration : host_->dispatch[op] + (has_stream(device) ? 0 : duration));
  ++working_;
}

}  // namespace rehearse::sim
