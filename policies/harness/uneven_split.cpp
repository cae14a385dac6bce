#include "policies/harness/uneven_split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

Split finished(std::vector<int> samples, const std::vector<SplitWorker>& workers) {
  Split split{.samples = std::move(samples)};
  for (const int one : split.samples) split.batch += one;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    split.weights.push_back(split.samples[i] / split.batch);
    if (split.samples[i] > 0) split.step_s = std::max(split.step_s, workers[i].time_s(split.samples[i]));
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
  const int share = std::max(1, batch / static_cast<int>(workers.size()));
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
  std::vector<int> samples(workers.size());
  const auto offer = [&](std::size_t i) {
    if (samples[i] < workers[i].most_samples) next.push({workers[i].time_s(samples[i] + 1), i});
  };
  for (std::size_t i = 0; i < workers.size(); ++i) offer(i);
  for (int left = batch; left > 0 && !next.empty(); --left) {
    const std::size_t i = next.top().worker;
    next.pop();
    ++samples[i];
    offer(i);
  }
  return finished(std::move(samples), workers);
}

Split equal_split(const std::vector<SplitWorker>& workers, int batch) {
  const int count = static_cast<int>(workers.size());
  std::vector<int> samples;
  for (int i = 0; i < count; ++i) samples.push_back(batch / count + (i < batch % count ? 1 : 0));
  for (std::size_t i = 0; i < workers.size(); ++i)
    if (samples[i] > workers[i].most_samples) return {};
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

}  // namespace rehearse::policies
