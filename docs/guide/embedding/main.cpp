// A queue of one's own, "the smallest job that fits goes first", against first come, first served on the same jobs.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "policies/queue/line_orders.hpp"
#include "sim/base/random.hpp"
#include "sim/replay/free_devices.hpp"
#include "sim/replay/replay.hpp"

namespace sim = rehearse::sim;

namespace {

class SmallestFirst final : public sim::Queue {
 public:
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override {
    waiting_.insert(waiting_.end(), view.queued.begin(), view.queued.end());
    for (const sim::JobSlot ended : view.ended) std::erase(waiting_, ended);
    const auto gpus = [&](sim::JobSlot slot) { return view.jobs[slot].job.gpus; };
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](sim::JobSlot a, sim::JobSlot b) { return gpus(a) < gpus(b); });
    free_.reset(view);
    std::erase_if(waiting_, [&](sim::JobSlot slot) {
      const sim::QueueJob& job = view.jobs[slot];
      const int entry = job.first_fitting_entry;
      if (!free_.take(job.menu.ranked[static_cast<std::size_t>(entry)].configuration, sim::Placement::consolidated)) return false;
      answer.starts.push_back({.job = slot, .entry = entry});
      return true;
    });
  }

 private:
  std::vector<sim::JobSlot> waiting_;
  sim::FreeDevices free_;
};

/// 300 jobs of 1, 2 or 4 GPUs and half an hour on average, one every four minutes on average.
class Jobs final : public sim::JobSource {
 public:
  std::optional<sim::Job> next() override {
    if (given_ == 300) return std::nullopt;
    date_s_ += random_.exponential(240);
    sim::Job job{.name = std::to_string(given_++), .submit_s = date_s_, .work = sim::Work::rigid};
    job.gpus = 1 << random_.below(3);
    job.duration_s = 1 + random_.exponential(1800);
    return job;
  }

 private:
  sim::Random random_{7};
  double date_s_ = 0;
  int given_ = 0;
};

struct MeanCompletion final : sim::Recorder {
  void on_job(const sim::JobRecord& record) override { sum_s += record.end_s - record.job->submit_s, ++jobs; }
  double sum_s = 0;
  int jobs = 0;
};

/// Jobs of fixed size and duration have their configuration already.
struct NoMenu final : sim::Configurator {
  sim::Menu configure(const sim::Job&, double) override { return {}; }
};

void report(const std::string& name, sim::Queue& queue) {
  sim::Cluster cluster;
  cluster.devices.push_back({.name = "gpu", .kind = sim::DeviceKind::gpu, .idle_w = 60, .busy_w = 250});
  cluster.instances.push_back({.name = "node", .gpus = {{0, 4}}, .price_usd_per_hour = 12});
  cluster.pools.push_back({.name = "gpus", .instance = 0, .nodes = 5});
  Jobs jobs;
  NoMenu menu;
  MeanCompletion completion;
  sim::replay({.cluster = &cluster,
               .policy = {.name = name, .configure = &menu, .queue = &queue},
               .sources = {&jobs},
               .recorder = &completion});
  std::printf("%-15s mean completion %.1f min of %d jobs\n", name.c_str(), completion.sum_s / completion.jobs / 60,
              completion.jobs);
}

}  // namespace

int main(int count, char** arguments) {
  // SimGrid runs once in a process, so each policy has one of its own: smallest_first and smallest_first fifo.
  rehearse::policies::Fifo fifo;
  SmallestFirst smallest;
  const bool first_come = count > 1 && std::string(arguments[1]) == "fifo";
  report(first_come ? "fifo" : "smallest-first", first_come ? static_cast<sim::Queue&>(fifo) : smallest);
}
