#include "workloads/generate/generator.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "sim/money/costs.hpp"
#include "tests/workloads/real_world.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
using rehearse::tests::configuration;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

struct Mixed {
  RealWorld real{real_cluster({{"slow", "k80", 8, 1, 1}, {"fast", "v100", 2, 4, 12}}),
                 {{"resnet18", "cifar10"}, {"resnet50", "imagenet"}, {"rnnlm", "ptb"}}};
  GeneratorSettings settings{
      .count = 200, .convolutional = {&real.profile(0), &real.profile(1)}, .recurrent = {&real.profile(2)}};
  std::vector<sim::Job> jobs(std::uint64_t seed = 1, int repetition = 0) const {
    return generate_jobs(settings, *real.belief, seed, repetition);
  }
};

bool same(const sim::Job& a, const sim::Job& b) {
  return a.name == b.name && a.user == b.user && a.profile == b.profile && a.submit_s == b.submit_s &&
         a.target_accuracy == b.target_accuracy && a.deadline_s == b.deadline_s;
}

}  // namespace

TEST_CASE("generated jobs: dates, floors and deadlines", "[generator]") {
  Mixed mixed;
  mixed.settings.first_submit_s = 500;
  const std::vector<sim::Job> jobs = mixed.jobs();
  REQUIRE(jobs.size() == 200);
  CHECK(jobs.front().submit_s == 500);
  CHECK(jobs.front().name == "mixed-0001");
  int recurrent = 0;
  std::set<std::string> names;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const sim::Job& j = jobs[i];
    INFO(j.name);
    if (i > 0) CHECK(j.submit_s >= jobs[i - 1].submit_s);
    names.insert(j.name);
    recurrent += j.profile == &mixed.real.profile(2);
    // What the publication's recipe reaches, less 0.005 to 0.04, cut to thousandths.
    const ConvergenceParameters& c = *mixed.real.models.of(*j.profile).convergence;
    sim::TrainingState state;
    advance(c, {}, state, {.global_batch = c.reference_batch}, c.reference_epochs * c.training_samples);
    const double reached = accuracy(c, {}, state);
    CHECK(j.target_accuracy <= reached - 0.005);
    CHECK(j.target_accuracy > reached - 0.041);
    const double reference_s = reference_time_s(*j.profile, *mixed.real.belief);
    CHECK(j.deadline_s >= 1.5 * reference_s);
    CHECK(j.deadline_s <= 6 * reference_s + 60);
    CHECK(std::fmod(j.deadline_s, 60) == 0);
  }
  CHECK(names.size() == jobs.size());
  CHECK(recurrent > 70);  // a half, by chance: 100 +- 7
  CHECK(recurrent < 130);
  // 10 an hour: 199 gaps of 360 s in the mean, whose sum has a deviation of 360 sqrt(199).
  CHECK(jobs.back().submit_s - 500 == Approx(199 * 360).margin(4 * 360 * std::sqrt(199.0)));
}

TEST_CASE("the reference time is the fastest of the publication's recipes", "[generator]") {
  const Mixed mixed;
  // 100 epochs of 50,000 images at batch 128, on 1, 2, 4 or 8 workers of either pool.
  double best_s = sim::kNever;
  for (const int pool : {0, 1})
    for (const int workers : {1, 2, 4, 8}) {
      const sim::Configuration c = configuration(pool, workers, 128 / workers);
      const sim::Job j{.profile = &mixed.real.profile(0), .work = sim::Work::train};
      const auto timing = mixed.real.belief->models().step_times->timing(j, c, sim::empty_cluster_layout(mixed.real.cluster, c),
                                                                         std::vector<sim::Plans>(1));
      best_s = std::min(best_s, 100 * 50'000 / 128.0 * timing.step_s);
    }
  CHECK(reference_time_s(mixed.real.profile(0), *mixed.real.belief) == Approx(best_s).epsilon(1e-12));
}

TEST_CASE("generated jobs hang on seed, repetition and name alone", "[generator]") {
  Mixed mixed;
  const std::vector<sim::Job> first = mixed.jobs(1, 0);
  const auto differing = [&](const std::vector<sim::Job>& others) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < first.size(); ++i) count += !same(first[i], others[i]);
    return count;
  };
  CHECK(differing(mixed.jobs(1, 0)) == 0);
  CHECK(differing(mixed.jobs(2, 0)) > 190);
  CHECK(differing(mixed.jobs(1, 1)) > 190);
  // Fewer jobs are the first of more.
  mixed.settings.count = 50;
  const std::vector<sim::Job> fewer = mixed.jobs(1, 0);
  REQUIRE(fewer.size() == 50);
  for (std::size_t i = 0; i < fewer.size(); ++i) CHECK(same(first[i], fewer[i]));
}

TEST_CASE("one kind of model alone, and nothing at all", "[generator]") {
  Mixed mixed;
  mixed.settings.convolutional.clear();
  for (const sim::Job& j : mixed.jobs()) CHECK(j.profile == &mixed.real.profile(2));
  mixed.settings.count = 0;
  CHECK(mixed.jobs().empty());
}

TEST_CASE("what mixed-cnn-rnn draws from exists and converges", "[generator]") {
  std::map<bool, int> kinds;
  for (const GeneratedPair& pair : mixed_cnn_rnn()) {
    INFO(pair.model << " on " << pair.dataset);
    CHECK(find_convergence(pair.model, pair.dataset) != nullptr);
    CHECK_NOTHROW(zoo_graph(pair.model, pair.dataset));
    ++kinds[pair.recurrent];
  }
  CHECK(kinds[false] == kinds[true]);
}
