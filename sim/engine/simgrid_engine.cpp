#include <csignal>
#include <exception>
#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/engine/engine.hpp"

namespace rehearse::sim {

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

/// SimGrid's Engine replaces the handlers of these signals when it is created.
class SignalKeeper {
 public:
  SignalKeeper() {
    sigaction(SIGINT, nullptr, &interrupt_);
    sigaction(SIGSEGV, nullptr, &fault_);
  }
  ~SignalKeeper() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGSEGV, &fault_, nullptr);
  }
  SignalKeeper(const SignalKeeper&) = delete;
  SignalKeeper& operator=(const SignalKeeper&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction fault_ {};
};

/// SimGrid's engine with settings that keep dates exact (precision, no hidden latency factors) and no platform.
class SimGridEngine {
 public:
  SimGridEngine() {
    const SignalKeeper keep;
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    int count = static_cast<int>(words_.size());
    engine_ = std::make_unique<simgrid::s4u::Engine>(&count, arguments_.data());
    simgrid::s4u::create_empty_zone("cluster")->seal();
  }
  simgrid::s4u::Engine& operator*() { return *engine_; }

 private:
  std::vector<std::string> words_{"rehearse",
                                  "--log=root.thres:warning",
                                  "--cfg=network/model:CM02",
                                  "--cfg=network/crosstraffic:0",
                                  "--cfg=network/TCP-gamma:0",
                                  "--cfg=surf/precision:1e-12"};
  std::vector<char*> arguments_;
  std::unique_ptr<simgrid::s4u::Engine> engine_;
};

}  // namespace

void run_with_simgrid(EventQueue& events, EventHandler& handler) {
  check(!simgrid::s4u::Engine::is_initialized(), "a process runs SimGrid's engine once");
  SimGridEngine engine;
  auto model = std::make_shared<ClusterEvents>(events, handler);
  (*engine).add_model(model);
  (*engine).run();
  model->rethrow();
  check(events.empty(), "SimGrid stopped before the last event");
}

}  // namespace rehearse::sim
