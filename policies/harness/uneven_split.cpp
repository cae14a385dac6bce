#include "policies/harness/uneven_split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/money/costs.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/steps/step_model.hpp"

namespace rehearse::policies {

namespace {

int count_of(const std::vector<SplitWorker>& workers) {
  int count = 0;
  for (const SplitWorker& one : workers) count += one.alike;
  return count;
}

Split finished(std::vector<int> samples, const std::vector<SplitWorker>& workers) {
  Split split{.samples = std::move(samples)};
  for (const int one : split.samples) split.batch += one;
  for (const int one : split.samples) split.weights.push_back(one / split.batch);
  std::size_t first = 0;  // of those that are alike; none of them has more samples
  for (const SplitWorker& one : workers) {
    if (split.samples[first] > 0) split.step_s = std::max(split.step_s, one.time_s(split.samples[first]));
    first += static_cast<std::size_t>(one.alike);
  }
  return split;
}

double with_exchange(const Split& split, int batch, const std::function<double(int)>& exchange_s) {
  if (split.samples.empty() || split.batch < batch) return std::numeric_limits<double>::infinity();
  const auto taking_part = std::ranges::count_if(split.samples, [](int n) { return n > 0; });
  return split.step_s + exchange_s(static_cast<int>(taking_part));
}

/// Those that take no longer than kAlikeTimes times the quickest, at the same share of the batch.
std::vector<SplitWorker> fastest(const std::vector<SplitWorker>& workers, int batch) {
  const int share = std::max(1, batch / count_of(workers));
  double least = std::numeric_limits<double>::infinity();
  for (const SplitWorker& w : workers) least = std::min(least, w.time_s(share));
  std::vector<SplitWorker> fast;
  for (const SplitWorker& w : workers)
    if (w.time_s(share) <= kAlikeTimes * least) fast.push_back(w);
  return fast;
}

}  // namespace

Split uneven_split(const std::vector<SplitWorker>& workers, int batch) {
  sim::check(!workers.empty() && batch > 0, "a batch and workers to split it over");
  struct Next {
    double time_s;
    std::size_t worker;
    bool operator<(const Next& other) const {  // of equals the earlier worker; the queue gives the largest
      return time_s != other.time_s ? time_s > other.time_s : worker > other.worker;
    }
  };
  std::priority_queue<Next> next;
  std::vector<int> each(workers.size()), more(workers.size());  // more: so many of them have another one
  const auto offer = [&](std::size_t i) {
    if (each[i] < workers[i].most_samples) next.push({workers[i].time_s(each[i] + 1), i});
  };
  for (std::size_t i = 0; i < workers.size(); ++i) offer(i);
  for (int left = batch; left > 0 && !next.empty();) {
    const std::size_t i = next.top().worker;
    next.pop();
    if (left < workers[i].alike) more[i] = std::exchange(left, 0);
    if (left == 0) break;
    left -= workers[i].alike;
    ++each[i];
    offer(i);
  }
  std::vector<int> samples;
  for (std::size_t i = 0; i < workers.size(); ++i)
    for (int one = 0; one < workers[i].alike; ++one) samples.push_back(each[i] + (one < more[i] ? 1 : 0));
  return finished(std::move(samples), workers);
}

Split equal_split(const std::vector<SplitWorker>& workers, int batch) {
  const int count = count_of(workers);
  std::vector<int> samples;
  for (const SplitWorker& worker : workers)
    for (int one = 0; one < worker.alike; ++one) {
      const auto i = static_cast<int>(samples.size());
      samples.push_back(batch / count + (i < batch % count ? 1 : 0));
      if (samples.back() > worker.most_samples) return {};
    }
  return finished(std::move(samples), workers);
}

SplitComparison compare_splits(const std::vector<SplitWorker>& workers, int batch, const std::function<double(int)>& exchange_s) {
  SplitComparison c{.uneven = uneven_split(workers, batch)};
  c.uneven_s = with_exchange(c.uneven, batch, exchange_s);
  c.equal_s = with_exchange(equal_split(workers, batch), batch, exchange_s);
  const std::vector<SplitWorker> fast = fastest(workers, batch);
  c.fast_alone_s = with_exchange(uneven_split(fast, batch), batch, exchange_s);
  c.slow_pay = fast.size() < workers.size() && c.uneven_s < c.fast_alone_s;
  return c;
}

double retuned_rate(double rate, double batch_before, double batch_after, double noise_scale, double exponent) {
  return rate * std::pow((1 + noise_scale / batch_before) / (1 + noise_scale / batch_after), exponent);
}

namespace {

class MixTimer {
 public:
  MixTimer(const workloads::Belief& belief, const sim::Profile& profile)
      : belief_(belief), profile_(profile), model_(belief.profiles().of(profile)), cluster_(belief.cluster()) {}

  /// Those of each of the mix, pool after pool; their time has the exchange with all the others in it.
  std::vector<SplitWorker> workers(const std::vector<PoolWorkers>& mix) const {
    int nodes = 0;
    for (const PoolWorkers& one : mix) nodes += (one.workers + on_node(one) - 1) / on_node(one);
    std::vector<SplitWorker> found;
    for (const PoolWorkers& one : mix) {
      const int most = model_.memory.largest_batch(sim::worker_device(cluster_, one.pool), profile_.precision);
      found.push_back({[this, one, nodes](int samples) { return step_s(one, nodes, samples); }, most, one.workers});
    }
    return found;
  }

  MixedSplit timed(std::vector<PoolWorkers> mix, Split split, int batch) const {
    MixedSplit one{.mix = std::move(mix), .split = std::move(split)};
    if (one.split.samples.empty() || one.split.batch < batch) return one;
    one.predicted_s = one.split.step_s;
    std::size_t worker = 0;
    for (const PoolWorkers& pool : one.mix)
      for (int i = 0; i < pool.workers; ++i) add(one.configuration, pool.pool, one.split.samples[worker++]);
    one.simulated_s = simulated_s(one.configuration);
    return one;
  }

  /// The quickest over some of the mix, since an exchange among fewer, or over quicker links, may save more than the others
  /// compute: each pool is tried alone, and of up to kTriedPools pools any choice.
  MixedSplit uneven(const std::vector<PoolWorkers>& mix, int batch) const {
    constexpr std::size_t kTriedPools = 6;
    MixedSplit best = over_fewer(mix, batch);
    const auto try_mix = [&](const std::vector<PoolWorkers>& some) {
      MixedSplit one = over_fewer(some, batch);
      if (one.simulated_s < best.simulated_s) best = std::move(one);
    };
    for (const PoolWorkers& one : mix) try_mix({one});
    for (unsigned which = 1; mix.size() <= kTriedPools && which < 1U << mix.size(); ++which) {
      std::vector<PoolWorkers> some;
      for (std::size_t pool = 0; pool < mix.size(); ++pool)
        if ((which >> pool & 1) != 0) some.push_back(mix[pool]);
      try_mix(some);
    }
    return best;
  }

  std::vector<PoolWorkers> fastest(const std::vector<PoolWorkers>& mix, int share) const {
    double least = std::numeric_limits<double>::infinity();
    for (const PoolWorkers& one : mix) least = std::min(least, step_s(one, 1, share));
    std::vector<PoolWorkers> fast;
    for (const PoolWorkers& one : mix)
      if (step_s(one, 1, share) <= kAlikeTimes * least) fast.push_back(one);
    return fast;
  }

 private:
  /// Workers are left out one by one as long as a step gets quicker by it.
  MixedSplit over_fewer(const std::vector<PoolWorkers>& mix, int batch) const {
    MixedSplit best = over_all(mix, batch);
    for (bool helps = true; helps;) {
      helps = false;
      const std::vector<PoolWorkers> taking_part = best.mix;
      for (std::size_t pool = 0; pool < taking_part.size() && !helps; ++pool) {
        std::vector<PoolWorkers> fewer = taking_part;
        if (--fewer[pool].workers == 0) fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(pool));
        if (fewer.empty()) continue;
        MixedSplit one = over_all(std::move(fewer), batch);
        helps = one.simulated_s < best.simulated_s;
        if (helps) best = std::move(one);
      }
    }
    return best;
  }

  /// Without those that get no sample: the others exchange among fewer then.
  MixedSplit over_all(std::vector<PoolWorkers> mix, int batch) const {
    while (true) {
      Split split = uneven_split(workers(mix), batch);
      std::vector<PoolWorkers> taking_part;
      std::size_t first = 0;
      for (const PoolWorkers& one : mix) {
        const auto begin = split.samples.begin() + static_cast<std::ptrdiff_t>(first);
        const auto count = std::count_if(begin, begin + one.workers, [](int n) { return n > 0; });
        if (count > 0) taking_part.push_back({one.pool, static_cast<int>(count)});
        first += static_cast<std::size_t>(one.workers);
      }
      if (taking_part == mix || taking_part.empty()) return timed(std::move(mix), std::move(split), batch);
      mix = std::move(taking_part);
    }
  }

  int on_node(const PoolWorkers& one) const { return std::min(one.workers, sim::workers_per_node(cluster_, one.pool)); }

  double step_s(const PoolWorkers& one, int nodes, int samples) const {
    const sim::Pool& pool = cluster_.pools[static_cast<std::size_t>(one.pool)];
    const sim::Instance& instance = cluster_.instances[static_cast<std::size_t>(pool.instance)];
    const sim::Device& device = sim::worker_device(cluster_, one.pool);
    const workloads::Conditions conditions{.batch = static_cast<double>(samples), .precision = profile_.precision};
    const double storage = instance.storage_bandwidth_bytes_per_s / on_node(one);
    return workloads::step_time(
               {.compute = model_.step.compute_time(device, corrected(conditions, device, model_.model, model_.dataset)),
                .input_s = model_.step.input_s(samples, storage),
                .gradient_bytes = model_.step.gradient_bytes(profile_.precision),
                .ring =
                    {.nodes = nodes, .workers_per_node = on_node(one), .inside = instance.inside, .network = instance.network},
                .overlap = instance.overlap,
                .straggling = workloads::straggling(nodes * on_node(one))})
        .step_s;
  }

  static void add(sim::Configuration& configuration, sim::PoolId pool, int samples) {
    for (sim::Group& group : configuration.groups)
      if (group.pool == pool && group.batch_per_worker == samples) {
        ++group.workers;
        return;
      }
    configuration.groups.push_back({.pool = pool, .workers = 1, .batch_per_worker = samples});
  }

  double simulated_s(const sim::Configuration& configuration) const {
    const sim::Job job{.profile = &profile_, .work = sim::Work::train};
    std::vector<sim::Plans> plans;
    for (const sim::Group& group : configuration.groups)
      plans.push_back({.threads = {.intra_op = std::max(1, sim::worker_device(cluster_, group.pool).cores)}});
    return belief_.models()
        .step_times->timing(job, configuration, sim::empty_cluster_layout(cluster_, configuration), plans)
        .step_s;
  }

  const workloads::Belief& belief_;
  const sim::Profile& profile_;
  const workloads::ProfileModel& model_;
  const sim::Cluster& cluster_;
};

}  // namespace

MixedComparison compare_mixed(const workloads::Belief& belief, const sim::Profile& profile, const std::vector<PoolWorkers>& mix,
                              int batch) {
  const MixTimer timer(belief, profile);
  int workers = 0;
  for (const PoolWorkers& one : mix) workers += one.workers;
  const std::vector<PoolWorkers> fast = timer.fastest(mix, std::max(1, batch / workers));
  MixedComparison c{.uneven = timer.uneven(mix, batch), .fast_alone = timer.uneven(fast, batch)};
  if (batch >= workers) c.equal = timer.timed(mix, equal_split(timer.workers(mix), batch), batch);
  c.all_fast = fast == mix;
  c.slow_pay = !c.all_fast && c.uneven.simulated_s < c.fast_alone.simulated_s;
  return c;
}

}  // namespace rehearse::policies
