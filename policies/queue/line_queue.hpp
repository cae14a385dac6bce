// What line-shaped disciplines have in common: each pool has a line in the discipline's order. The first job waits for the
// devices of the first entry of its menu that ever fits. Strict: nobody overtakes it; fit-first: whoever fits may, in the same
// order, but not on devices that running jobs let go of for somebody before it. A preemptive discipline says which running jobs a
// waiting one may take devices from: those that come last in its order go first, and only as many as are needed. A rigid job that
// names several pools waits in the line of the first, and starts in another where devices are left over (in strict lines: where
// nobody waits); not where one line is for all pools.
#pragma once

#include <set>
#include <vector>

#include "policies/queue/ordered_queue.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

enum class Overtaking : std::uint8_t { strict, fit_first };

/// Who is first among jobs of equal keys.
enum class TieOrder : std::uint8_t {
  arrival,
  service,       ///< whoever was served first; those that never were come last, by arrival
  running_first  ///< who waits stands behind all that run, where it joined: pending behind running
};

struct LineOptions {
  Overtaking overtaking = Overtaking::strict;
  TieOrder order = TieOrder::arrival;
  sim::Placement placement = sim::Placement::consolidated;
  /// A job waits for the fewest nodes that could ever hold it: whole ones, and one with room for the rest.
  bool fewest_nodes = false;
  double patience_s = sim::kNever;  ///< after so long in the queue it takes any
  bool one_line = false;            ///< for all pools together; only of disciplines that do not preempt
  /// All waiting jobs that may take devices at a date are looked at before anybody is stopped: a running job runs on where they
  /// find room without it. Else each waiting job chooses for itself, and of a strict line only the first (published presets).
  bool claims_together = false;
};

/// The jobs that wait in one line, by what they need: of those that need the same, none fits when the first does not.
class WaitingJobs {
 public:
  using Item = OrderedQueue::Item;
  struct Demand {
    std::vector<sim::Group> groups;
    double fraction = 1;
    std::set<Item> jobs = {};
    std::set<Item>::const_iterator next = {};  ///< of the pass through the line
  };
  explicit WaitingJobs(bool all_alike) : all_alike_(all_alike) {}
  void put(const sim::Configuration& wanted, const Item& item);
  void remove(sim::JobSlot slot);
  bool contains(sim::JobSlot slot) const { return slot < seats_.size() && seats_[slot].demand >= 0; }
  /// The job must be there. Its key changes.
  void move(sim::JobSlot slot, double key, std::uint64_t number);
  bool empty() const { return size_ == 0; }
  /// Begins a pass through the line.
  void begin();
  /// The demand whose next job comes first; null when the pass is over.
  Demand* next();

 private:
  struct Seat {
    int demand = -1;
    std::set<Item>::const_iterator at = {};
  };
  bool all_alike_;  // one demand is enough: only the first is ever looked at
  std::vector<Demand> demands_;
  std::vector<Seat> seats_;  // by slot
  std::size_t size_ = 0;
};

/// Are the fewest nodes free that could ever hold so many devices: whole ones, and one with room for the rest?
bool fits_on_fewest(const sim::Nodes& nodes, int devices);

class LineQueue : public sim::Queue {
 public:
  explicit LineQueue(const LineOptions& options = {}) : options_(options) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) final;

 protected:
  using Item = OrderedQueue::Item;

  /// A waiting job's place; the smallest key is first. Asked when the job joins the queue.
  virtual double waiting_key(const sim::QueueView& view, sim::JobSlot slot) = 0;
  /// A running job's place; the largest is preempted first. Asked whenever the job begins to run.
  virtual double running_key(const sim::QueueView&, sim::JobSlot) { return 0; }
  /// The entry of its menu that a waiting job is to start with; asked when it joins the queue, and when it starts.
  virtual int entry_of(const sim::QueueView&, const sim::QueueJob& job) { return job.first_fitting_entry; }
  /// May a waiting job take running ones' devices?
  virtual bool preempts() const { return false; }
  /// This one's?
  virtual bool beats(const sim::QueueView&, const Item& /*waiting*/, const Item& /*running*/) const { return false; }
  /// After the spans of the view were read, before anything is decided.
  virtual void prepare(const sim::QueueView&) {}
  /// The answer starts the job.
  virtual void starts(const sim::QueueView&, sim::JobSlot) {}
  /// When the order changes by itself; asked after everything was decided. Not after now: nothing to be woken for.
  virtual double changes_at_s(const sim::QueueView&) { return sim::kNever; }
  /// The job has left the cluster.
  virtual void forget(const sim::QueueView&, sim::JobSlot) {}

  /// Changes the key of a job, if it waits or runs. Among its new equals it is last where those that wait stand behind.
  void move(sim::JobSlot slot, double key);
  /// The same, but it stays where it was among equals.
  void change_key(sim::JobSlot slot, double key);
  bool somebody_waits() const;
  /// Of all lines.
  template <class Visit>
  void for_each_running(Visit&& visit) const {
    for (const Line& line : lines_)
      for (const Item& item : line.running) visit(item.slot);
  }

 private:
  struct Line {
    WaitingJobs waiting;
    OrderedQueue running = {};
    std::vector<sim::JobSlot> coming = {};        ///< preempted jobs on whole devices, until their checkpoints end
    std::vector<sim::JobSlot> parts_coming = {};  ///< preempted jobs on parts of devices
  };
  static constexpr std::uint64_t kUnset = ~std::uint64_t{0};
  /// A job's places among equals.
  struct Seat {
    std::uint64_t arrival = kUnset;
    std::uint64_t served = kUnset;  ///< counts first services
    std::uint64_t place = kUnset;   ///< among those that run, or among those that wait
  };
  int entry_of(const sim::QueueView& view, sim::JobSlot slot) {
    const sim::QueueJob& job = view.jobs[slot];
    return job.service.entry >= 0 ? job.service.entry : entry_of(view, job);
  }
  const sim::Configuration& configuration_of(const sim::QueueView& view, sim::JobSlot slot) {
    return view.jobs[slot].menu.ranked[static_cast<std::size_t>(entry_of(view, slot))].configuration;
  }
  Line& line_of(sim::JobSlot slot) { return lines_[static_cast<std::size_t>(line_of_slot_[slot])]; }
  std::uint64_t number_of(const sim::QueueJob& job, sim::JobSlot slot);
  void settle(const sim::QueueView& view, sim::JobSlot slot);
  void read(const sim::QueueView& view);
  void leave(sim::JobSlot slot);
  void let_go(sim::JobSlot slot);
  void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer);
  void start(const sim::QueueView& view, sim::JobSlot slot, int entry, sim::QueueAnswer& answer);
  bool start_elsewhere(const sim::QueueView& view, sim::JobSlot slot, bool only_empty_lines, sim::QueueAnswer& answer);
  bool has_nodes(const sim::QueueView& view, const sim::QueueJob& job, const sim::Configuration& wanted);
  void take_nodes(const sim::QueueView& view, const sim::Configuration& wanted);
  sim::FreeDevices free_soon(const Line& line, sim::PoolId pool, const sim::QueueView& view) const;
  void spare(const sim::Configuration& wanted, const sim::FreeDevices& without, const sim::QueueView& view,
             sim::FreeDevices free);
  void preempt_for(const Item& head, Line& line, sim::FreeDevices& soon, const sim::QueueView& view);
  void keep_for(sim::JobSlot slot, const Line& line, const sim::QueueView& view);
  bool find_room_without(sim::JobSlot victim, const Line& line, const sim::QueueView& view);
  void spare_unneeded(Line& line, const sim::QueueView& view);
  void stop_victims(sim::QueueAnswer& answer);
  void keep_for_parts(const sim::Configuration& wanted, const Line& line, sim::FreeDevices soon, const sim::QueueView& view);
  void seat_the_moved();

  LineOptions options_;
  std::vector<Line> lines_;        // by pool
  std::vector<int> line_of_slot_;  // by slot: whose line it is in
  std::vector<Seat> seats_;        // by slot
  std::uint64_t services_ = 0, runs_ = 0, backs_ = 0, fronts_ = 0;
  std::vector<sim::JobSlot> moved_;    // in this decision
  OrderedQueue several_pools_;         // waiting rigid jobs that name several pools
  std::vector<sim::JobSlot> awaited_;  // in this decision: those for which others are stopped, or devices kept
  sim::FreeDevices free_;
  bool by_node_ = false;               // some job has needed a number of nodes
  bool kept_by_node_ = false;          // in this decision: what is kept for others lies on certain nodes
  std::vector<sim::Nodes> nodes_;      // by pool, once this decision has started something; only with fewest_nodes
  std::vector<sim::JobSlot> victims_;  // of one waiting job
  // Of a line in this decision: those that are stopped; those that wait for what is let go, in order; what that is; and what was
  // free before anything was kept for them.
  std::vector<Item> stopped_;
  std::vector<sim::JobSlot> claims_;
  int owed_ = 0;
  std::vector<sim::NodeShare> owed_nodes_;
  sim::FreeDevices unkept_;
  double out_of_patience_s_ = sim::kNever;  // the first of those that were looked at
  double wake_at_s_ = 0;                    // last asked for
};

}  // namespace rehearse::policies
