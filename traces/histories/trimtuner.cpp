// TrimTuner (Mendes et al., "TrimTuner: Efficient Optimization of Machine Learning Jobs in the Cloud via Sub-Sampling", MASCOTS
// 2020; github.com/pedrogbmendes/TrimTuner, dataset_NN_Tensorflow/cnn.csv): a CNN on MNIST, TensorFlow with one parameter server,
// on AWS's t2 machines. A run ends with its pass over the data, or after ten minutes.
#include <array>

#include "sim/io/csv.hpp"
#include "traces/histories/history_list.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {

namespace {

/// TrimTuner's own prices; a bookkeeping machine, a t2.2xlarge, runs beside every job.
struct Machine {
  std::string_view name;
  double usd_per_hour;
};
constexpr std::array kMachines{Machine{"t2.small", 0.023}, Machine{"t2.medium", 0.0464}, Machine{"t2.xlarge", 0.1856},
                               Machine{"t2.2xlarge", 0.3712}};
constexpr double kBookkeeperUsdPerHour = 0.3712;

/// The limit is 600 s; the rows are means over repeated runs, and some that were cut lie a little below it.
constexpr double kCutFromS = 595;

double machine_usd_per_hour(sim::CsvRow& row) {
  for (const Machine& machine : kMachines)
    if (machine.name == row.text("vm_flavor")) return machine.usd_per_hour;
  row.refuse("vm_flavor", "one of t2.small, t2.medium, t2.xlarge, t2.2xlarge");
  return 0;
}

workloads::PastRun run_of(sim::CsvRow& row, std::string_view model) {
  const int workers = static_cast<int>(row.integer("n_workers", sim::between(1, 1e4)));
  const int servers = static_cast<int>(row.integer("n_ps", sim::between(1, 1e4)));
  const double batch_of_worker = static_cast<double>(row.integer("batch_size", sim::between(1, 1e6)));
  const double samples = row.number("training_set_size", sim::above(0));
  // Batches of all workers, in synchronous runs as well: on 80 workers they come in eighties.
  const double batches = row.number("total_iterations", sim::above(0));
  const bool asynchronous = row.text("synchronism") == "async";
  if (!asynchronous && row.text("synchronism") != "sync") row.refuse("synchronism", "sync or async");
  const double time_s = row.number("training_time", sim::above(0));
  return {.model = std::string(model),
          .dataset = "mnist",
          .lr_rule = sim::LrRule::fixed,
          .instance = std::string(row.text("vm_flavor")),
          .workers = workers,
          .batch_size = batch_of_worker * workers,
          .samples = samples,
          .epochs = batches * batch_of_worker / samples,
          .time_s = time_s,
          .accuracy = row.number("acc", sim::between(0, 1)),
          .asynchronous = asynchronous,
          .censored = time_s >= kCutFromS,
          .servers = servers,
          .learning_rate = row.number("learning_rate", sim::above(0)),
          .price_usd_per_hour = (workers + servers) * machine_usd_per_hour(row) + kBookkeeperUsdPerHour};
}

}  // namespace

HistoryList read_trimtuner_history(const std::string& path) {
  sim::CsvReader reader(path, {.required = {"n_workers", "n_ps", "vm_flavor", "batch_size", "synchronism", "training_time", "acc",
                                            "total_iterations", "training_set_size", "learning_rate"}});
  HistoryCollector out(path);
  const sim::Mistake cut{.pointer = "training_time", .expected = "below 595 s; marked as cut short at the limit of 600 s"};
  while (sim::CsvRow* row = reader.next()) {
    workloads::PastRun run = run_of(*row, trimtuner_model(path));
    if (!row->mistakes().empty()) {
      out.drop(row->mistakes(), row->line());
      continue;
    }
    const bool was_cut = run.censored;
    out.add(std::move(run), row->line(), was_cut ? std::optional(cut) : std::nullopt);
  }
  out.note("a batch is all workers' together; the price is that of workers, servers and TrimTuner's bookkeeping machine");
  return out.finish();
}

}  // namespace rehearse::traces
