#include "sim/engine/engine.hpp"

#include <rapidcheck/catch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <tuple>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

using namespace rehearse::sim;

namespace {

/// Writes down what it is given; each event with a subject above 0 makes another one, later or at the same date.
class Recorder final : public EventHandler {
 public:
  explicit Recorder(EventQueue& events) : events_(events) {}
  void handle(const Event& event) override {
    seen.push_back(event);
    if (event.subject > 0) events_.push({event.date_s + (event.subject % 3) * 0.1, EventClass::timer, event.subject - 1});
  }
  void decide(double now_s) override { decided.push_back(now_s); }
  std::vector<Event> seen;
  std::vector<double> decided;

 private:
  EventQueue& events_;
};

struct RunInChild {
  int status = 0;
  template <class F>
  explicit RunInChild(F&& body) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 9;
      try {
        code = body() ? 0 : 1;
      } catch (const CheckFailed&) {
        code = 2;
      } catch (...) {
        code = 3;
      }
      _exit(code);
    }
    int raw = 0;
    waitpid(child, &raw, 0);
    status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 100;
  }
};

void fill(EventQueue& events, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 200; ++i)
    events.push({static_cast<double>(random.below(50)) * 0.1, static_cast<EventClass>(random.below(4)),
                 static_cast<std::uint32_t>(random.below(6))});
}

}  // namespace

TEST_CASE("events of one date fire by class, then in the order in which they were pushed") {
  EventQueue events;
  events.push({1, EventClass::timer, 0});
  events.push({1, EventClass::arrival, 1});
  events.push({1, EventClass::completion, 2});
  events.push({1, EventClass::arrival, 3});
  events.push({0.5, EventClass::timer, 4});
  std::vector<std::uint32_t> order;
  while (!events.empty()) order.push_back(events.pop().subject);
  CHECK(order == std::vector<std::uint32_t>{4, 2, 1, 3, 0});
}

TEST_CASE("a cancelled event never fires, and its handle does no harm afterwards") {
  EventQueue events;
  EventHandle a = events.push({1, EventClass::timer, 1});
  EventHandle copy = a;
  EventHandle b = events.push({2, EventClass::timer, 2});
  events.cancel(a);
  events.push({3, EventClass::timer, 3});  // takes over the slot of `a`
  events.cancel(copy);
  CHECK(events.live() == 2);
  CHECK(events.pop().subject == 2);
  events.cancel(b);  // has fired
  CHECK(events.pop().subject == 3);
  CHECK(events.empty());
}

TEST_CASE("pops are sorted and complete under random cancellation") {
  rc::prop("heap", [](std::uint64_t seed) {
    Random random(seed);
    EventQueue events;
    std::vector<EventHandle> handles;
    std::vector<double> expected;
    const int n = 300;
    for (int i = 0; i < n; ++i)
      handles.push_back(events.push({static_cast<double>(random.below(20)), EventClass::timer, static_cast<std::uint32_t>(i)}));
    std::vector<bool> cancelled(n);
    for (int i = 0; i < 200; ++i) {
      const auto victim = random.below(n);
      events.cancel(handles[victim]);
      cancelled[victim] = true;
    }
    std::vector<std::uint32_t> left;
    double last = 0;
    while (!events.empty()) {
      const Event event = events.pop();
      RC_ASSERT(event.date_s >= last);
      last = event.date_s;
      left.push_back(event.subject);
    }
    std::sort(left.begin(), left.end());
    std::vector<std::uint32_t> wanted;
    for (int i = 0; i < n; ++i)
      if (!cancelled[i]) wanted.push_back(static_cast<std::uint32_t>(i));
    RC_ASSERT(left == wanted);
  });
}

TEST_CASE("events come and go in the order of date, class and number, however pushes, pops and cancellations follow") {
  rc::prop("against a sorted map", [](std::uint64_t seed) {
    Random random(seed);
    EventQueue events;
    using Key = std::tuple<double, EventClass, std::uint32_t>;  // the subject counts pushes
    std::map<Key, EventHandle> left;
    double now_s = 0;
    for (std::uint32_t pushed = 0; pushed < 400; ++pushed) {
      const double date_s = now_s + static_cast<double>(random.below(8));
      const auto event_class = static_cast<EventClass>(random.below(4));
      left[{date_s, event_class, pushed}] = events.push({date_s, event_class, pushed});
      if (random.below(4) == 0 && left.size() > 1) {
        const auto victim = std::next(left.begin(), static_cast<std::ptrdiff_t>(random.below(left.size())));
        events.cancel(victim->second);
        left.erase(victim);
      }
      RC_ASSERT(events.live() == left.size());
      if (random.below(3) != 0) continue;
      RC_ASSERT(events.next_date() == std::get<double>(left.begin()->first));
      const Event event = events.pop();
      RC_ASSERT(Key(event.date_s, event.event_class, event.subject) == left.begin()->first);
      now_s = event.date_s;
      left.erase(left.begin());
    }
    for (const auto& [key, handle] : left) RC_ASSERT(events.pop().subject == std::get<std::uint32_t>(key));
    RC_ASSERT(events.empty());
  });
}

TEST_CASE("an event in the past or without a finite date is a failed check") {
  EventQueue events;
  events.push({5, EventClass::timer, 0});
  events.pop();
  CHECK_THROWS_AS(events.push({4, EventClass::timer, 0}), CheckFailed);
  CHECK_THROWS_AS(events.push({std::numeric_limits<double>::quiet_NaN(), EventClass::timer, 0}), CheckFailed);
}

TEST_CASE("decisions come once after all events of a date, and again when they lead to more") {
  EventQueue events;
  Recorder recorder(events);
  events.push({1, EventClass::arrival, 3});  // 3 % 3 == 0: the follower comes at the same date; 2 and 1 come later
  events.push({1, EventClass::arrival, 0});
  run_plain(events, recorder);
  // At 1 s: 3, 0 and the follower 2 of 3 (a timer at the same date, handled before the decision); then 2's follower at 1.2, its
  // at 1.3.
  CHECK(recorder.decided.size() == 3);
  CHECK(recorder.seen.size() == 5);
}

TEST_CASE("endless rounds at one date are a failed check") {
  struct Restless final : EventHandler {
    explicit Restless(EventQueue& queue) : events(queue) {}
    void handle(const Event&) override {}
    void decide(double now_s) override { events.push({now_s, EventClass::timer, 0}); }
    EventQueue& events;
  };
  EventQueue events;
  events.push({1, EventClass::timer, 0});
  Restless restless(events);
  CHECK_THROWS_WITH(run_plain(events, restless), Catch::Matchers::Contains("1.000000 s"));
}

TEST_CASE("each job may take four rounds more at one date") {
  struct Busy final : EventHandler {
    Busy(EventQueue& queue, int wanted) : events(queue), left(wanted) {}
    void handle(const Event&) override {}
    void decide(double now_s) override {
      if (--left > 0) events.push({now_s, EventClass::timer, 0});
    }
    std::size_t jobs() const override { return 50; }
    EventQueue& events;
    int left;
  };
  const auto rounds = [](int wanted) {
    EventQueue events;
    events.push({1, EventClass::timer, 0});
    Busy busy(events, wanted);
    run_plain(events, busy);
    return busy.left;
  };
  CHECK(rounds(1200) == 0);
  CHECK_THROWS_WITH(rounds(1201), Catch::Matchers::Contains("endless rounds"));
}

TEST_CASE("SimGrid's engine gives the same dates and order as the plain loop, to the bit") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const RunInChild child([seed] {
      EventQueue plain_events, simgrid_events;
      Recorder plain(plain_events), simgrid(simgrid_events);
      fill(plain_events, seed);
      fill(simgrid_events, seed);
      run_plain(plain_events, plain);
      run_with_simgrid(simgrid_events, simgrid);
      const auto same = [](const Event& a, const Event& b) {
        return a.date_s == b.date_s && a.event_class == b.event_class && a.subject == b.subject;
      };
      return plain.decided == simgrid.decided && plain.seen.size() > 200 &&
             std::equal(plain.seen.begin(), plain.seen.end(), simgrid.seen.begin(), simgrid.seen.end(), same);
    });
    CHECK(child.status == 0);
  }
}

TEST_CASE("what a handler throws comes out of SimGrid's loop; the signal handlers stay") {
  const RunInChild child([] {
    struct Thrower final : EventHandler {
      void handle(const Event&) override { fail_check("on purpose", 1); }
      void decide(double) override {}
    };
    std::signal(SIGINT, SIG_IGN);
    EventQueue events;
    events.push({1, EventClass::timer, 0});
    Thrower thrower;
    try {
      run_with_simgrid(events, thrower);
    } catch (const CheckFailed&) {
      struct sigaction action {};
      sigaction(SIGINT, nullptr, &action);
      return action.sa_handler == SIG_IGN;
    }
    return false;
  });
  CHECK(child.status == 0);
}
