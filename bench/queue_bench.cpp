// What the queue's disciplines cost: microseconds a decision with a thousand jobs waiting, and a job's share of the whole replay
// as jobs grow at the same cluster and load. CPU time of the whole replay in
// both, so an upper bound of the discipline's own. Prints a table; asserts nothing.
//   queue_bench [DISCIPLINE...]      all of them without an argument
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "policies/registry/registry.hpp"
#include "sim/base/random.hpp"
#include "sim/replay/replay.hpp"

namespace {

using namespace rehearse;

constexpr int kNodes = 64, kGpusPerNode = 8;
constexpr double kMeanSeconds = 1000, kLoad = 0.8;
constexpr int kSizes[] = {1, 1, 1, 1, 2, 2, 4, 8};
constexpr double kMeanGpus = 2.5;

sim::Cluster cluster() {
  sim::Cluster c;
  c.devices.push_back({.name = "gpu", .kind = sim::DeviceKind::gpu, .idle_w = 100, .busy_w = 300});
  c.instances.push_back({.name = "node", .gpus = {{0, kGpusPerNode}}, .price_usd_per_hour = 3.6});
  c.pools.push_back({.name = "pool", .instance = 0, .nodes = kNodes});
  return c;
}

sim::Job draw(sim::Random& random, std::uint64_t number, double date_s) {
  sim::Job job{.name = std::to_string(number), .submit_s = date_s, .work = sim::Work::rigid};
  job.user = std::to_string(number % 50);
  job.gpus = kSizes[random.below(std::size(kSizes))];
  job.duration_s = std::max(1.0, random.exponential(kMeanSeconds));
  job.walltime_s = job.duration_s * random.uniform(1, 3);
  job.priority = static_cast<double>(random.below(4));
  job.deadline_s = job.duration_s * random.uniform(2, 40);
  return job;
}

/// Poisson arrivals at the load.
class Open final : public sim::JobSource {
 public:
  explicit Open(std::uint64_t jobs) : jobs_(jobs) {}
  std::optional<sim::Job> next() override {
    if (given_ == jobs_) return std::nullopt;
    date_s_ += random_.exponential(kMeanSeconds * kMeanGpus / (kLoad * kNodes * kGpusPerNode));
    return draw(random_, given_++, date_s_);
  }

 private:
  sim::Random random_{1};
  std::uint64_t jobs_, given_ = 0;
  double date_s_ = 0;
};

/// As many jobs in the cluster as hold it busy with `waiting` more: each end brings the next one.
class Closed final : public sim::JobSource {
 public:
  Closed(std::uint64_t waiting, std::uint64_t jobs)
      : ready_(waiting + static_cast<std::uint64_t>(kNodes * kGpusPerNode / kMeanGpus)), jobs_(jobs) {}
  std::optional<sim::Job> next() override {
    if (ready_ == 0 || given_ == jobs_) return std::nullopt;
    --ready_;
    return draw(random_, given_++, date_s_);
  }
  bool on_end(const sim::JobRecord& record) override {
    date_s_ = record.end_s;
    ++ready_;
    return true;
  }

 private:
  sim::Random random_{2};
  std::uint64_t ready_, jobs_, given_ = 0;
  double date_s_ = 0;
};

class Nothing final : public sim::Recorder {
 public:
  void on_job(const sim::JobRecord&) override {}
};

class NoMenu final : public sim::Configurator {
 public:
  sim::Menu configure(const sim::Job&, double) override { return {}; }
};

struct Run {
  sim::ReplayTotals totals;
  double cpu_s = 0;
};

Run run(const policies::QueueEntry& entry, sim::JobSource& source) {
  const sim::Cluster c = cluster();
  const auto queue = entry.make(policies::Parameters(entry.parameters, {}));
  Nothing nothing;
  NoMenu menu;
  const std::clock_t begun = std::clock();
  Run result{.totals = sim::replay({.cluster = &c,
                                    .policy = {.name = "bench", .configure = &menu, .queue = queue.get()},
                                    .sources = {&source},
                                    .recorder = &nothing},
                                   sim::run_plain)};
  result.cpu_s = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  return result;
}

double us_a_job(const policies::QueueEntry& entry, std::uint64_t jobs) {
  double least_s = 1e300;
  for (int time = 0; time < (jobs <= 10000 ? 5 : 1); ++time) {
    Open source(jobs);
    least_s = std::min(least_s, run(entry, source).cpu_s);
  }
  return 1e6 * least_s / static_cast<double>(jobs);
}

void measure(const policies::QueueEntry& entry) {
  Closed closed(1000, 20000);
  const Run busy = run(entry, closed);
  const double us_a_decision = 1e6 * busy.cpu_s / static_cast<double>(busy.totals.decisions);
  const double small = us_a_job(entry, 10000), middle = us_a_job(entry, 100000), large = us_a_job(entry, 1000000);
  fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", entry.name, us_a_decision, small, middle, large,
             large / small);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  fmt::print(
      "| discipline | us a decision, 1,000 waiting | us a job of 10,000 | of 100,000 | of 1,000,000 | growth "
      "|\n|---|---:|---:|---:|---:|---:|\n");
  for (const policies::QueueEntry& entry : policies::queue_strategies())
    if (count == 1 || std::find(arguments + 1, arguments + count, entry.name) != arguments + count) measure(entry);
}
