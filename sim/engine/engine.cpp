#include "sim/engine/engine.hpp"

#include <exception>
#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include "sim/base/errors.hpp"
#include "sim/engine/simgrid_setup.hpp"

namespace rehearse::sim {

void run_one_date(EventQueue& events, EventHandler& handler) {
  const double now_s = events.next_date();
  for (std::size_t round = 0; !events.empty() && events.next_date() == now_s; ++round) {
    check(round < kMaxRounds + kRoundsPerJob * handler.jobs(), "endless rounds of decisions at one date", now_s);
    while (!events.empty() && events.next_date() == now_s) handler.handle(events.pop());
    handler.decide(now_s);
  }
}

void run_plain(EventQueue& events, EventHandler& handler) {
  while (!events.empty()) run_one_date(events, handler);
}

namespace {

/// Feeds our queue to SimGrid's main loop. SimGrid adds deltas to its clock, so the clock may round; our dates do not.
class ClusterEvents final : public simgrid::kernel::resource::Model {
 public:
  ClusterEvents(EventQueue& events, EventHandler& handler) : Model("cluster events"), events_(events), handler_(handler) {}

  double next_occurring_event(double now) override {
    if (failure_ || events_.empty()) return -1.0;
    promised_ = events_.next_date();
    return promised_ > now ? promised_ - now : 0.0;
  }

  void update_actions_state(double now, double /*delta*/) override {
    // A date below the clock's resolution from `now` is due as well.
    while (!failure_ && !events_.empty() && (events_.next_date() <= now || events_.next_date() == promised_)) {
      try {
        run_one_date(events_, handler_);
      } catch (...) {  // SimGrid's loop must be left in the usual way
        failure_ = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  EventQueue& events_;
  EventHandler& handler_;
  double promised_ = -1.0;
  std::exception_ptr failure_;
};

}  // namespace

void run_with_simgrid(EventQueue& events, EventHandler& handler) {
  SimGridEngine engine;
  simgrid::s4u::create_empty_zone("cluster")->seal();
  auto model = std::make_shared<ClusterEvents>(events, handler);
  (*engine).add_model(model);
  (*engine).run();
  model->rethrow();
  check(events.empty(), "SimGrid stopped before the last event");
}

}  // namespace rehearse::sim
