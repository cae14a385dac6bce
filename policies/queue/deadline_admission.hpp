// Earliest deadline first with admission control: a job with a deadline is admitted if it and all that were admitted before can
// keep their deadlines, each with its minimum satisfactory share, the fewest devices of its menu that suffice; otherwise it is
// rejected at once (Gu et al., ElasticFlow, ASPLOS 2023, section 4.1). Here a share is reserved from a date on and held to the
// job's end, instead of changing from slot to slot: no resizes. Jobs without a deadline run where no reservation needs the
// devices. A job that fits on several pools together alone is planned on the first of them, and starts once all are free.
// A newcomer moves as few reservations as it must: none, or those with the latest deadlines that stand in its way; only if that
// does not do, all are planned anew, by deadline.
#pragma once

#include <optional>
#include <vector>

#include "policies/queue/durations.hpp"
#include "policies/queue/ordered_queue.hpp"
#include "policies/queue/planned_devices.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

struct DeadlineAdmissionParameters {
  Durations::Source durations = Durations::Source::predicted;
  sim::Placement placement = sim::Placement::consolidated;
};

class DeadlineAdmission final : public sim::Queue {
 public:
  explicit DeadlineAdmission(const DeadlineAdmissionParameters& parameters = {})
      : parameters_(parameters), durations_(parameters.durations) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  struct Reservation {
    Booking booked = {};
    int entry = -1;
    std::size_t pool = 0;
  };
  using Starts = std::vector<std::pair<sim::JobSlot, Reservation>>;
  struct Plan {
    std::vector<PoolAvailability> available;  // by pool
    std::vector<double> full_until_s;         // by pool: nothing is free before
    std::vector<double> gained_until_s;       // by pool: what has become free early is so until then
    Starts starts;                            // of the admitted jobs, by deadline
  };
  /// An entry of a menu. What a waiting job needs does not change.
  struct Share {
    int entry = -1;
    sim::Group group = {};
    double need_s = 0;
    std::size_t pool() const { return static_cast<std::size_t>(group.pool); }
  };
  struct Known {
    double submit_s = 0, deadline_s = sim::kNever;  ///< of the job: plans go through hundreds of jobs, whose views lie far apart
    std::vector<Share> shares;                      ///< while it waits: fewest devices first
    std::vector<sim::Group> held;                   ///< while it holds devices
    sim::Layout nodes;                              ///< by node: where those are, for each group
    double held_since_s = sim::kNever;
  };
  void read(const sim::QueueView& view);
  void join(const sim::QueueView& view, sim::JobSlot slot);
  void holds(const sim::QueueView& view, sim::JobSlot slot);
  void leave(const sim::QueueView& view, sim::JobSlot slot);
  void let_go_early(std::size_t pool, const Booking& held);
  const sim::Nodes* nodes_of(const sim::QueueView& view, std::size_t pool) const;
  Booking held_of(const Known& job, std::size_t group, double from_s, double to_s) const;
  void give_up(const sim::QueueView& view, sim::JobSlot slot);
  bool as_planned(const sim::QueueView& view);
  Plan held(const sim::QueueView& view) const;
  Plan kept(const sim::QueueView& view) const;
  std::optional<Plan> plan(const sim::QueueView& view, bool late_allowed) const;
  std::optional<Reservation> reserve(double now_s, Plan& plan, const Known& job, bool late_allowed) const;
  void move_up(double now_s);
  Starts::iterator place_of(const sim::QueueView& view, Starts& starts, sim::JobSlot slot) const;
  std::optional<Plan> with_others_moved(const sim::QueueView& view, sim::JobSlot newcomer) const;
  bool admits(const sim::QueueView& view, sim::JobSlot newcomer);
  bool fits_as_it_is(const sim::QueueView& view, sim::JobSlot slot);
  bool take(const sim::QueueJob& job, const Reservation& reservation, sim::Start& start);
  bool start(const sim::QueueView& view, sim::JobSlot slot, const Reservation& reservation, sim::QueueAnswer& answer);
  void start_due(const sim::QueueView& view, sim::QueueAnswer& answer);
  void start_rest(const sim::QueueView& view, sim::QueueAnswer& answer);

  DeadlineAdmissionParameters parameters_;
  Durations durations_;
  OrderedQueue admitted_;     // waiting, by deadline
  OrderedQueue rest_;         // waiting without a deadline, by arrival
  OrderedQueue holding_;      // by the date at which they are expected to let go
  std::vector<Known> known_;  // by slot
  std::vector<sim::JobSlot> newcomers_;
  sim::FreeDevices free_;  // less what this answer has given away
  bool by_node_ = false;   // some job has needed a number of nodes: plans then say which
  Plan plan_;
  bool replan_ = true;
  bool early_ = false;    // something was let go before its time since the reservations last looked for it
  bool in_time_ = false;  // in the plan, all that are admitted keep their deadlines
  double wake_at_s_ = 0;  // last asked for
};

}  // namespace rehearse::policies
