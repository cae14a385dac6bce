// What strict disciplines have in common: each pool has a line in the discipline's order. Its first job waits for the devices
// of the first entry of its menu that ever fits; nobody overtakes. A preemptive discipline says which running jobs the first one
// may take devices from: those that come last in its order go first, and only as many as are needed.
#pragma once

#include <vector>

#include "policies/queue/ordered_queue.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

class LineQueue : public sim::Queue {
 public:
  explicit LineQueue(sim::Placement placement) : placement_(placement) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) final;

 protected:
  using Item = OrderedQueue::Item;

  /// A waiting job's place; the smallest key is first. Asked when the job joins the queue.
  virtual double waiting_key(const sim::QueueView& view, sim::JobSlot slot) = 0;
  /// A running job's place; the largest is preempted first. Asked whenever the job begins to run.
  virtual double running_key(const sim::QueueView&, sim::JobSlot) { return 0; }
  /// May the first waiting job take the running one's devices?
  virtual bool beats(const sim::QueueView&, const Item& /*waiting*/, const Item& /*running*/) const { return false; }
  /// After the spans of the view were read, before anything is decided.
  virtual void prepare(const sim::QueueView&) {}
  /// The answer starts the job.
  virtual void starts(const sim::QueueView&, sim::JobSlot) {}
  /// After everything was decided.
  virtual void conclude(const sim::QueueView&, sim::QueueAnswer&) {}
  /// The job has left the cluster.
  virtual void forget(const sim::QueueView&, sim::JobSlot) {}

  /// Changes the place of a job, if it waits or runs.
  void move(sim::JobSlot slot, double key, std::uint64_t number);

 private:
  struct Line {
    OrderedQueue waiting, running;
    int coming = 0;                               ///< devices that preempted jobs hold until their checkpoints end
    std::vector<sim::JobSlot> parts_coming = {};  ///< preempted jobs on parts of devices
  };
  Line& line_of(sim::JobSlot slot) { return lines_[static_cast<std::size_t>(pool_of_[slot])]; }
  void settle(const sim::QueueView& view, sim::JobSlot slot);
  void read(const sim::QueueView& view);
  void leave(sim::JobSlot slot);
  void let_go(sim::JobSlot slot);
  void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer);
  sim::FreeDevices free_soon(const Line& line, sim::PoolId pool, const sim::QueueView& view) const;
  void spare(const sim::QueueJob& head, const Line& line, const sim::QueueView& view, sim::FreeDevices free);
  void preempt_for(const Item& head, Line& line, const sim::QueueView& view, sim::QueueAnswer& answer);

  sim::Placement placement_;
  std::vector<Line> lines_;   // by pool
  std::vector<int> pool_of_;  // by slot: whose line it is in
  std::vector<int> leaving_;  // by slot: devices that it will let go because it was preempted
  sim::FreeDevices free_;
  std::vector<sim::JobSlot> victims_;
};

}  // namespace rehearse::policies
