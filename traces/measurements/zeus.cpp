// Zeus (You et al., "Zeus: Understanding and Optimizing GPU Energy Consumption of DNN Training", NSDI 2023): seconds an epoch and
// mean power for each batch size and power limit, one GPU; the file's name tells which.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/base/errors.hpp"
#include "sim/io/csv.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "workloads/training/datasets.hpp"

namespace rehearse::traces {
namespace {

using workloads::Measurement;

struct MeteredNetwork {
  std::string_view their_dataset, theirs, model, dataset;
};
/// LibriSpeech is all 960 hours: a V100's epoch of 42,600 s in batches of 2 is 0.30 s a step with their 281,241 utterances, and
/// would be 3 s with the 28,539 of the 100 hours' part.
constexpr MeteredNetwork kMeteredNetworks[] = {{"imagenet", "resnet50", "resnet50", "imagenet"},
                                               {"librispeech", "deepspeech2", "deepspeech2", "librispeech-960h"},
                                               {"squad", "bert_base_uncased", "bert", "squad"}};
constexpr std::string_view kDevices[] = {"a40", "p100", "rtx6000", "v100"};

}  // namespace

MeasurementList read_zeus(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const auto device =
      std::find_if(std::begin(kDevices), std::end(kDevices), [&](std::string_view d) { return stem.ends_with(d); });
  if (device == std::end(kDevices))
    throw sim::InputError({.file = path, .expected = "a file named summary_power_ a40, p100, rtx6000 or v100", .found = stem});
  sim::CsvReader reader(
      path, {.required = {"dataset", "network", "batch_size", "optimizer", "power_limit", "time_per_epoch", "average_power"}});
  MeasurementCollector out(path);
  while (sim::CsvRow* row = reader.next()) {
    const auto network = std::find_if(std::begin(kMeteredNetworks), std::end(kMeteredNetworks), [&](const MeteredNetwork& n) {
      return n.their_dataset == row->text("dataset") && n.theirs == row->text("network");
    });
    if (network == std::end(kMeteredNetworks)) {
      out.leave_out(row->line(), fmt::format("a model outside the zoo: {} on {}", row->text("network"), row->text("dataset")));
      continue;
    }
    const double batch = static_cast<double>(row->integer("batch_size", sim::between(1, 1e6)));
    const double epoch_s = row->number("time_per_epoch");
    Measurement m{.line = row->line(),
                  .model = std::string(network->model),
                  .dataset = std::string(network->dataset),
                  .device = std::string(*device),
                  .batch_per_worker = batch,
                  .step_s = epoch_s / std::ceil(workloads::dataset(network->dataset).training_samples / batch),
                  .power_w = row->number("average_power", sim::above(0)),
                  .power_limit_w = row->number("power_limit", sim::above(0)),
                  .source = fmt::format("zeus {} pytorch-1", row->text("optimizer"))};
    if (row->mistakes().empty()) {
      out.add(std::move(m));
      continue;
    }
    const sim::Mistake& first = row->mistakes().front();
    out.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
  }
  out.note("a step is an epoch's time over its steps: evaluation and loading of samples are in it");
  return out.finish();
}

}  // namespace rehearse::traces
