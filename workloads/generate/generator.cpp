#include "workloads/generate/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::workloads {

namespace {

constexpr int kReferenceWorkers = 8;
constexpr int kUsers = 8;

}  // namespace

const std::vector<GeneratedPair>& mixed_cnn_rnn() {
  static const std::vector<GeneratedPair> pairs{
      {"resnet18", "cifar10"},
      {"resnet34", "cifar10"},
      {"alexnet", "imagenet"},
      {"resnet50", "imagenet"},
      {"rnnlm", "ptb", true},
      {"deepspeech2", "cmu-arctic", true},
      {"deepspeech2", "librispeech-100h", true},
      {"nmt", "wmt16-en-de", true},
  };
  return pairs;
}

double published_accuracy(const ConvergenceParameters& convergence) {
  sim::TrainingState state;
  advance(convergence, {}, state, {.global_batch = convergence.reference_batch},
          convergence.reference_epochs * convergence.training_samples);
  return accuracy(convergence, {}, state);
}

double floor_below(double accuracy, double slack) { return std::max(0.001, std::floor((accuracy - slack) * 1000) / 1000); }

double reference_time_s(const sim::Profile& profile, const Belief& belief) {
  const ProfileModel& model = belief.profiles().of(profile);
  const sim::Cluster& cluster = belief.cluster();
  sim::Job job{.profile = &profile, .work = sim::Work::train};
  double best_s = sim::kNever;
  for (int pool = 0; pool < static_cast<int>(cluster.pools.size()); ++pool) {
    const int capacity = cluster.pools[static_cast<std::size_t>(pool)].nodes * sim::workers_per_node(cluster, pool);
    for (int workers = 1; workers <= std::min(kReferenceWorkers, capacity); workers *= 2) {
      const int share = std::max(1, static_cast<int>(std::round(model.publication_batch / workers)));
      sim::Configuration c;
      c.groups.push_back({.pool = pool, .workers = workers, .batch_per_worker = share});
      const std::vector<sim::Plans> plans(1, {.threads = {.intra_op = std::max(1, sim::worker_device(cluster, pool).cores)}});
      const sim::StepTiming timing = belief.models().step_times->timing(job, c, sim::empty_cluster_layout(cluster, c), plans);
      if (timing.fits)
        best_s = std::min(best_s, model.convergence->reference_epochs * model.training_samples / c.batch_size() * timing.step_s);
    }
  }
  return best_s;
}

std::vector<sim::Job> generate_jobs(const GeneratorSettings& settings, const Belief& belief, std::uint64_t seed, int repetition) {
  std::map<int, double> reference_s;  // by profile
  std::map<int, double> reached;
  for (const auto* profiles : {&settings.convolutional, &settings.recurrent}) {
    for (const sim::Profile* profile : *profiles) {
      reference_s[profile->index] = reference_time_s(*profile, belief);
      reached[profile->index] = published_accuracy(*belief.profiles().of(*profile).convergence);
    }
  }
  std::vector<sim::Job> jobs;
  double submit_s = settings.first_submit_s;
  sim::Random arrivals(sim::stream_key(seed, static_cast<std::uint64_t>(repetition), "arrivals", settings.name));
  for (int i = 0; i < settings.count; ++i) {
    sim::Job job{.name = fmt::format("{}-{:04}", settings.name, i + 1), .submit_s = submit_s, .work = sim::Work::train};
    job.readings = settings.readings;
    job.gpu_fraction = settings.gpu_fraction;
    job.gpus = settings.gpu_fraction < 1 ? 1 : 0;
    sim::Random random(sim::stream_key(seed, static_cast<std::uint64_t>(repetition), "job", job.name));
    const bool recurrent = settings.convolutional.empty() || (!settings.recurrent.empty() && random.below(2) == 1);
    const auto& profiles = recurrent ? settings.recurrent : settings.convolutional;
    job.profile = profiles[random.below(profiles.size())];
    job.user = fmt::format("user-{}", 1 + random.below(kUsers));
    job.target_accuracy =
        floor_below(reached[job.profile->index], random.uniform(settings.accuracy_slack_low, settings.accuracy_slack_high));
    const double deadline_s =
        reference_s[job.profile->index] * random.uniform(settings.deadline_factor_low, settings.deadline_factor_high);
    if (deadline_s != sim::kNever) job.deadline_s = 60 * std::ceil(deadline_s / 60);
    jobs.push_back(std::move(job));
    submit_s += std::round(arrivals.exponential(sim::kSecondsPerHour / settings.arrivals_per_hour));
  }
  return jobs;
}

}  // namespace rehearse::workloads
