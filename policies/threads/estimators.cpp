#include "policies/threads/estimators.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::policies {

namespace {

constexpr int kProbeShare = 4;    // of exhaustive's probes, a climb takes at most one in so many
constexpr int kFewestProbes = 6;  // that it may take on a small machine

/// One class's way down and around its best.
class Climb {
 public:
  Climb(int cores, int stride) : cores_(cores), stride_(stride), next_(cores) {}

  /// The number of threads to probe next, 0: has ended.
  int next() const { return next_; }

  void saw(double time_s) {
    samples_.push_back({next_, time_s});
    const ThreadSample best = *std::min_element(samples_.begin(), samples_.end(), quicker);
    if (descending_) {
      if (next_ > 1 && best.threads == next_) {
        next_ /= 2;
        return;
      }
      descending_ = false;
      distance_ = std::max(1, best.threads / 2);
    }
    next_ = untried_neighbour(best.threads);
  }

  const std::vector<ThreadSample>& samples() const { return samples_; }

 private:
  static bool quicker(const ThreadSample& a, const ThreadSample& b) {
    return a.time_s < b.time_s || (a.time_s == b.time_s && a.threads < b.threads);
  }

  bool tried(int threads) const {
    return std::any_of(samples_.begin(), samples_.end(), [threads](const ThreadSample& s) { return s.threads == threads; });
  }

  int untried_neighbour(int best) {
    for (; distance_ >= stride_; distance_ /= 2)
      for (const int threads : {best - distance_, best + distance_})
        if (threads >= 1 && threads <= cores_ && !tried(threads)) return threads;
    return 0;
  }

  int cores_, stride_, next_;
  int distance_ = 0;
  bool descending_ = true;
  std::vector<ThreadSample> samples_;
};

}  // namespace

std::vector<double> interpolated(std::vector<ThreadSample> samples, int cores) {
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.threads < b.threads; });
  std::vector<double> time_s;
  std::size_t above = 0;
  for (int k = 1; k <= cores; ++k) {
    while (above < samples.size() && samples[above].threads < k) ++above;
    const ThreadSample& high = samples[std::min(above, samples.size() - 1)];
    if (above == 0)
      time_s.push_back(high.time_s * high.threads / k);  // below all samples: work shared evenly
    else if (above == samples.size())
      time_s.push_back(high.time_s);
    else {
      const ThreadSample& low = samples[above - 1];
      const double at = (1.0 / low.threads - 1.0 / k) / (1.0 / low.threads - 1.0 / high.threads);
      time_s.push_back(std::lerp(low.time_s, high.time_s, at));
    }
  }
  return time_s;
}

sim::CpuBelief HillClimbing::estimate(StepBench& bench) const {
  const int cores = bench.machine().cores;
  std::vector<Climb> climbs(static_cast<std::size_t>(bench.class_count()), Climb(cores, stride_));
  std::vector<int> threads(climbs.size());
  const int budget = std::max(kFewestProbes, cores / kProbeShare);
  for (int probes = 0; probes < budget; ++probes) {
    bool any = false;
    for (std::size_t c = 0; c < climbs.size(); ++c) {
      any |= climbs[c].next() > 0;
      // A class that has ended stays at its best: no change of teams is paid for it.
      threads[c] = climbs[c].next() > 0 ? climbs[c].next() : threads[c];
    }
    if (!any) break;
    const std::vector<double> seen = bench.probe(threads);
    for (std::size_t c = 0; c < climbs.size(); ++c)
      if (climbs[c].next() > 0) climbs[c].saw(seen[c]);
  }
  std::vector<double> alone_s;
  for (const Climb& climb : climbs) {
    const std::vector<double> curve = interpolated(climb.samples(), cores);
    alone_s.insert(alone_s.end(), curve.begin(), curve.end());
  }
  return sim::CpuBelief::of(cores, std::move(alone_s));
}

sim::CpuBelief ExhaustiveProbes::estimate(StepBench& bench) const {
  const int cores = bench.machine().cores;
  const auto classes = static_cast<std::size_t>(bench.class_count());
  std::vector<double> alone_s(classes * static_cast<std::size_t>(cores));
  for (int k = 1; k <= cores; ++k) {
    const std::vector<double> seen = bench.probe(std::vector<int>(classes, k));
    for (std::size_t c = 0; c < classes; ++c)
      alone_s[c * static_cast<std::size_t>(cores) + static_cast<std::size_t>(k) - 1] = seen[c];
  }
  return sim::CpuBelief::of(cores, std::move(alone_s));
}

sim::CpuPlan serial_plan(const sim::CpuGraph& graph, const std::vector<int>& threads_of_class) {
  sim::CpuPlan plan;
  plan.threads.reserve(graph.class_of.size());
  for (const std::int32_t c : graph.class_of) plan.threads.push_back(threads_of_class[static_cast<std::size_t>(c)]);
  return plan;
}

sim::CpuTiming StepBench::charge(const sim::CpuPlan& plan, int steps) {
  sim::CpuTiming timing = sim::time_cpu_step(model_.graph, *model_.costs, model_.machine, plan);
  steps_ += steps;
  profiled_s_ += steps * timing.makespan_s();
  return timing;
}

std::vector<double> StepBench::probe(const std::vector<int>& threads) {
  charge(serial_plan(model_.graph, threads), 1);
  const auto classes = static_cast<std::size_t>(class_count());
  std::vector<double> sum(classes, 0), alone_s(classes), count(classes, 0);
  for (std::size_t c = 0; c < classes; ++c) alone_s[c] = model_.alone_s(static_cast<int>(c), threads[c]);
  for (const std::int32_t c : model_.graph.class_of) {
    sum[static_cast<std::size_t>(c)] += alone_s[static_cast<std::size_t>(c)] * random_.log_normal_factor(noise_.deviation);
    ++count[static_cast<std::size_t>(c)];
  }
  for (std::size_t c = 0; c < classes; ++c) sum[c] /= count[c];
  return sum;
}

std::vector<workloads::CpuCounters> StepBench::probe_counters(int threads) {
  const auto classes = static_cast<std::size_t>(class_count());
  charge(serial_plan(model_.graph, std::vector<int>(classes, threads)), 1);
  std::vector<workloads::CpuCounters> read(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    const double alone_s = model_.alone_s(static_cast<int>(c), threads);
    read[c] = workloads::noisy(workloads::cpu_counters(model_.classes.works[c], cpu_, batch_, threads, alone_s),
                               {.fixed = noise_.deviation, .multiplexed = noise_.counter_deviation}, random_);
  }
  return read;
}

double StepBench::step_s(const sim::CpuPlan& plan, int steps) {
  const sim::CpuTiming timing = charge(plan, steps);
  // Independent noise of operations averages out over a step.
  double squares = 0, sum = 0;
  for (const sim::Tick ticks : timing.duration_of_op) {
    sum += sim::seconds_of(ticks);
    squares += sim::seconds_of(ticks) * sim::seconds_of(ticks);
  }
  double factors = 0;
  for (int step = 0; step < steps; ++step) factors += random_.log_normal_factor(noise_.deviation * std::sqrt(squares) / sum);
  return timing.makespan_s() * factors / steps;
}

}  // namespace rehearse::policies
