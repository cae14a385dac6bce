#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/replay/records.hpp"
#include "sim/replay/stage.hpp"

using namespace rehearse::sim;

TEST_CASE("checkpoints take time between intervals of training, and none is written at the end") {
  // 10 s of training from date 100, a checkpoint of 1 s after each 4 s: trains 100..104, writes ..105, trains ..109, writes
  // ..110, trains 2 s more to 112.
  const StageClock clock(100, 10, {.interval_s = 4, .write_s = 1});
  CHECK(clock.end_s() == 112);
  CHECK(clock.mean_speed() == Approx(10.0 / 12));
  const auto at = [&](double date_s) { return clock.at(date_s); };
  CHECK(at(103).done_s == 3);
  CHECK(at(103).saved_s == 0);
  CHECK(at(104.5).done_s == 4);
  CHECK(at(104.5).writing_s == 0.5);
  CHECK(at(104.5).saved_s == 0);  // not yet whole
  CHECK(at(105).saved_s == 4);
  CHECK(at(107).done_s == 6);
  CHECK(at(111).done_s == 9);
  CHECK(at(111).saved_s == 8);
  CHECK(at(111).checkpoints == 2);
  CHECK(clock.whole().done_s == 10);
  CHECK(clock.whole().writing_s == 2);
  CHECK(clock.whole().saved_s == 8);
  // 8 s are two intervals: the checkpoint at 8 s would be the end.
  CHECK(StageClock(0, 8, {.interval_s = 4, .write_s = 1}).end_s() == 9);
  CHECK(StageClock(0, 8, {}).end_s() == 8);
}

TEST_CASE("when so many seconds of a stage's course were trained, by its record") {
  // First step at 100, half a course second a second, 1 s of writing after each 4 s of the course but at its end.
  const StageRecord record{.running_since_s = 100, .checkpoints = {.interval_s = 4, .write_s = 1}, .speed = 0.5};
  CHECK(record.date_of(0) == 100);
  CHECK(record.date_of(3) == 106);
  CHECK(record.date_of(4) == 108);
  CHECK(record.date_of(5) == 111);
  CHECK(record.date_of(8) == 117);
  CHECK(record.date_of(10) == 122);
}

TEST_CASE("at half the speed training takes twice as long, writing does not") {
  // As above, but at half the speed from 107 (6 s done): 2 s more take 4 s to 111, writes to 112, 2 s more take 4 s: 116.
  StageClock clock(100, 10, {.interval_s = 4, .write_s = 1});
  clock.set_speed(107, 0.5);
  CHECK(clock.end_s() == 116);
  CHECK(clock.at(112).saved_s == 8);
  CHECK(clock.at(112).saved_trained_s == 10);  // 6 s at full speed, 4 s at half
  CHECK(clock.at(114).done_s == 9);
  // Changed in the middle of a checkpoint (111.25): three quarters of it are left, then 2 s at full speed: 112 + 2.
  clock.set_speed(111.25, 1);
  CHECK(clock.at(111.5).writing_s == Approx(1.5));
  CHECK(clock.end_s() == Approx(114));
}

TEST_CASE("Young's interval, and Daly's correction of it") {
  // write 10 s, failures every 24 h: sqrt(2 x 10 x 86400) = 1314.53 s (Young). Daly: x (1 + 1/3 sqrt(10 / 172800) + 1/9 (10 /
  // 172800)) - 10 = 1314.534 x (1 + 0.00253572 + 0.00000643) - 10 = 1307.876.
  CHECK(young_daly_interval_s(10, 86400) == Approx(1307.876).epsilon(1e-6));
  CHECK(young_daly_interval_s(50, 20) == 20);  // writing takes longer than the nodes live
  CHECK(young_daly_interval_s(10, kNever) == kNever);
}

TEST_CASE("the clock in closed form is the clock walked phase by phase") {
  rc::prop("brute force", [](std::uint64_t seed) {
    Random random(seed);
    const CheckpointTimes times{.interval_s = random.uniform(0.5, 5), .write_s = random.below(3) == 0 ? 0 : random.uniform(0, 2)};
    const double length_s = random.uniform(0.1, 60);
    StageClock clock(7, length_s, times);
    // The walk: small state, advanced to each next phase or date.
    double now_s = 7, done = 0, saved = 0, saved_trained = 0, trained = 0, writing = 0, in_write = -1, speed = 1;
    const auto walk = [&](double to_s) {
      while (now_s < to_s) {
        const double left = to_s - now_s;
        if (in_write >= 0) {
          const double step = std::min(left, times.write_s - in_write);
          in_write += step, writing += step, now_s = step == left ? to_s : now_s + step;
          if (in_write >= times.write_s - 1e-12) saved = done, saved_trained = trained, in_write = -1;
          continue;
        }
        double next = (std::floor(done / times.interval_s + 1e-9) + 1) * times.interval_s;
        const bool ends = next >= length_s - 1e-9;
        if (ends) next = length_s;
        if (ends && done >= length_s - 1e-12) return;
        const double step = std::min(left, (next - done) / speed);
        done += step * speed, trained += step, now_s = step == left ? to_s : now_s + step;
        if (!ends && done >= next - 1e-9) done = next, in_write = 0;
      }
    };
    double date_s = 7;
    for (int i = 0; i < 12; ++i) {
      date_s += random.uniform(0, 6);
      walk(date_s);
      const StageReading r = clock.at(date_s);
      // At a boundary the two may round to different sides of it.
      const double to_boundary = std::abs(std::remainder(done, times.interval_s));
      if (to_boundary > 1e-6 || in_write > 1e-6) {
        RC_ASSERT(std::abs(r.done_s - done) < 1e-6);
        RC_ASSERT(std::abs(r.saved_s - saved) < 1e-6);
        RC_ASSERT(std::abs(r.trained_s - trained) < 1e-6);
        RC_ASSERT(std::abs(r.saved_trained_s - saved_trained) < 1e-6);
        RC_ASSERT(std::abs(r.writing_s - writing) < 1e-6);
      }
      if (r.done_s >= length_s) break;
      if (random.below(2) == 0) {
        speed = random.uniform(0.1, 2);
        clock.set_speed(date_s, speed);
      }
    }
    walk(1e9);
    RC_ASSERT(std::abs(clock.whole().writing_s - writing) < 1e-6);
    RC_ASSERT(std::abs(clock.whole().trained_s - trained) < 1e-6);
    RC_ASSERT(std::abs(clock.whole().saved_trained_s - saved_trained) < 1e-6);
    RC_ASSERT(std::abs(clock.end_s() - (7 + trained + writing)) < 1e-6);
  });
}
