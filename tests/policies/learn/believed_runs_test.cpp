// What is believed and what was measured, weighed by hand; and that measured bounds guard a belief that is wrong.
#include "policies/learn/believed_runs.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/learn/envelopes.hpp"
#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// A sample takes c B^-p n^-q seconds, wrong by a factor; trainings take e (1 + B/b) epochs whatever the accuracy.
struct FormulaBelief final : BelievedRuns {
  double seconds = 1, by_workers = 0.8, by_batch = 0.2, critical = 256, least = 10;
  double log_seconds(const std::string&, double workers, double batch) const override {
    return std::log(seconds) - by_workers * std::log(workers) - by_batch * std::log(batch / workers);
  }
  double log_epochs(double batch, double accuracy) const override {
    return accuracy > 0.9 ? kUnbounded : std::log(least * (1 + batch / critical));
  }
};

PastRun timed_sample(int workers, double batch, double sample_s) {
  return {.model = "m",
          .dataset = "d",
          .instance = "i",
          .workers = workers,
          .batch_size = batch,
          .samples = 1000,
          .epochs = 1,
          .time_s = 1000 * sample_s,
          .told = Told::steps};
}

}  // namespace

TEST_CASE("residuals widen or narrow what is believed of them, and move it", "[belief]") {
  const std::vector<LinearTerm> one{{0, 1}};
  // Spread 0.2, noise 0.1, one residual of 0.3: chi2 = 0.09/(0.04 + 0.01) = 1.8, factor sqrt((2 + 1.8)/(2 + 1)) = 1.12546.
  // The spread is then 0.225093, its square 0.0506667, and the mean 0.3 x 0.0506667/(0.0506667 + 0.01) = 0.250549.
  const std::vector<MeasuredResidual> far{{.terms = one, .value = 0.3}};
  const ResidualModel wide({0.2}, 0.1, far);
  CHECK(wide.factor() == Approx(1.12546).epsilon(1e-5));
  CHECK(wide.at(one).mean == Approx(0.250549).epsilon(1e-5));
  // Foretold exactly four times: sqrt(2/6) = 0.57735.
  const std::vector<MeasuredResidual> near(4, {.terms = one, .value = 0});
  CHECK(ResidualModel({0.2}, 0.1, near).factor() == Approx(std::sqrt(2.0 / 6)));
  // A bound alone tells nothing of the spreads, and moves the mean up.
  const std::vector<MeasuredResidual> bound{{.terms = one, .value = 0, .is_bound = true}};
  CHECK(ResidualModel({0.2}, 0.1, bound).factor() == 1);
  CHECK(ResidualModel({0.2}, 0.1, bound).at(one).mean > 0);
}

TEST_CASE("measured bounds guard what is believed", "[belief]") {
  const LogBounds measured{1, 2};
  const auto both = guarded(measured, Gaussian{.mean = 1.5, .deviation = 0.1}, 2);
  CHECK(both.low == Approx(1.3));
  CHECK(both.high == Approx(1.7));
  const auto wide = guarded(measured, Gaussian{.mean = 2, .deviation = 0.5}, 2);
  CHECK(wide.low == 1);
  CHECK(wide.high == 2);
  CHECK(guarded(measured, Gaussian{.mean = 3, .deviation = 0.1}, 2).high == 2);  // believed where it cannot be
  CHECK(guarded(measured, std::nullopt, 2).low == 1);
}

TEST_CASE("a belief that measurements bear out narrows the bounds of what was never measured", "[belief]") {
  const FormulaBelief belief;
  std::vector<PastRun> runs;
  for (const int workers : {1, 4})
    for (const double batch : {64.0, 256.0})
      runs.push_back(timed_sample(workers, batch, std::exp(belief.log_seconds("i", workers, batch))));
  const TimeEnvelope alone(runs, {}), weighed(runs, {}, &belief);
  const double workers = std::log(16.0), batch = std::log(1024.0);
  CHECK(weighed.bounds(workers, batch).width() < 0.5 * alone.bounds(workers, batch).width());
  CHECK(weighed.centre(workers, batch) == Approx(belief.log_seconds("i", 16, 1024)).margin(0.02));
}

TEST_CASE("whatever is believed, bounds lie within those of the measurements alone", "[belief]") {
  rc::prop("of times and of epochs", [] {
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    FormulaBelief belief;
    belief.seconds = std::exp(4 * random.uniform() - 2);
    belief.by_workers = random.uniform();
    belief.by_batch = random.uniform();
    std::vector<PastRun> runs;
    for (std::uint64_t i = 0; i < 1 + random.below(6); ++i)
      runs.push_back(timed_sample(1 << random.below(5), 16 << random.below(6), std::exp(2 * random.uniform() - 1)));
    const TimeEnvelope alone(runs, {}), weighed(runs, {}, &belief);
    for (PastRun& run : runs) {
      run.told = Told::run;
      run.epochs = 1 + static_cast<double>(random.below(40));
      run.accuracy = random.uniform();
    }
    const EpochEnvelope epochs_alone(runs, {}), epochs_weighed(runs, {}, &belief);
    const double workers = std::log(1 << random.below(6)), batch = std::log(8 << random.below(8)), accuracy = random.uniform();
    const auto lies_within = [](const LogBounds& inner, const LogBounds& outer) {
      return inner.low >= outer.low && inner.high <= outer.high && inner.low <= inner.high;
    };
    RC_ASSERT(lies_within(weighed.bounds(workers, batch), alone.bounds(workers, batch)));
    RC_ASSERT(weighed.centre(workers, batch) >= weighed.bounds(workers, batch).low);
    RC_ASSERT(weighed.centre(workers, batch) <= weighed.bounds(workers, batch).high);
    RC_ASSERT(lies_within(epochs_weighed.bounds(batch, accuracy), epochs_alone.bounds(batch, accuracy)));
  });
}
