// EASY backfilling: the first job of a line has a reservation at the date by which enough devices are expected to be free; others
// may overtake it if they are expected to end by then, or use devices that it leaves over (Lifka, JSSPP 1995; Mu'alem and
// Feitelson, IEEE TPDS 12(6), 2001, section 2). With durations that are upper bounds the reservation never moves later.
#pragma once

#include "policies/queue/backfill_queue.hpp"

namespace rehearse::policies {

class Easy final : public BackfillQueue {
 public:
  explicit Easy(const BackfillParameters& parameters = {}) : BackfillQueue(parameters) {}

 private:
  struct Reservation {
    double start_s;
    int left_over;  ///< devices that the job does not need then
  };
  Reservation reserve(const Line& line, const Waiting& head, double now_s) const;
  void serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) override;
};

}  // namespace rehearse::policies
