#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/base/random.hpp"
#include "sim/cluster/cluster.hpp"

using namespace rehearse::sim;

TEST_CASE("a price over time, by hand") {
  // 2 until 10 (also before 0), 5 until 20, then 1.
  const StepSeries price({{0, 2}, {10, 5}, {20, 1}});
  CHECK(price.at(-5) == 2);
  CHECK(price.at(9.5) == 2);
  CHECK(price.at(10) == 5);
  CHECK(price.at(1e9) == 1);
  CHECK(price.integral(0, 10) == 20);
  CHECK(price.integral(8, 12) == 2 * 2 + 2 * 5);
  CHECK(price.integral(5, 30) == 5 * 2 + 10 * 5 + 10 * 1);
  CHECK(price.integral(-5, 5) == 20);
  CHECK(price.integral(20, 20) == 0);
  CHECK(price.integral(30, 5) == -(5 * 2 + 10 * 5 + 10 * 1));
}

TEST_CASE("an integral is the sum over its pieces, and within a step exactly value x seconds") {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    std::vector<StepSeries::Step> steps{{0, 3 * random.uniform()}};
    while (steps.size() < 20) steps.push_back({steps.back().time_s + 0.1 + 100 * random.uniform(), 3 * random.uniform()});
    const StepSeries series(steps);
    const double from = 1500 * random.uniform(), to = from + 1500 * random.uniform();
    double pieces = 0;
    for (int i = 0; i < 1000; ++i) {
      const double a = from + (to - from) * i / 1000, b = from + (to - from) * (i + 1) / 1000;
      pieces += series.integral(a, b);
    }
    RC_ASSERT(std::abs(pieces - series.integral(from, to)) <= 1e-9 * (1 + pieces));
    const double begin = steps[7].time_s, middle = (steps[7].time_s + steps[8].time_s) / 2;
    RC_ASSERT(series.integral(begin, middle) == steps[7].value * (middle - begin));
  });
}
