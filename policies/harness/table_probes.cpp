#include "policies/harness/table_probes.hpp"

#include "sim/base/random.hpp"

namespace rehearse::policies {

void probe_task(const RunTable& table, const ProbeBudget& budget, ProbeChooser& chooser, MeasuredCells& measured) {
  sim::Job typical;
  typical.target_accuracy = budget.typical.limits.target_accuracy;
  typical.deadline_s = budget.typical.limits.deadline_s;
  const std::size_t task = budget.typical.task;
  std::vector<Probe> pool;
  std::vector<std::size_t> options;  // of the pool's probes
  for (std::size_t i = 0; i < table.options().size(); ++i) {
    const TableOutcome* outcome = table.outcome(task, i);
    if (outcome == nullptr) continue;
    const TableOption& option = table.options()[i];
    pool.push_back({.run = {.workers = option.workers,
                            .batch_size = option.batch_size,
                            .samples = table.tasks()[task].samples,
                            .asynchronous = option.asynchronous},
                    .instance = option.instance,
                    .epochs = option.epochs > 0 ? option.epochs : budget.epochs,
                    .usd_per_s = outcome->price_usd_per_hour / 3600});
    options.push_back(i);
  }
  std::vector<PastRun> seen;
  sim::Random keys(budget.random_key);
  for (std::size_t probed = 0; probed < budget.runs && !pool.empty(); ++probed) {
    const std::size_t chosen = chooser.next({.pool = pool, .seen = seen, .typical = typical, .random_key = keys.next()});
    const TableOutcome& outcome = *table.outcome(task, options[chosen]);
    seen.insert(seen.end(), outcome.runs.begin(), outcome.runs.end());
    measured.add(task, options[chosen]);
    pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(chosen));
    options.erase(options.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
}

}  // namespace rehearse::policies
