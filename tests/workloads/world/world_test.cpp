#include "workloads/world/world.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "sim/base/random.hpp"
#include "sim/money/costs.hpp"
#include "tests/workloads/real_world.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
using rehearse::tests::configuration;
using rehearse::tests::ModelSheet;
using rehearse::tests::PoolSheet;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

const PoolSheet kSlow{"slow", "k80", 4, 1, 0.9}, kFast{"fast", "v100", 3, 4, 12}, kCpu{"cpu", "knl7250", 2, 0, 2};

sim::Job job(const sim::Profile& profile, std::string name = "job") {
  return {.name = std::move(name), .profile = &profile, .work = sim::Work::train};
}

sim::StepTiming timing(const sim::Models& models, const sim::Cluster& cluster, const sim::Job& job, const sim::Configuration& c) {
  const std::vector<sim::Plans> plans(c.groups.size(), {.threads = {.intra_op = 68}});
  return models.step_times->timing(job, c, sim::empty_cluster_layout(cluster, c), plans);
}

double noise(const sim::Models& models, const sim::Cluster& cluster, const sim::Job& job, const sim::Configuration& c,
             int stage = 0) {
  return models.step_times->noise(job, c, sim::empty_cluster_layout(cluster, c), stage);
}

/// What every error changes, in one list of numbers.
std::vector<double> observe(const sim::Models& models, const RealWorld& real, const sim::Job& job, int pool) {
  std::vector<double> seen;
  for (const int workers : {1, 2}) {
    const sim::Configuration c = configuration(pool, workers, 32);
    const sim::StepTiming t = timing(models, real.cluster, job, c);
    seen.insert(seen.end(), {t.step_s, t.forward_s, t.busy_fraction, t.memory_bytes, t.fits ? 1.0 : 0.0});
    for (const int stage : {0, 1}) seen.push_back(noise(models, real.cluster, job, c, stage));
    sim::TrainingState state;
    for (int epoch = 1; epoch <= 3; ++epoch) {
      const auto outcome = models.convergence->train(job, c, models.convergence->samples_per_epoch(*job.profile), state);
      const double accuracy = models.convergence->accuracy(job, state);
      seen.insert(seen.end(), {outcome.noise_scale, state.progress, state.examples, accuracy,
                               models.convergence->measured_accuracy(job, epoch, accuracy)});
    }
  }
  return seen;
}

struct Spread {
  double mean, deviation;
};

template <class Draw>
Spread spread(int draws, Draw&& draw) {
  double sum = 0, squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double value = draw(i);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / draws;
  return {mean, std::sqrt(squares / draws - mean * mean)};
}

/// Four standard errors of mean and deviation over `draws` normal numbers.
void check_normal(const Spread& s, double deviation, int draws) {
  CHECK(std::abs(s.mean) < 4 * deviation / std::sqrt(draws));
  CHECK(std::abs(s.deviation / deviation - 1) < 4 / std::sqrt(2.0 * draws));
}

}  // namespace

TEST_CASE("a world without errors is the belief", "[world]") {
  const RealWorld real(real_cluster({kSlow, kFast, kCpu}), {{"resnet18", "cifar10"}, {"rnnlm", "ptb"}, {"vgg16", "imagenet"}});
  const World world = real.world(WorldErrors::scaled(0), 99, 3);
  for (const sim::Profile& profile : real.table.profiles())
    for (int pool = 0; pool < 3; ++pool)
      for (const char* name : {"a", "b"}) {
        const std::vector<double> believed = observe(real.belief->models(), real, job(profile, name), pool);
        const std::vector<double> true_ones = observe(world.models(), real, job(profile, name), pool);
        INFO(profile.model << " in pool " << pool);
        REQUIRE(believed.size() == true_ones.size());
        for (std::size_t i = 0; i < believed.size(); ++i)  // NaN where accuracy is not modelled
          CHECK((believed[i] == true_ones[i] || (std::isnan(believed[i]) && std::isnan(true_ones[i]))));
      }
  CHECK(world.models().convergence->individuality(job(real.profile())) == 0);
}

TEST_CASE("each error scales with the model error", "[world]") {
  const WorldErrors half = WorldErrors::scaled(0.05), standard;
  CHECK(half.model_error == 0.05);
  CHECK(half.sync_error == Approx(standard.sync_error / 2));
  CHECK(half.noise_scale_error == Approx(0.15));
  CHECK(half.ceiling_error == Approx(0.0015));
  CHECK(half.examples_error == Approx(0.035));
  CHECK(half.step_noise == Approx(0.015));
  CHECK(half.evaluation_noise == Approx(0.5));
}

TEST_CASE("presets scale as the default world does, and a world without errors has none", "[world]") {
  WorldErrors half = WorldErrors::datasheet();
  half.scale(0.5);
  CHECK(half.model_error == Approx(0.15));
  CHECK(half.workers_error == Approx(0.04));
  CHECK(half.memory_error == Approx(0.075));
  CHECK(half.examples_error == Approx(0.035));
  half.scale(0);
  CHECK(half.none());
  CHECK_FALSE(WorldErrors().none());
  CHECK(WorldErrors().memory_error == 0);  // the default world has no errors of shape
}

TEST_CASE("a world of another form agrees with the belief at the publication's batch, and bends otherwise", "[world]") {
  const RealWorld real(real_cluster({kFast}), {{"resnet18", "cifar10"}});
  const sim::Job j = job(real.profile());
  WorldErrors form = WorldErrors::other_form();
  form.scale(0);
  CHECK(form.none());
  const World world = real.world(form, 7);
  const auto step_s = [&](const sim::Models& models, int workers, int batch) {
    return timing(models, real.cluster, j, configuration(0, workers, batch)).step_s;
  };
  const sim::Models believed = real.belief->models(), truth = world.models();
  CHECK(step_s(truth, 1, 128) == Approx(step_s(believed, 1, 128)).epsilon(1e-9));
  // A power through 128 with the slope from 64 to 256.
  const double slope = std::log2(step_s(believed, 1, 256) / step_s(believed, 1, 64)) / 2;
  for (const int batch : {16, 32, 512, 1024})
    CHECK(step_s(truth, 1, batch) ==
          Approx(step_s(believed, 1, 128) * std::pow(batch / 128.0, slope)).epsilon(1e-5));  // but for the grid
  CHECK(step_s(truth, 1, 16) < 0.99 * step_s(believed, 1, 16));
  // Nothing is drawn: another seed and repetition are the same world.
  CHECK(step_s(real.world(form, 8, 3).models(), 2, 32) == step_s(truth, 2, 32));
  // Convergence: at the reference batch as believed, at four times that less progress: of ResNet-18 a
  // step's noise scale is small against the batch, and the root of squares bends more sharply.
  const auto progress = [&](const sim::Models& models, int batch) {
    sim::TrainingState state;
    models.convergence->train(j, configuration(0, 1, batch), 50'000, state);
    return state.progress;
  };
  CHECK(progress(truth, 128) == progress(believed, 128));
  CHECK(progress(truth, 512) < 0.99 * progress(believed, 512));
}

TEST_CASE("draws hang on seed, repetition and names, not on order or on who else is there", "[world]") {
  const RealWorld one(real_cluster({kSlow, kFast}), {{"resnet18", "cifar10"}, {"rnnlm", "ptb"}});
  const RealWorld other(
      real_cluster({kCpu, kFast, kSlow}, {rehearse::tests::knl(), rehearse::tests::v100(), rehearse::tests::k80()}),
      {{"vgg16", "imagenet"}, {"rnnlm", "ptb"}, {"resnet18", "cifar10"}});
  const auto of = [](const RealWorld& real, std::uint64_t seed, int repetition, const char* pool, const char* name) {
    const World world = real.world({}, seed, repetition);
    return observe(world.models(), real, job(real.profile("resnet18"), name), real.pool(pool));
  };
  const std::vector<double> first = of(one, 5, 2, "fast", "j");
  CHECK(first == of(one, 5, 2, "fast", "j"));
  CHECK(first == of(other, 5, 2, "fast", "j"));
  CHECK(of(one, 5, 2, "slow", "j") == of(other, 5, 2, "slow", "j"));
  // Compute time, noise, convergence and readings: everything moves with seed and repetition.
  for (const std::vector<double>& moved : {of(one, 6, 2, "fast", "j"), of(one, 5, 3, "fast", "j")})
    for (const std::size_t i : {0u, 1u, 5u, 6u, 7u, 8u, 10u, 11u}) {
      INFO(i);
      CHECK(first[i] != moved[i]);
    }
  // Another job: other stage noise and convergence, the same step time.
  const std::vector<double> another = of(one, 5, 2, "fast", "k");
  CHECK(first[0] == another[0]);
  CHECK(first[5] != another[5]);
  CHECK(first[8] != another[8]);
}

TEST_CASE("factors have the spread that was asked for", "[world]") {
  constexpr int kWorlds = 2000;
  const RealWorld real(real_cluster({kFast}), {{"resnet18", "cifar10"}});
  const sim::Job j = job(real.profile());
  WorldErrors none = WorldErrors::scaled(0);
  const auto log_ratio = [&](const WorldErrors& errors, auto&& quantity) {
    return [&real, errors, quantity](int seed) {
      const World world = real.world(errors, static_cast<std::uint64_t>(seed));
      return std::log(quantity(world.models()) / quantity(real.belief->models()));
    };
  };
  SECTION("compute time of one worker") {
    WorldErrors errors = none;
    errors.model_error = 0.1;
    const auto step = [&](const sim::Models& m) { return timing(m, real.cluster, j, configuration(0, 1, 512)).step_s; };
    check_normal(spread(kWorlds, log_ratio(errors, step)), 0.1, kWorlds);
  }
  SECTION("batch curve: two doublings from the publication's 128") {
    WorldErrors errors = none;
    errors.batch_error = 0.05;
    const auto step = [&](const sim::Models& m) { return timing(m, real.cluster, j, configuration(0, 1, 512)).step_s; };
    check_normal(spread(kWorlds, log_ratio(errors, step)), 0.1, kWorlds);
    const auto at_the_publications = [&](const sim::Models& m) {
      return timing(m, real.cluster, j, configuration(0, 1, 128)).step_s;
    };
    CHECK(log_ratio(errors, at_the_publications)(3) == 0);
  }
  SECTION("worker curve: two doublings from one worker, and never faster than a worker alone") {
    WorldErrors errors = none;
    errors.workers_error = 0.05;
    sim::Cluster slow = real.cluster;
    slow.instances[0].network.bandwidth_bytes_per_s = 1e6;
    const RealWorld thin(slow, {{"resnet18", "cifar10"}});
    sim::Configuration c = configuration(0, 4, 1);
    c.sync = {.kind = sim::SyncKind::servers_async, .servers = 1};
    check_normal(spread(kWorlds,
                        [&](int seed) {
                          const World world = thin.world(errors, static_cast<std::uint64_t>(seed));
                          return std::log(timing(world.models(), thin.cluster, j, c).step_s /
                                          timing(thin.belief->models(), thin.cluster, j, c).step_s);
                        }),
                 0.1, kWorlds);
    errors.workers_error = 0.5;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const World world = real.world(errors, seed);
      const auto step_s = [&](int workers) {
        return timing(world.models(), real.cluster, j, configuration(0, workers, 512)).step_s;
      };
      for (const int workers : {2, 4}) CHECK(step_s(workers) >= step_s(1) * (1 - 1e-9));
    }
  }
  SECTION("memory") {
    WorldErrors errors = none;
    errors.memory_error = 0.1;
    const auto bytes = [&](const sim::Models& m) { return timing(m, real.cluster, j, configuration(0, 1, 512)).memory_bytes; };
    check_normal(spread(kWorlds, log_ratio(errors, bytes)), 0.1, kWorlds);
  }
  SECTION("synchronisation, where servers are all that counts") {
    WorldErrors errors = none;
    errors.sync_error = 0.15;
    sim::Cluster slow = real.cluster;
    slow.instances[0].network.bandwidth_bytes_per_s = 1e6;
    const RealWorld thin(slow, {{"resnet18", "cifar10"}});
    sim::Configuration c = configuration(0, 4, 1);
    c.sync = {.kind = sim::SyncKind::servers_async, .servers = 1};
    check_normal(spread(kWorlds,
                        [&](int seed) {
                          const World world = thin.world(errors, static_cast<std::uint64_t>(seed));
                          return std::log(timing(world.models(), thin.cluster, j, c).step_s /
                                          timing(thin.belief->models(), thin.cluster, j, c).step_s);
                        }),
                 0.15, kWorlds);
  }
  SECTION("noise scale, at the beginning") {
    WorldErrors errors = none;
    errors.noise_scale_error = 0.3;
    const auto scale = [&](const sim::Models& m) {
      sim::TrainingState state;
      return m.convergence->train(j, configuration(0, 1, 128), 1e-6, state).noise_scale;
    };
    check_normal(spread(kWorlds, log_ratio(errors, scale)), 0.3, kWorlds);
  }
  SECTION("ceiling, of weights that have long converged") {
    WorldErrors errors = none;
    errors.ceiling_error = 0.003;
    const sim::TrainingState state{.progress = 1e15, .examples = 1, .log2_batch_examples = 7};
    check_normal(spread(kWorlds,
                        [&](int seed) {
                          const World world = real.world(errors, static_cast<std::uint64_t>(seed));
                          return world.models().convergence->accuracy(j, state) -
                                 real.belief->models().convergence->accuracy(j, state);
                        }),
                 0.003, kWorlds);
  }
  SECTION("examples that a job needs: progress of a few") {
    WorldErrors errors = none;
    errors.examples_error = 0.07;
    const World world = real.world(errors);
    const auto progress = [&](const sim::Models& m, const sim::Job& of) {
      sim::TrainingState state;
      m.convergence->train(of, configuration(0, 1, 128), 1, state);
      return state.progress;
    };
    check_normal(spread(kWorlds,
                        [&](int i) {
                          const sim::Job of = job(real.profile(), std::to_string(i));
                          return std::log(progress(real.belief->models(), of) / progress(world.models(), of));
                        }),
                 0.07, kWorlds);
  }
  SECTION("stage and node together") {
    WorldErrors errors = none;
    errors.step_noise = 0.03;
    check_normal(spread(kWorlds,
                        [&](int seed) {
                          const World world = real.world(errors, static_cast<std::uint64_t>(seed));
                          return std::log(noise(world.models(), real.cluster, j, configuration(0, 1, 8)));
                        }),
                 0.03 * std::sqrt(2.0), kWorlds);
  }
  SECTION("an evaluation's reading: half of its deviation") {
    WorldErrors errors = none;
    errors.evaluation_noise = 0.5;
    const World world = real.world(errors);
    const sim::Convergence& convergence = *world.models().convergence;
    // 10,000 images, accuracy 0.8: sqrt(0.8 x 0.2 / 10000) = 0.004.
    CHECK(convergence.evaluation_deviation(*j.profile, 0.8) == Approx(0.004));
    check_normal(spread(kWorlds, [&](int epoch) { return convergence.measured_accuracy(j, epoch, 0.8) - 0.8; }), 0.002, kWorlds);
    CHECK(convergence.measured_accuracy(j, 1, 0.8) == convergence.measured_accuracy(j, 1, 0.8));
    std::set<double> readings;
    for (int epoch = 0; epoch < 200; ++epoch) readings.insert(convergence.measured_accuracy(j, epoch, 1));
    CHECK(*readings.rbegin() == 1);  // never above
    CHECK(readings.size() > 50);
  }
}

TEST_CASE("a synchronous step waits for the slowest node", "[world]") {
  const RealWorld real(real_cluster({kFast}), {{"resnet18", "cifar10"}});
  const World world = real.world({});
  const sim::StepTimes& times = *world.models().step_times;
  const sim::Job j = job(real.profile());
  const auto on = [&](std::vector<sim::NodeShare> nodes) {
    return times.noise(j, configuration(0, 4, 8), {std::move(nodes)}, 0);
  };
  const double first = on({{0, 4}}), second = on({{1, 4}}), third = on({{2, 4}});
  CHECK(first != second);
  CHECK(on({{0, 2}, {1, 2}}) == std::max(first, second));
  CHECK(on({{0, 1}, {1, 1}, {2, 2}}) == std::max({first, second, third}));
}
