// Pollux (Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021): seconds a step
// on nodes of 4 T4 (AWS g4dn.12xlarge). placements.csv has GPUs a node as digits (44: two nodes of 4), scalability.csv counts of
// nodes and replicas. The application is the name of the folder.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "sim/base/errors.hpp"
#include "sim/io/csv.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {
namespace {

using workloads::Measurement;

struct TimedApplication {
  std::string_view theirs, model, dataset;
  sim::Precision precision = sim::Precision::fp32;
};
/// Section 5.1: ResNet-18 on CIFAR-10, ResNet-50 on ImageNet, DeepSpeech-2 on CMU-ARCTIC, BERT on SQuAD; YOLOv3 is
/// left out, as the size of its images changes while it trains (320 to 608), and NCF is not in the zoo. ResNet-50's 200 images of
/// 224 x 224 a T4 fit its 16 GB in half precision alone, and 4.6 ms an image would be twice its single-precision peak.
constexpr TimedApplication kTimedApplications[] = {{"cifar10", "resnet18", "cifar10"},
                                                   {"imagenet", "resnet50", "imagenet", sim::Precision::fp16},
                                                   {"deepspeech2", "deepspeech2", "cmu-arctic"},
                                                   {"bert", "bert", "squad"}};

/// One digit from 1 to 9 a node.
bool place(std::string_view digits, Measurement& m) {
  const bool good = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '1' && c <= '9'; });
  if (!good) return false;
  m.nodes = static_cast<int>(digits.size());
  m.workers = 0;
  for (const char c : digits) m.workers += c - '0';
  m.workers_per_node = *std::max_element(digits.begin(), digits.end()) - '0';
  return true;
}

}  // namespace

MeasurementList read_pollux(const std::string& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
  const auto application = std::find_if(std::begin(kTimedApplications), std::end(kTimedApplications),
                                        [&](const TimedApplication& a) { return a.theirs == folder; });
  sim::CsvReader reader(
      path, {.required = {"local_bsz", "step_time", "sync_time"}, .optional = {"placement", "num_nodes", "num_replicas"}});
  const bool digits = reader.has_column("placement");
  MeasurementCollector out(path);
  while (sim::CsvRow* row = reader.next()) {
    if (application == std::end(kTimedApplications)) {
      out.leave_out(row->line(), fmt::format("a model outside the zoo: {}", folder));
      continue;
    }
    Measurement m{.line = row->line(),
                  .model = std::string(application->model),
                  .dataset = std::string(application->dataset),
                  .device = "t4",
                  .instance = "g4dn.12xlarge",
                  .precision = application->precision};
    if (digits && !place(row->text("placement"), m)) row->refuse("placement", "one digit from 1 to 9 for each node");
    if (!digits) {
      m.nodes = static_cast<int>(row->integer("num_nodes", sim::between(1, 1e4)));
      m.workers = static_cast<int>(row->integer("num_replicas", sim::between(m.nodes, 1e5)));
      m.workers_per_node = (m.workers + m.nodes - 1) / m.nodes;
    }
    m.batch_per_worker = static_cast<double>(row->integer("local_bsz", sim::between(1, 1e6)));
    m.step_s = row->number("step_time");
    m.sync_s = row->number("sync_time", sim::at_least(0));
    m.source = "pollux pytorch-1";
    if (row->mistakes().empty()) {
      out.add(std::move(m));
      continue;
    }
    const sim::Mistake& first = row->mistakes().front();
    out.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
  }
  return out.finish();
}

}  // namespace rehearse::traces
