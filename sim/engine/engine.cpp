#include "sim/engine/engine.hpp"

#include "sim/base/errors.hpp"

namespace rehearse::sim {

void run_one_date(EventQueue& events, EventHandler& handler) {
  const double now_s = events.next_date();
  for (int round = 0; !events.empty() && events.next_date() == now_s; ++round) {
    check(round < kMaxRounds, "more than 1000 rounds of decisions at one date", now_s);
    while (!events.empty() && events.next_date() == now_s) handler.handle(events.pop());
    handler.decide(now_s);
  }
}

void run_plain(EventQueue& events, EventHandler& handler) {
  while (!events.empty()) run_one_date(events, handler);
}

}  // namespace rehearse::sim
