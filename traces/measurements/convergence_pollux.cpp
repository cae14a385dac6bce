// Pollux (Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021): trainings at
// fixed batches with AdaScale's learning rates, one row for each epoch's worth of progress: progress in steps at the smallest
// batch, steps made, validation metric, and the squared norm and variance of gradients at the smallest batch.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/io/csv.hpp"
#include "traces/measurements/convergence_list.hpp"
#include "workloads/training/datasets.hpp"

namespace rehearse::traces {
namespace {

namespace fs = std::filesystem;
using workloads::ConvergencePoint;

enum class Metric : std::uint8_t { share, per_cent, error_per_cent, loss_of_32 };

struct TrainedApplication {
  std::string_view theirs, model, dataset;
  double smallest_batch;
  Metric metric;
  int epochs_a_phase;  ///< of a stepwise schedule, at the smallest batch; 0: it has no steps
};
/// Section 5.1. ImageNet's script divides the rate by 10 every 30 epochs; the others lower it a little every epoch. BERT's metric
/// is F1, YOLOv3's a loss (workloads/training/convergence_table.cpp). NCF is not in the zoo.
constexpr TrainedApplication kTrainedApplications[] = {
    {"cifar10", "resnet18", "cifar10", 128, Metric::share, 0},
    {"imagenet", "resnet50", "imagenet", 200, Metric::share, 30},
    {"deepspeech2", "deepspeech2", "cmu-arctic", 20, Metric::error_per_cent, 0},
    {"bert", "bert", "squad", 12, Metric::per_cent, 0},
    {"yolov3", "yolov3", "voc", 8, Metric::loss_of_32, 0}};

double share(Metric metric, double x) {
  if (metric == Metric::share) return x;
  if (metric == Metric::per_cent) return x / 100;
  return 1 - x / (metric == Metric::loss_of_32 ? 32 : 100);
}

bool is_validation(const fs::path& path) {
  return path.extension() == ".csv" && path.filename().string().starts_with("validation-");
}

std::vector<fs::path> files_in(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && is_validation(entry.path())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) throw sim::InputError({.file = path, .expected = "files named validation-BATCH.csv in it", .found = "none"});
  return files;
}

double batch_of(const fs::path& path) {
  const std::string digits =
      path.stem().string().substr(std::min(path.stem().string().size(), std::string("validation-").size()));
  const bool good = !digits.empty() && digits.size() < 10 &&
                    std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_validation(path) || !good || std::stod(digits) < 1)
    throw sim::InputError(
        {.file = path.string(), .expected = "a file named validation-BATCH.csv", .found = path.filename().string()});
  return std::stod(digits);
}

ConvergencePoint point_of(sim::CsvRow& row, const TrainedApplication& application, double batch) {
  const double samples = workloads::dataset(application.dataset).training_samples;
  ConvergencePoint p{.line = row.line(),
                     .model = std::string(application.model),
                     .dataset = std::string(application.dataset),
                     .batch = batch,
                     .source = "pollux"};
  p.progress = row.number("progress", sim::above(0));
  p.examples = batch * row.number("iteration", sim::above(0));
  p.epoch = p.examples / samples;
  const double metric = row.number("metric", sim::between(0, application.metric == Metric::share ? 1 : 100));
  p.metric = share(application.metric, metric);
  // Both vanish as training ends: their ratio is then no number, and the row has none.
  const double square = row.number("grad_sqr"), variance = row.number("grad_var");
  if (square > 0 && variance > 0) p.noise_scale = variance / square * application.smallest_batch;
  if (application.epochs_a_phase > 0)
    p.phase = sim::whole<int>((p.progress - 1) * application.smallest_batch / samples / application.epochs_a_phase, "phase");
  return p;
}

ConvergenceList read_epochs(const fs::path& path) {
  const double batch = batch_of(path);
  const std::string folder = fs::absolute(path).parent_path().filename().string();
  const auto application = std::find_if(std::begin(kTrainedApplications), std::end(kTrainedApplications),
                                        [&](const TrainedApplication& a) { return a.theirs == folder; });
  sim::CsvReader reader(path.string(), {.required = {"progress", "iteration", "metric", "grad_sqr", "grad_var"}});
  ConvergenceCollector out(path.string());
  while (sim::CsvRow* row = reader.next()) {
    if (application == std::end(kTrainedApplications)) {
      out.leave_out(row->line(), fmt::format("a model outside the zoo: {}", folder));
      continue;
    }
    ConvergencePoint p = point_of(*row, *application, batch);
    if (row->mistakes().empty()) {
      out.add(std::move(p));
      continue;
    }
    const sim::Mistake& first = row->mistakes().front();
    out.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
  }
  return out.finish();
}

}  // namespace

std::vector<ConvergenceList> read_pollux_convergence(const std::vector<std::string>& paths) {
  std::vector<ConvergenceList> lists;
  for (const std::string& path : paths)
    for (const fs::path& file : files_in(path)) lists.push_back(read_epochs(file));
  return lists;
}

}  // namespace rehearse::traces
