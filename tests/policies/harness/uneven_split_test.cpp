#include "policies/harness/uneven_split.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "sim/money/costs.hpp"
#include "tests/workloads/real_world.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

SplitWorker line(double fixed_s, double sample_s, int most = 1 << 20) {
  return {[=](int samples) { return fixed_s + sample_s * samples; }, most};
}

std::vector<SplitWorker> random_workers() {
  std::vector<SplitWorker> workers;
  const int count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < count; ++i)
    workers.push_back(line(*rc::gen::inRange(0, 100) * 1e-3, *rc::gen::inRange(1, 40) * 1e-3, *rc::gen::inRange(1, 300)));
  return workers;
}

}  // namespace

TEST_CASE("K80 and V100 train ResNet-50 at a batch of 128, by hand") {
  // Gavel's table (OSDI 2020 artifact): a step takes 0.126 + 0.0218 b s on a K80 and 0.042 + 0.0028 b s on a V100.
  // Equal times T: (T - 0.126)/0.0218 + (T - 0.042)/0.0028 = 128, so T = (128 + 5.780 + 15)/(45.872 + 357.143) = 0.36917 s;
  // the K80 gets (0.36917 - 0.126)/0.0218 = 11.15 samples, the V100 116.85: 11 and 117.
  const std::vector<SplitWorker> both{line(0.126, 0.0218), line(0.042, 0.0028)};
  const Split split = uneven_split(both, 128);
  CHECK(split.samples == std::vector<int>{11, 117});
  CHECK(split.step_s == Approx(0.042 + 0.0028 * 117));  // 0.3696 s
  CHECK(split.weights[0] == 11 / 128.0);
  // Equal: 64 on the K80 take 0.126 + 1.3952 = 1.5212 s. The V100 alone: 0.042 + 0.3584 = 0.4004 s.
  const SplitComparison free = compare_splits(both, 128, [](int) { return 0.0; });
  CHECK(free.equal_s == Approx(1.5212));
  CHECK(free.fast_alone_s == Approx(0.4004));
  CHECK(free.uneven_s == Approx(0.3696));
  CHECK(free.slow_pay);
  // 25.6 M parameters over a NIC of 1.25 GB/s: 2 (1/2) 102.4 MB / 1.25 GB/s = 82 ms, more than the 31 ms that the K80 saves.
  const SplitComparison paid = compare_splits(both, 128, [](int workers) { return workers > 1 ? 0.082 : 0.0; });
  CHECK(paid.uneven_s == Approx(0.4516));
  CHECK(!paid.slow_pay);
}

TEST_CASE("splits of random mixes") {
  rc::prop("keep the sum and the memories, end together, and are never slower than the equal split", [] {
    const std::vector<SplitWorker> workers = random_workers();
    const int batch = *rc::gen::inRange(1, 1000);
    const Split split = uneven_split(workers, batch);
    int sum = 0, room = 0;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      RC_ASSERT(split.samples[i] >= 0);
      RC_ASSERT(split.samples[i] <= workers[i].most_samples);
      sum += split.samples[i];
      room += workers[i].most_samples;
    }
    RC_ASSERT(sum == std::min(batch, room));
    RC_ASSERT(split.batch == sum);
    RC_ASSERT(std::abs(std::accumulate(split.weights.begin(), split.weights.end(), 0.0) - 1) < 1e-12);
    // Nobody would be done before the slowest with one sample more, unless its memory is full.
    for (std::size_t i = 0; i < workers.size(); ++i)
      if (split.samples[i] < workers[i].most_samples) RC_ASSERT(workers[i].time_s(split.samples[i] + 1) >= split.step_s - 1e-12);
    const Split equal = equal_split(workers, batch);
    if (!equal.samples.empty() && room >= batch) RC_ASSERT(split.step_s <= equal.step_s + 1e-12);
  });
  rc::prop("equal workers get the equal split", [] {
    const int count = *rc::gen::inRange(1, 9), batch = *rc::gen::inRange(1, 1000);
    const std::vector<SplitWorker> workers(static_cast<std::size_t>(count), line(0.01, 0.002));
    RC_ASSERT(uneven_split(workers, batch).samples == equal_split(workers, batch).samples);
    RC_ASSERT(!compare_splits(workers, batch, [](int) { return 0.0; }).slow_pay);
  });
}

TEST_CASE("workers that are alike are split over as if each were named") {
  rc::prop("of up to four kinds", [] {
    std::vector<SplitWorker> kinds, all;
    const int count = *rc::gen::inRange(1, 5);
    for (int i = 0; i < count; ++i) {
      SplitWorker one = line(*rc::gen::inRange(0, 100) * 1e-3, *rc::gen::inRange(1, 40) * 1e-3, *rc::gen::inRange(1, 100));
      const int alike = *rc::gen::inRange(1, 9);
      all.insert(all.end(), static_cast<std::size_t>(alike), one);
      one.alike = alike;
      kinds.push_back(one);
    }
    const int batch = *rc::gen::inRange(1, 1000);
    RC_ASSERT(uneven_split(kinds, batch).samples == uneven_split(all, batch).samples);
    RC_ASSERT(uneven_split(kinds, batch).step_s == uneven_split(all, batch).step_s);
    RC_ASSERT(equal_split(kinds, batch).samples == equal_split(all, batch).samples);
    const SplitComparison a = compare_splits(kinds, batch, [](int n) { return 0.01 * n; });
    const SplitComparison b = compare_splits(all, batch, [](int n) { return 0.01 * n; });
    RC_ASSERT(a.fast_alone_s == b.fast_alone_s);
    RC_ASSERT(a.slow_pay == b.slow_pay);
  });
}

TEST_CASE("the split is as quick as the best of all splits") {
  rc::prop("of two workers", [] {
    const SplitWorker a = line(*rc::gen::inRange(0, 50) * 1e-3, *rc::gen::inRange(1, 40) * 1e-3, *rc::gen::inRange(20, 100));
    const SplitWorker b = line(*rc::gen::inRange(0, 50) * 1e-3, *rc::gen::inRange(1, 40) * 1e-3, *rc::gen::inRange(20, 100));
    const int batch = *rc::gen::inRange(1, 40);
    double best = 1e9;
    for (int first = 0; first <= batch; ++first) {
      if (first > a.most_samples || batch - first > b.most_samples) continue;
      best = std::min(best, std::max(first > 0 ? a.time_s(first) : 0, first < batch ? b.time_s(batch - first) : 0));
    }
    RC_ASSERT(std::abs(uneven_split({a, b}, batch).step_s - best) < 1e-12);
  });
}

TEST_CASE("a memory that is full hands its samples on; what fits nowhere lowers the batch and the rate") {
  const std::vector<SplitWorker> workers{line(0, 0.001, 10), line(0, 0.01, 30)};
  const Split split = uneven_split(workers, 100);
  CHECK(split.samples == std::vector<int>{10, 30});
  CHECK(split.batch == 40);
  // phi = 100: (1 + 100/100)/(1 + 100/40) = 2/3.5
  CHECK(retuned_rate(0.1, 100, 40, 100) == Approx(0.1 * 2 / 3.5));
  CHECK(retuned_rate(0.1, 100, 100, 100) == 0.1);
  CHECK(retuned_rate(0.1, 100, 40, 100, 0.5) == Approx(0.1 * std::sqrt(2 / 3.5)));
  CHECK(equal_split(workers, 100).samples.empty());
}

TEST_CASE("the simulation agrees that the uneven split is the quickest") {
  const tests::RealWorld real(tests::real_cluster({{"old", "k80", 1, 1, 1}, {"new", "v100", 1, 1, 3}}),
                              {{"resnet50", "imagenet"}});
  const workloads::ProfileModel& model = real.models.of(real.profile());
  std::vector<SplitWorker> workers;
  for (int pool = 0; pool < 2; ++pool) {
    const sim::Device& device = sim::worker_device(real.cluster, pool);
    workers.push_back({[&model, &device](int samples) {
                         return model.step.compute_time(device, {.batch = static_cast<double>(samples)}).total_s();
                       },
                       model.memory.largest_batch(device)});
  }
  const sim::Job job{.profile = &real.profile(), .work = sim::Work::train};
  const auto simulated_s = [&](const std::vector<int>& samples) {
    sim::Configuration c;
    for (int pool = 0; pool < 2; ++pool)
      if (samples[static_cast<std::size_t>(pool)] > 0)
        c.groups.push_back({.pool = pool, .workers = 1, .batch_per_worker = samples[static_cast<std::size_t>(pool)]});
    const std::vector<sim::Plans> plans(c.groups.size());
    return real.belief->models().step_times->timing(job, c, sim::empty_cluster_layout(real.cluster, c), plans).step_s;
  };
  const Split uneven = uneven_split(workers, 96);
  CHECK(uneven.samples[0] > 0);
  CHECK(uneven.samples[1] > 3 * uneven.samples[0]);
  CHECK(simulated_s(uneven.samples) < simulated_s({48, 48}));
  // The exchange over the network of 1.25 GB/s is in the simulated time of both together, and not in that of the V100 alone.
  const double exchange_s = simulated_s(uneven.samples) - uneven.step_s;
  const SplitComparison c = compare_splits(workers, 96, [&](int n) { return n > 1 ? exchange_s : 0.0; });
  CHECK(c.slow_pay == (simulated_s(uneven.samples) < simulated_s({0, 96})));
}

TEST_CASE("a mixed split takes what the replay's step timing says of its configuration") {
  // 1 GPU a node. The equations alone (the slowest worker with the ring of all) must be the simulation's own step.
  const tests::RealWorld real(tests::real_cluster({{"old", "k80", 4, 1, 1}, {"new", "v100", 4, 1, 3}, {"box", "v100", 2, 4, 10}}),
                              {{"resnet50", "imagenet"}, {"resnet32", "cifar10"}});
  rc::prop("to 1e-9 where no two groups share a node, and the uneven split is never slower than the equal one", [&] {
    const sim::Profile& profile = real.profile(*rc::gen::inRange<std::size_t>(0, 2));
    const std::vector<PoolWorkers> mix{{0, *rc::gen::inRange(1, 5)}, {1, *rc::gen::inRange(1, 5)}};
    const MixedComparison c = compare_mixed(*real.belief, profile, mix, *rc::gen::inRange(8, 200));
    RC_ASSERT(std::isfinite(c.uneven.simulated_s));
    for (const MixedSplit* one : {&c.uneven, &c.equal, &c.fast_alone})
      if (std::isfinite(one->simulated_s)) RC_ASSERT(std::abs(one->predicted_s / one->simulated_s - 1) < 1e-9);
    if (c.uneven.mix == mix) RC_ASSERT(c.uneven.simulated_s <= c.equal.simulated_s * (1 + 1e-9));
    RC_ASSERT(c.uneven.configuration.batch_size() == c.uneven.split.batch);
    RC_ASSERT(c.slow_pay == (c.uneven.simulated_s < c.fast_alone.simulated_s));
  });
  // Groups of one pool with unequal samples share nodes of 4 GPUs: the simulation counts such a node for each group.
  const MixedComparison shared = compare_mixed(*real.belief, real.profile(), {{0, 1}, {2, 3}}, 130);
  CHECK(shared.uneven.predicted_s == Approx(shared.uneven.simulated_s).epsilon(0.1));
}

TEST_CASE("an uneven split is as quick as any pool alone") {
  const tests::RealWorld real(
      tests::real_cluster({{"slow", "k80", 2, 1, 10}, {"fast", "v100", 2, 1, 3}, {"box", "v100", 1, 4, 10}}),
      {{"resnet50", "imagenet"}, {"rnnlm", "ptb"}});
  rc::prop("of every mix and batch, small ones above all, of which the exchange is the largest part", [&] {
    const sim::Profile& profile = real.profile(*rc::gen::inRange<std::size_t>(0, 2));
    const std::vector<PoolWorkers> mix{{0, *rc::gen::inRange(1, 3)}, {1, *rc::gen::inRange(1, 3)}, {2, *rc::gen::inRange(1, 5)}};
    const int batch = *rc::gen::inRange(1, 40);
    const MixedComparison all = compare_mixed(*real.belief, profile, mix, batch);
    for (const PoolWorkers& alone : mix)
      RC_ASSERT(all.uneven.simulated_s <= compare_mixed(*real.belief, profile, {alone}, batch).uneven.simulated_s);
    RC_ASSERT(all.uneven.simulated_s <= all.fast_alone.simulated_s);
    RC_ASSERT(all.uneven.simulated_s <= all.equal.simulated_s * (1 + 1e-9));
  });
}

TEST_CASE("equal devices are all fast, and share evenly") {
  const tests::RealWorld real(tests::real_cluster({{"a", "v100", 2, 1, 3}, {"b", "v100", 2, 1, 3}}), {{"resnet50", "imagenet"}});
  const MixedComparison c = compare_mixed(*real.belief, real.profile(), {{0, 2}, {1, 2}}, 128);
  CHECK(c.uneven.split.samples == std::vector<int>{32, 32, 32, 32});
  CHECK(!c.slow_pay);
  CHECK(c.uneven.simulated_s == c.equal.simulated_s);
  CHECK(c.uneven.simulated_s == c.fast_alone.simulated_s);
}
