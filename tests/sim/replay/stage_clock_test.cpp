#include "sim/replay/stage_clock.hpp"

#include <catch2/catch.hpp>

using rehearse::sim::StageClock;

TEST_CASE("a course at changing speeds, by hand") {
  // Begins at 100 at full speed; half speed from 110 (10 done); a quarter from 130 (20 done); full again from 170 (30 done).
  StageClock clock;
  clock.begin(100);
  CHECK(clock.done_at(107) == 7);
  CHECK(clock.after(7) == 7);
  clock.set_speed(110, 0.5);
  clock.set_speed(130, 0.25);
  clock.set_speed(170, 1);
  CHECK(clock.done_at(170) == 30);
  CHECK(clock.done_at(175) == 35);
  CHECK(clock.after(10) == 10);
  CHECK(clock.after(15) == 20);
  CHECK(clock.after(25) == 50);
  CHECK(clock.after(40) == 80);
  CHECK(clock.stretch(20) == 1.5);
  clock.begin(500);
  CHECK(clock.speed() == 1);
  CHECK(clock.done_at(501.5) == 1.5);
}

TEST_CASE("of two speeds at one date the last counts") {
  StageClock clock;
  clock.begin(0);
  clock.set_speed(4, 0.5);
  clock.set_speed(4, 0.25);
  CHECK(clock.done_at(8) == 5);
  CHECK(clock.after(5) == 8);
}
