#include "policies/configure/yardsticks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/policies/configure/strategies.hpp"

using namespace rehearse::policies;
using rehearse::tests::Bundled;
using rehearse::tests::MadeUp;

namespace {

/// A deadline of 100 s: 1 is too late; 2 to 5 are feasible, cheapest first 4, 2, 5, 3.
void add_five(MadeUp& view) {
  view.add(200, 0);
  view.add(90, 2);
  view.add(90, 4);
  view.add(90, 1);
  view.add(90, 3);
}

}  // namespace

TEST_CASE("the median choice is feasible and of median cost", "[yardsticks]") {
  MadeUp view;
  add_five(view);
  CHECK(view.order(MedianFeasible()) == std::vector<int>{2, 4, 5, 3, 1});  // the lower of the two in the middle
  view.add(95, 2.5);
  CHECK(view.order(MedianFeasible()).front() == 6);
}

TEST_CASE("the random choice is feasible, any of them, by its own stream", "[yardsticks]") {
  MadeUp view;
  add_five(view);
  std::map<int, int> first;
  for (view.key = 0; view.key < 400; ++view.key) {
    const std::vector<int> order = view.order(RandomFeasible());
    REQUIRE(order.size() == 5);
    CHECK(order.back() == 1);
    CHECK(order == view.order(RandomFeasible()));
    ++first[order.front()];
  }
  for (const int name : {2, 3, 4, 5}) CHECK(first[name] > 60);  // 100 +- 9
}

TEST_CASE("where nothing is feasible, yardsticks rank by the least violation", "[yardsticks]") {
  MadeUp view;
  view.add(300, 1);
  view.add(150, 5);
  view.add(200, 2);
  CHECK(view.order(MedianFeasible()) == std::vector<int>{2, 3, 1});
  CHECK(view.order(RandomFeasible()) == std::vector<int>{2, 3, 1});
}

namespace {

/// A floor and a deadline that several configurations keep.
struct NoisyJob {
  rehearse::tests::RealWorld real{rehearse::tests::real_cluster({{"slow", "k80", 2, 1, 0.9}, {"fast", "v100", 2, 2, 6.0}}),
                                  {{"resnet18", "cifar10"}}};
  Bundled bundled;
  explicit NoisyJob(double errors) : bundled(real, rehearse::workloads::WorldErrors::scaled(errors)) {}

  rehearse::sim::Menu menu(const std::string& job, const char* knows,
                           rehearse::sim::Objective objective = rehearse::sim::Objective::min_cost) {
    const rehearse::sim::Job asked{.name = job,
                                   .profile = &real.profile(),
                                   .work = rehearse::sim::Work::train,
                                   .target_accuracy = 0.85,
                                   .deadline_s = 40000,
                                   .objective = objective};
    const PolicySpec spec{.name = "o", .configure = {"oracle", {{"knows", std::string(knows)}}}};
    return Bundle(spec, bundled.inputs()).configure(asked, 0);
  }
};

}  // namespace

TEST_CASE("who knows only what lasts tells no job from another like it", "[yardsticks]") {
  NoisyJob noisy(1);
  const rehearse::sim::Menu one = noisy.menu("one", "world"), other = noisy.menu("other", "world");
  REQUIRE(one.ranked.size() == other.ranked.size());
  for (std::size_t i = 0; i < one.ranked.size(); ++i) {
    CHECK(one.ranked[i].configuration == other.ranked[i].configuration);
    CHECK(one.ranked[i].predicted.cost_usd == other.ranked[i].predicted.cost_usd);
  }
  // Who knows everything does.
  CHECK(noisy.menu("one", "everything").ranked.front().predicted.cost_usd !=
        noisy.menu("other", "everything").ranked.front().predicted.cost_usd);
}

TEST_CASE("where nothing is a job's alone, all that lasts is everything", "[yardsticks]") {
  NoisyJob exact(0);
  for (const auto objective :
       {rehearse::sim::Objective::min_cost, rehearse::sim::Objective::min_time, rehearse::sim::Objective::max_accuracy}) {
    const rehearse::sim::Menu lasting = exact.menu("j", "world", objective), all = exact.menu("j", "everything", objective);
    REQUIRE(all.feasible);
    CHECK(lasting.feasible);
    CHECK(lasting.ranked.front().configuration == all.ranked.front().configuration);
    CHECK(lasting.ranked.front().predicted.cost_usd == Approx(all.ranked.front().predicted.cost_usd));
  }
}

TEST_CASE("who knows what lasts pays for a broken limit with manual's run", "[yardsticks]") {
  NoisyJob noisy(1);
  const rehearse::sim::Menu menu = noisy.menu("j", "world");
  double before_usd = 0;
  for (const rehearse::sim::Choice& c : menu.ranked) {
    CHECK(c.predicted.ranked_cost_usd >= c.predicted.cost_usd * (1 - 1e-12));  // nothing is charged where all keep their limits
    CHECK(c.predicted.ranked_cost_usd >= before_usd);
    before_usd = c.predicted.ranked_cost_usd;
  }
}
