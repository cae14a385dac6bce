// How firm a verdict is: what reverses it is found, and is what a run of the changed scenario says.
#include "experiments/run/certify.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/load.hpp"
#include "report/comparison.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;
using report::CertifiedChange;
using report::VerdictInput;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

VerdictInput three(std::vector<report::VerdictFigures> reference, std::vector<report::VerdictFigures> a,
                   std::vector<report::VerdictFigures> b) {
  return {.policies = {{.name = "manual", .repetitions = std::move(reference)},
                       {.name = "a", .repetitions = std::move(a)},
                       {.name = "b", .repetitions = std::move(b)},
                       {.name = "oracle", .is_yardstick = true, .repetitions = {{0, 0.01}, {0, 0.01}}}},
          .reference = "manual"};
}

TEST_CASE("a winner falls when it breaks limits or another that keeps them costs less; yardsticks do not count") {
  CHECK(reversal(three({{0, 4}, {0, 4}}, {{0, 2}, {0, 2}}, {{0, 3}, {0, 3}}), "a").empty());
  CHECK(reversal(three({{0, 4}, {0, 4}}, {{0, 2}, {0.03, 2}}, {{0, 3}, {0, 3}}), "a") ==
        "a breaks the limits of 1.5 % of the jobs");
  CHECK(reversal(three({{0.01, 4}, {0, 4}}, {{0, 2}, {0.03, 2}}, {{0, 3}, {0, 3}}), "a").empty());  // 1.5 <= 0.5 + 1
  // Geometric means: sqrt(2 * 8) = 4 against sqrt(3 * 5) = 3.87.
  CHECK(reversal(three({{0, 9}, {0, 9}}, {{0, 2}, {0, 8}}, {{0, 3}, {0, 5}}), "a") == "b is cheaper");
  CHECK(reversal(three({{0, 9}, {0, 9}}, {{0, 2}, {0, 8}}, {{0, 3}, {0.5, 5}}), "a").empty());   // b does not keep limits
  CHECK(reversal(three({{0, 4}, {0, 4}}, {{0, 2}, {0, 2}}, {{0, kNaN}, {0, 1}}), "a").empty());  // b has no cost
  CHECK(reversal(three({{0, 4}, {0, 4}}, {}, {{0, 3}, {0, 3}}), "a") == "a fails");
}

TEST_CASE("a bracket closes around the value that reverses") {
  rc::prop("in either direction, within the tolerance, with the reversal inside", [] {
    const bool up = *rc::gen::arbitrary<bool>();
    const double at = std::exp((up ? 1 : -1) * *rc::gen::inRange(1, 1000) / 500.0);
    const double farthest = up ? 4 : 0.25;
    const auto holds = [&](double value) { return up ? value < at : value > at; };
    scenarios::Bracket bracket(1, farthest);
    int tries = 0;
    while (!bracket.is_done()) {
      RC_ASSERT(++tries <= 6);  // a logarithm of 1.39, halved to 0.1
      bracket.tried(holds(bracket.next()));
    }
    if (holds(farthest)) {
      RC_ASSERT(tries == 1);
      RC_ASSERT(bracket.holds_to() == farthest);
      RC_ASSERT(std::isnan(bracket.falls_at()));
    } else {
      RC_ASSERT(holds(bracket.holds_to()));
      RC_ASSERT(!holds(bracket.falls_at()));
      RC_ASSERT(std::abs(std::log(bracket.falls_at() / bracket.holds_to())) <= report::kReversalTolerance + 1e-12);
    }
  });
}

TEST_CASE("a bracket begins at 0 where there is no error to multiply") {
  scenarios::Bracket bracket(0, 0.6);
  while (!bracket.is_done()) bracket.tried(bracket.next() < 0.2);
  CHECK(bracket.holds_to() < 0.2);
  CHECK(bracket.falls_at() >= 0.2);
  CHECK(bracket.falls_at() < 0.23);
}

TEST_CASE("the nearest risk is the reversal that is likeliest, not the smallest factor") {
  report::Certificate c{.winner = "a"};
  c.changes = {
      {.quantity = "load", .holds_to = 1.9, .falls_at = 2, .instead = "b is cheaper", .likely = 1.5, .settled_by = "a count"},
      {.quantity = "price of t4",
       .holds_to = 1.4,
       .falls_at = 1.5,
       .instead = "b is cheaper",
       .likely = 1.1,
       .settled_by = "an offer"},
      {.quantity = "switching times", .holds_to = 10, .falls_at = kNaN, .likely = 3, .settled_by = "a watch"}};
  CHECK(certificate_sentence(c) ==
        "That a wins holds up to 10 times the switching times; it falls at 2 times the load (b is cheaper) and at 1.5 times the "
        "price of t4 (b is cheaper). What would settle most: a count.");  // ln 2 / ln 1.5 = 1.7 < ln 1.5 / ln 1.1 = 4.3
}

TEST_CASE("what a certificate says of a scenario is what runs of the changed scenario say") {
  const TemporaryFolder folder;
  const std::string file = folder.write("s.json", R"({ "name": "firm", "world": { "model_error": 0 }, "profiling_reuse_jobs": 1e9,
    "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.xlarge", "nodes": 4 },
                            { "name": "v100", "instance": "p3.2xlarge", "nodes": 4 } ] },
    "jobs": [ { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 20000 } ],
    "manual": { "pool": "v100" }, "policies": [ "manual", "resource-only" ] })");
  const auto scenario = scenarios::load_scenario(file, {});
  const report::Summary summary =
      scenarios::run_scenario(*scenario, {.out = folder.path() + "/out", .processes = 2, .certify = true});
  REQUIRE(summary.verdict.drawn.winner == "resource-only");
  REQUIRE(summary.certificate);
  CHECK(summary.certificate->run_share <= scenarios::kCertificateShare);
  bool has_price = false;
  for (const CertifiedChange& change : summary.certificate->changes) {
    if (change.quantity != "price of t4" || !change.falls()) continue;
    has_price = true;
    for (const double value : {change.holds_to, change.falls_at}) {
      const auto changed = scenarios::load_scenario(file, {});
      apply({scenarios::Quantity::price, value, 0}, *changed);
      const report::Summary again = scenarios::run_scenario(*changed, {.out = folder.path() + "/again", .processes = 2});
      CHECK((again.verdict.drawn.winner == "resource-only") == (value == change.holds_to));
    }
  }
  CHECK(has_price);
}

TEST_CASE("a certificate needs the first statement alone") {
  // Two repetitions of one model with limits: new worlds are open.
  const TemporaryFolder folder;
  const std::string file = folder.write("s.json", R"({ "name": "open", "repetitions": 2, "profiling_reuse_jobs": 1e9,
    "world": { "model_error": 0.05 }, "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.xlarge", "nodes": 4 },
                                                              { "name": "v100", "instance": "p3.2xlarge", "nodes": 4 } ] },
    "jobs": [ { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.8, "deadline_s": 90000 } ],
    "manual": { "pool": "v100" }, "policies": [ "manual", "resource-only" ] })");
  const auto scenario = scenarios::load_scenario(file, {});
  const report::Summary summary =
      scenarios::run_scenario(*scenario, {.out = folder.path() + "/out", .processes = 2, .certify = true});
  CHECK(summary.verdict.drawn.winner == "resource-only");
  CHECK(summary.verdict.new_worlds.outcome == report::Outcome::undecided);
  REQUIRE(summary.certificate);
  CHECK(summary.certificate->winner == "resource-only");
  CHECK_FALSE(summary.certificate->changes.empty());
}

}  // namespace
