// Elastic jobs with deadlines, planned in slots of time (Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for
// Distributed Deep Learning", ASPLOS 2023), as its authors' code has them:
//   shares  a job is admitted if it and all that were admitted before can keep their deadlines, each with its minimum
//   satisfactory
//           share: the fewest devices in each slot up to its deadline (section 4.1). Devices that are left now go, one step in
//           size after the other, to whom they are worth most (section 4.2). Others are rejected.
//   edf     its comparison: by deadline, each job on as many devices as it can have; nobody is rejected.
#pragma once

#include <optional>
#include <vector>

#include "policies/queue/job_plan.hpp"

namespace rehearse::policies {

/// From a date on, so many devices.
struct SlotStep {
  double from_s = 0;
  int devices = 0;
  bool operator==(const SlotStep&) const = default;
};
/// By date, the last one for ever; before the first there is nothing.
using SlotSteps = std::vector<SlotStep>;
int devices_at(const SlotSteps& steps, double date_s);

struct SlotSize {
  int entry = 0;
  int devices = 0;
  double left_s = 0;  ///< seconds that all that is left of the job takes with it
};

struct SlotJob {
  std::vector<SlotSize> sizes;      ///< by devices, each quicker than the one before
  double deadline_s = sim::kNever;  ///< a date
};

struct SlotPlan {
  SlotSteps steps;
  double finish_s = sim::kNever;  ///< up to a second
  double until_s = sim::kNever;   ///< it keeps its devices to the end of its last slot
  double device_s() const;
};

/// What a job takes of `free`, whose first step is at `now_s` and whose last leaves room: its minimum satisfactory share, filled
/// from the deadline back, with the next smaller size before; if it must be late, all that it can use. `first`: with so many
/// devices up to the next change of `free`, and the share from then on.
SlotPlan plan_in_slots(const SlotJob& job, const SlotSteps& free, double slot_s, std::optional<SlotSize> first = std::nullopt);
/// Less what the plan takes.
SlotSteps without(const SlotSteps& free, const SlotPlan& plan);

enum class SlotDiscipline : std::uint8_t { shares, edf_largest, edf_quickest };

struct SlotParameters {
  SlotDiscipline discipline = SlotDiscipline::shares;
  double slot_s = 240;
};

/// Each job stays in the pool of the first entry of its menu that could ever fit, as long as it has that menu.
class Slots final : public sim::Queue {
 public:
  explicit Slots(const SlotParameters& parameters) : parameters_(parameters) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  struct Member {
    sim::JobSlot slot = 0;
    std::uint64_t number = 0;
    std::size_t pool = 0;
    SlotJob job = {};
    SlotPlan plan = {};
    int entry = -1;  ///< that it is to run now
    int devices = 0;
  };
  void read(const sim::QueueView& view);
  bool is_switching(const sim::QueueView& view) const;
  SlotJob told(const sim::QueueView& view, sim::JobSlot slot) const;
  bool plan(std::vector<Member>& members, double now_s);
  void admit(const sim::QueueView& view, sim::QueueAnswer& answer);
  void give_rest(double now_s);
  void share(const sim::QueueView& view, sim::QueueAnswer& answer);
  void by_deadline();

  SlotParameters parameters_;
  JobPlan jobs_;
  std::vector<int> capacity_;              // by pool
  std::vector<SlotSteps> free_;            // by pool, beside what is planned
  std::vector<Member> members_, joining_;  // by deadline; by arrival
  bool switching_ = false;                 // at the last decision
  bool ended_ = false;                     // somebody, since the last plan
  double drawn_up_s_ = 0;                  // the last plan was made
  double planned_s_ = -sim::kNever;        // the last plan was carried out
  double due_s_ = sim::kNever;             // of what it foresees
};

}  // namespace rehearse::policies
