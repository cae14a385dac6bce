// Conservative backfilling: every waiting job (up to `depth`) has a reservation, made when it joins at the first date that
// delays no other. When a job ends early, reservations move to earlier dates, in order of arrival (Mu'alem and Feitelson, IEEE
// TPDS 12(6), 2001, section 2).
#pragma once

#include "policies/queue/availability.hpp"
#include "policies/queue/backfill_queue.hpp"

namespace rehearse::policies {

class Conservative final : public BackfillQueue {
 public:
  explicit Conservative(const BackfillParameters& parameters = {}) : BackfillQueue(parameters) {}

 private:
  struct Plan {
    Availability available;
    bool early = false;                    ///< something was let go of early since the last call
    double gained_until_s = -sim::kNever;  ///< nothing beyond has become free since everybody last looked for an earlier date
  };
  Plan& plan_of(const Line& line);
  void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) override;
  void let_go_early(Line& line, double expected_s, int devices) override;
  void give_up(Line& line, const Waiting& waiting) override;
  void rebuild(Line& line, Plan& plan, double now_s);
  void compress(Line& line, Plan& plan, double now_s);
  std::size_t planned(const Line& line) const;

  std::vector<Plan> plans_;  // by pool
};

}  // namespace rehearse::policies
