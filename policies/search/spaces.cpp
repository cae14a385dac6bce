#include "policies/search/spaces.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

workloads::NasCell cell_of(const Genes& genes) {
  workloads::NasCell cell;
  for (std::size_t edge = 0; edge < cell.size(); ++edge) cell[edge] = static_cast<workloads::NasOp>(genes[edge]);
  return cell;
}

CellSpace::CellSpace(std::vector<double> accuracy, std::vector<double> latency_s)
    : accuracy_(std::move(accuracy)), latency_s_(std::move(latency_s)) {
  sim::check(accuracy_.size() == workloads::kNasCells && latency_s_.size() == workloads::kNasCells,
             "a table of cells has every one of them");
  const std::vector<std::string> ops(workloads::kNasOpNames.begin(), workloads::kNasOpNames.end());
  for (const std::string_view edge : workloads::kNasEdges) genes_.push_back({.name = std::string(edge), .levels = ops});
}

std::string CellSpace::name(const Genes& genes) const { return workloads::to_string(cell_of(genes)); }

Measures CellSpace::measure(const Genes& genes, double) const {
  const std::size_t index = workloads::nas_cell_index(cell_of(genes));
  return {.accuracy = accuracy_[index], .latency_s = latency_s_[index]};
}

namespace {

std::vector<std::string> as_text(const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (const int number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

}  // namespace

ChainSpace::ChainSpace(Inputs inputs)
    : inputs_(std::move(inputs)),
      genes_(inputs_.architectures.genes),
      belief_(*inputs_.cluster, *inputs_.models),
      alone_(*inputs_.cluster, *inputs_.costs, belief_.models(), {.name = "search", .place = &place_, .threads = &threads_}) {
  std::size_t combinations = 1;
  for (const Gene& gene : genes_) combinations *= gene.levels.size();
  sim::check(combinations == inputs_.architectures.profiles.size(), "every architecture of a space has a profile");
  std::vector<std::string> pools;
  for (const sim::PoolId pool : inputs_.resources.pools)
    pools.push_back(inputs_.cluster->pools[static_cast<std::size_t>(pool)].name);
  genes_.push_back({.name = "pool", .levels = std::move(pools)});
  genes_.push_back({.name = "workers", .levels = as_text(inputs_.resources.workers)});
  genes_.push_back({.name = "batch", .levels = as_text(inputs_.resources.batches)});
}

std::size_t ChainSpace::architecture(const Genes& genes) const {
  std::size_t number = 0;
  for (std::size_t i = 0; i < inputs_.architectures.genes.size(); ++i)
    number = number * genes_[i].levels.size() + static_cast<std::size_t>(genes[i]);
  return number;
}

sim::Configuration ChainSpace::configuration(const Genes& genes) const {
  const std::size_t first = inputs_.architectures.genes.size();
  const auto level = [&](std::size_t i) { return static_cast<std::size_t>(genes[first + i]); };
  const TrainingResources& r = inputs_.resources;
  const int workers = r.workers[level(1)];
  return {.groups = {{.pool = r.pools[level(0)],
                      .workers = workers,
                      .batch_per_worker = std::max(1, (r.batches[level(2)] + workers - 1) / workers)}}};
}

sim::Job ChainSpace::job(const Genes& genes, double epochs) const {
  return {.name = profile(genes).model, .profile = &profile(genes), .work = sim::Work::train, .epochs = epochs};
}

double ChainSpace::epochs(double share) const { return std::max(1.0, std::round(share * inputs_.architectures.epochs)); }

double ChainSpace::memory_bytes(const Genes& genes) const {
  return inputs_.models->of(profile(genes)).memory.bytes(configuration(genes).groups.front().batch_per_worker);
}

double ChainSpace::latency_s(const Genes& genes) const {
  const sim::Device& device = *inputs_.deployed_on;
  return inputs_.models->of(profile(genes)).step.compute_time(device, {.batch = 1}).forward_s;
}

bool ChainSpace::fits(const Genes& genes, const sim::Configuration& configuration) const {
  const sim::Group& group = configuration.groups.front();
  return sim::could_ever_fit(*inputs_.cluster, configuration) &&
         inputs_.models->of(profile(genes)).memory.fits(group.batch_per_worker, sim::worker_device(*inputs_.cluster, group.pool));
}

sim::Choice ChainSpace::predicted(const sim::Job& job, const sim::Configuration& configuration) const {
  const sim::AloneOutcome outcome = alone_.run(job, {.configuration = configuration});
  sim::Choice choice{.configuration = configuration};
  choice.predicted.feasible = outcome.fits;
  if (!outcome.fits) return choice;
  choice.predicted.time_s = outcome.time_s;
  choice.predicted.cost_usd = outcome.cost_usd;
  choice.predicted.accuracy = outcome.accuracy;
  choice.predicted.epochs = outcome.epochs;
  return choice;
}

Measures ChainSpace::measure(const Genes& genes, double share) const { return measure_with(alone_, genes, share); }

Measures ChainSpace::measure_with(sim::AloneRunner& alone, const Genes& genes, double share) const {
  const sim::Choice choice{.configuration = configuration(genes)};
  Measures m{.latency_s = latency_s(genes), .memory_bytes = memory_bytes(genes)};
  m.fits = sim::could_ever_fit(*inputs_.cluster, choice.configuration);
  if (!m.fits) return m;
  const sim::AloneOutcome whole = alone.run(job(genes, epochs(1)), choice);
  m.fits = whole.fits && whole.failure == sim::FailureReason::none;
  if (!m.fits) return m;
  m.accuracy = share == 1 ? whole.accuracy : alone.run(job(genes, epochs(share)), choice).accuracy;
  m.training_s = whole.time_s;
  m.cost_usd = whole.cost_usd;
  m.energy_j = whole.energy_j;
  m.gpu_hours = whole.time_s / 3600 * choice.configuration.workers();
  return m;
}

}  // namespace rehearse::policies
