#include "policies/configure/least_energy.hpp"

#include <catch2/catch.hpp>

#include "tests/policies/configure/strategies.hpp"

using namespace rehearse;

namespace {

sim::Job cifar_job(const tests::RealWorld& real, double deadline_s) {
  return {.name = "j", .profile = &real.profile(), .work = sim::Work::train, .target_accuracy = 0.9, .deadline_s = deadline_s};
}

}  // namespace

TEST_CASE("least-energy takes less energy than what is cheapest by manual rules, within the deadline") {
  const tests::RealWorld real(tests::real_cluster({{"old", "k80", 8, 1, 0.9}, {"new", "v100", 4, 1, 3}}),
                              {{"resnet18", "cifar10"}});
  tests::Bundled bundled(real);
  double before = std::numeric_limits<double>::infinity();
  for (const double deadline_s : {3600.0, 7200.0, 14400.0, 86400.0}) {
    INFO(deadline_s);
    const sim::Job job = cifar_job(real, deadline_s);
    const sim::Menu menu = bundled.menu("least-energy", job);
    REQUIRE(menu.feasible);
    const sim::AloneOutcome chosen = bundled.truth(job, menu.ranked.front());
    REQUIRE(chosen.fits);
    CHECK(chosen.time_s <= 1.1 * deadline_s);  // the estimate's interval is that of 80 of 100 networks
    const sim::AloneOutcome manual = bundled.truth(job, bundled.menu("manual", job).ranked.front());
    CHECK(chosen.energy_j <= manual.energy_j);
    CHECK(menu.ranked.front().predicted.ranked_cost_usd <= before);  // the predicted energy
    before = menu.ranked.front().predicted.ranked_cost_usd;
  }
}

TEST_CASE("least-energy says when nothing will do") {
  const tests::RealWorld real(tests::real_cluster({{"old", "k80", 1, 1, 0.9}}), {{"resnet18", "cifar10"}});
  tests::Bundled bundled(real);
  const sim::Menu menu = bundled.menu("least-energy", cifar_job(real, 60));
  CHECK(!menu.feasible);
  CHECK_THAT(menu.remedy, Catch::Contains("a deadline of"));
  CHECK(!menu.ranked.empty());
}
