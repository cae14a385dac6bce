// Zeus (You et al., "Zeus: Understanding and Optimizing GPU Energy Consumption of DNN Training", NSDI 2023), summary_train.csv:
// the first epoch at which each run had each target, nan where it never had.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/io/csv.hpp"
#include "traces/measurements/convergence_list.hpp"

namespace rehearse::traces {
namespace {

using workloads::ConvergencePoint;
using workloads::Reading;

struct TrainedNetwork {
  std::string_view their_dataset, theirs, model, dataset;
  double scale, offset;  ///< of the target: per cent, an error rate
  bool adaptive;
};
/// LibriSpeech's target is a word error rate, SQuAD's F1, both in per cent. All optimizers are adaptive: Adadelta, Adam, AdamW.
/// MovieLens and Sentiment140 are datasets that the program does not know.
constexpr TrainedNetwork kTrainedNetworks[] = {{"cifar100", "shufflenetv2", "shufflenetv2", "cifar100", 1, 0, true},
                                               {"imagenet", "resnet50", "resnet50", "imagenet", 1, 0, true},
                                               {"librispeech", "deepspeech2", "deepspeech2", "librispeech-960h", -0.01, 1, true},
                                               {"squad", "bert_base_uncased", "bert", "squad", 0.01, 0, true}};

// A run that gains so many targets, five points of accuracy each, in one epoch after so many had its rate lowered there: it was
// not at one rate. Two of five ImageNet runs at batches 128 and 192 are such, at epochs 31 and 61.
constexpr int kJump = 3;
constexpr double kLate = 10;

struct Row {
  ConvergencePoint point;
  std::string wrong;
};
using RunKey = std::tuple<std::string, double, std::string>;

RunKey key_of(const ConvergencePoint& p) { return {p.dataset, p.batch, p.run}; }

Row row_of(sim::CsvRow& row) {
  const auto network = std::find_if(std::begin(kTrainedNetworks), std::end(kTrainedNetworks), [&](const TrainedNetwork& n) {
    return n.their_dataset == row.text("dataset") && n.theirs == row.text("network");
  });
  if (network == std::end(kTrainedNetworks))
    return {{.line = row.line()},
            fmt::format("a model or dataset that is not modelled: {} on {}", row.text("network"), row.text("dataset"))};
  ConvergencePoint p{.line = row.line(),
                     .model = std::string(network->model),
                     .dataset = std::string(network->dataset),
                     .batch = row.number("batch_size", sim::between(1, 1e9)),
                     .reading = Reading::reached,
                     .learning_rate = row.number("learning_rate", sim::above(0)),
                     .adaptive = network->adaptive,
                     .run = std::string(row.text("run")),
                     .source = fmt::format("zeus {}", row.text("optimizer"))};
  // Sums of such decimals are no longer decimals: 1 - 0.35 and 0.65 are to be one target.
  p.metric = std::round(1e6 * (network->offset + network->scale * row.number("target_metric"))) / 1e6;
  if (!(p.metric >= 0 && p.metric <= 1)) row.refuse("target_metric", "a metric from 0 to 1, or per cent");
  if (row.text("target_epoch") == "nan")
    p.reading = Reading::never;
  else
    p.epoch = row.number("target_epoch", sim::between(1, 1e6));
  if (row.mistakes().empty()) return {std::move(p), {}};
  const sim::Mistake& first = row.mistakes().front();
  return {std::move(p), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found)};
}

std::set<RunKey> with_lowered_rate(const std::vector<Row>& rows) {
  std::map<std::pair<RunKey, double>, int> gained;
  std::set<RunKey> lowered;
  for (const Row& row : rows)
    if (row.wrong.empty() && row.point.epoch > kLate && ++gained[{key_of(row.point), row.point.epoch}] >= kJump)
      lowered.insert(key_of(row.point));
  return lowered;
}

ConvergenceList read_targets(const std::string& path) {
  sim::CsvReader reader(path, {.required = {"dataset", "network", "batch_size", "optimizer", "learning_rate", "run",
                                            "target_metric", "target_epoch"}});
  std::vector<Row> rows;
  while (sim::CsvRow* row = reader.next()) rows.push_back(row_of(*row));
  const std::set<RunKey> lowered = with_lowered_rate(rows);
  ConvergenceCollector out(path);
  for (Row& row : rows) {
    if (row.wrong.empty() && lowered.contains(key_of(row.point)))
      row.wrong = fmt::format("a run whose rate was lowered on the way: it gains {} targets or more in one epoch", kJump);
    if (row.wrong.empty())
      out.add(std::move(row.point));
    else
      out.leave_out(row.point.line, std::move(row.wrong));
  }
  return out.finish();
}

}  // namespace

std::vector<ConvergenceList> read_zeus_convergence(const std::vector<std::string>& paths) {
  std::vector<ConvergenceList> lists;
  for (const std::string& path : paths) lists.push_back(read_targets(path));
  return lists;
}

}  // namespace rehearse::traces
