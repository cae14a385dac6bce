// A decision of staged-rl: correcting the belief by what was measured, the outlook with its features, and the network.
#include <benchmark/benchmark.h>

#include <cmath>

#include "policies/configure/menu.hpp"
#include "policies/staged/staged_rl.hpp"
#include "tests/policies/configure/strategies.hpp"

namespace {

using namespace rehearse;

/// A job on CIFAR-10 after its first stage, on a pool of GPUs and one of CPUs.
struct Decision {
  tests::RealWorld real{
      tests::real_cluster({{"fast", "v100", 8, 4, 12.24}, {"slow", "k80", 8, 4, 3.6}, {"cpu", "knl7250", 8, 0, 2}}),
      {{"resnet18", "cifar10"}}};
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::CostRules costs;
  sim::AloneRunner believed{real.cluster, costs, real.belief->models(), {.name = "b", .place = &place, .threads = &threads}};
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train, .target_accuracy = 0.9, .deadline_s = 2e4};
  sim::Configuration manual = tests::configuration(0, 1, 128);
  std::vector<sim::Configuration> candidates = policies::candidate_configurations(job, real.cluster, *real.belief, manual);
  std::function<sim::Prediction(const sim::Configuration&)> estimate = [](const auto&) { return sim::Prediction(); };
  std::vector<double> ends{10, 20, 30, 40};
  std::vector<sim::StageSeen> seen{{.configuration = manual,
                                    .stages = 1,
                                    .epochs = 10,
                                    .examples = 5e5,
                                    .accuracy = 0.75,
                                    .noise_scale = 900,
                                    .step_s = 0.05,
                                    .elapsed_s = 500,
                                    .cost_usd = 0.4}};
  policies::StageTable table{job, candidates, believed.stages(), real.belief->profiles().of(*job.profile)};
  policies::Prior prior;
  policies::AgentBasis basis() { return {*real.belief, table, ends, prior}; }
  policies::ConfigureView view() {
    return {.job = job,
            .cluster = real.cluster,
            .costs = costs,
            .candidates = candidates,
            .manual = manual,
            .estimate = estimate,
            .believed = &believed};
  }
};

/// All of it.
void decide(benchmark::State& state) {
  Decision d;
  const policies::StagedAgent agent(1);
  policies::Tape tape(agent.parameters());
  const policies::ConfigureView view = d.view();
  std::size_t options = 0;
  for (auto _ : state) {
    const policies::AgentDecision made = policies::prepare_decision(view, d.seen, d.basis());
    benchmark::DoNotOptimize(agent.best(tape, made.inputs));
    options = made.outlook.options.size();
  }
  state.counters["options"] = static_cast<double>(options);
}

/// The network alone.
void network(benchmark::State& state) {
  Decision d;
  const policies::StagedAgent agent(1);
  policies::Tape tape(agent.parameters());
  const policies::AgentDecision made = policies::prepare_decision(d.view(), d.seen, d.basis());
  for (auto _ : state) benchmark::DoNotOptimize(agent.best(tape, made.inputs));
}

/// The outlook alone.
void outlook(benchmark::State& state) {
  Decision d;
  const workloads::Revision none;
  const policies::AgentDecision made = policies::prepare_decision(d.view(), d.seen, d.basis());
  for (auto _ : state)
    benchmark::DoNotOptimize(policies::look_ahead({.job = &d.job,
                                                   .table = &d.table,
                                                   .costs = &d.costs,
                                                   .ends = made.ends,
                                                   .from = &made.from,
                                                   .revision = &none,
                                                   .epoch_cap = 300,
                                                   .reserve = 0.1}));
}

}  // namespace

BENCHMARK(decide)->Unit(benchmark::kMicrosecond);
BENCHMARK(outlook)->Unit(benchmark::kMicrosecond);
BENCHMARK(network)->Unit(benchmark::kMicrosecond);

BENCHMARK_MAIN();
