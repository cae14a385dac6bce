#include "traces/measurements/convergence_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/shown.hpp"
#include "traces/measurements/native.hpp"
#include "workloads/training/datasets.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::traces {

namespace {

using workloads::ConvergencePoint;
using workloads::Reading;

/// Empty for the zoo's.
std::string outside_zoo(const std::string& model) {
  std::vector<std::string> names;
  for (const workloads::ZooEntry& entry : workloads::zoo()) names.emplace_back(entry.name);
  if (std::find(names.begin(), names.end(), model) != names.end()) return {};
  const std::string nearest = sim::nearest_name(model, names);
  return fmt::format("a model outside the zoo: {}{}", sim::printable(model, 80),
                     nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest));
}

}  // namespace

void ConvergenceCollector::leave_out(std::int64_t line, std::string reason) {
  ++list_.found;
  count_reason(list_.left_out, line, std::move(reason));
}

std::string ConvergenceCollector::contradiction(const ConvergencePoint& p) const {
  const bool sized = p.epoch > 0 && std::isfinite(p.examples);
  if (workloads::find_dataset(p.dataset) == nullptr && !sized)
    return fmt::format("a dataset of unknown size: {} (give examples and epoch)", sim::printable(p.dataset, 80));
  if (p.reading != Reading::evaluation) return {};
  const auto before = last_.find({p.model, p.dataset, p.adaptive, p.batch, p.run});
  if (before == last_.end()) return {};
  const ConvergencePoint& last = before->second;
  if (p.epoch == last.epoch) return "another metric at an epoch of the same run (give runs a name in the column run)";
  if (!(p.epoch > last.epoch)) return "an epoch that does not rise from row to row of its run";
  if (p.examples <= last.examples) return "examples that do not rise from row to row of their run";
  if (p.progress <= last.progress) return "progress that does not rise from row to row of its run";
  if (p.learning_rate != last.learning_rate)
    return "another learning_rate within a run (give it as it was before the schedule lowered it)";
  if (p.phase < last.phase) return "a phase that falls from row to row of its run";
  return {};
}

void ConvergenceCollector::add(ConvergencePoint p) {
  if (!rows_.insert(convergence_row(p)).second) return leave_out(p.line, "the same row was given before");
  std::string wrong = contradiction(p);
  if (!wrong.empty()) return leave_out(p.line, std::move(wrong));
  std::string outside = outside_zoo(p.model);
  if (!outside.empty()) count_reason(list_.remarked, p.line, std::move(outside));
  if (p.reading == Reading::evaluation) last_.insert_or_assign({p.model, p.dataset, p.adaptive, p.batch, p.run}, p);
  ++list_.found;
  list_.rows.push_back(std::move(p));
}

std::string to_string(const ConvergenceList& list) {
  return account({.file = list.file,
                  .found = list.found,
                  .used = static_cast<std::int64_t>(list.rows.size()),
                  .left_out = list.left_out,
                  .remarked = list.remarked,
                  .notes = list.notes});
}

namespace {

using workloads::ConvergencePoint;
using workloads::Reading;

const std::vector<std::string> kReadings{"evaluation", "reached", "never"};  // in Reading's order
const std::vector<std::string> kOptimizers{"momentum", "sgd", "adam", "adamw", "adadelta", "rmsprop"};
constexpr std::size_t kFirstAdaptive = 2;
constexpr sim::NumberRange kBatches{.low = 1, .high = 1e9};
constexpr sim::NumberRange kEpochs{.low = 0, .high = 1e6};
constexpr sim::NumberRange kMany{.low = 0, .high = 1e15, .low_excluded = true};

std::string name_of(sim::CsvRow& row, std::string_view column) {
  std::string name(row.text(column));
  if (name.empty()) row.refuse(column, "a name");
  return name;
}

double metric_of(sim::CsvRow& row) {
  const double metric = row.number("metric");
  if (metric > 1 && metric <= 100)
    row.refuse("metric", "a share from 0 to 1 (per cent: divide by 100)");
  else if (!(metric >= 0 && metric <= 1))
    row.refuse("metric", "a share from 0 to 1, higher is better");
  return metric;
}

ConvergencePoint read_point(sim::CsvRow& row) {
  ConvergencePoint p{.line = row.line(), .model = name_of(row, "model"), .dataset = name_of(row, "dataset")};
  const auto maybe = [&](std::string_view column, const sim::NumberRange& range) {
    return row.maybe_number(column, range).value_or(workloads::kNotMeasured);
  };
  p.batch = row.number("batch_size", kBatches);
  p.metric = metric_of(row);
  p.reading = static_cast<Reading>(choice_or_first(row, "reading", kReadings));
  p.epoch = maybe("epoch", kEpochs);
  if (p.reading != Reading::never && !row.has("epoch")) row.refuse("epoch", kEpochs.describe());
  if (p.reading == Reading::reached && p.epoch == 0) row.refuse("epoch", "an epoch above 0 for a target that was reached");
  p.examples = maybe("examples", {.low = 0, .high = 1e15});
  p.learning_rate = row.maybe_number("learning_rate", {.low = 0, .high = 1e6, .low_excluded = true}).value_or(0);
  p.noise_scale = maybe("noise_scale", kMany);
  p.progress = maybe("progress", kMany);
  p.phase = static_cast<int>(row.maybe_integer("phase", sim::between(0, 1000)).value_or(-1));
  p.adaptive = choice_or_first(row, "optimizer", kOptimizers) >= kFirstAdaptive;
  p.run = row.text("run");
  p.source = row.text("source");
  return p;
}

}  // namespace

ConvergenceList read_convergence(const std::string& path) {
  sim::CsvReader reader(path, {.required = {"model", "dataset", "batch_size", "epoch", "metric"},
                               .optional = {"learning_rate", "examples", "reading", "noise_scale", "progress", "phase",
                                            "optimizer", "run", "source"},
                               .others_allowed = false});
  ConvergenceCollector collector(path);
  while (sim::CsvRow* row = reader.next()) {
    ConvergencePoint p = read_point(*row);
    if (row->mistakes().empty()) {
      collector.add(std::move(p));
      continue;
    }
    const sim::Mistake& first = row->mistakes().front();
    collector.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
  }
  ConvergenceList list = collector.finish();
  if (list.rows.empty()) throw nothing_left(list.file, list.left_out);
  return list;
}

bool is_convergence(const std::string& path) {
  return sim::CsvReader(path, {.required = {}, .optional = {"metric"}}).has_column("metric");
}

std::string convergence_header() {
  return "model,dataset,batch_size,epoch,metric,learning_rate,examples,reading,noise_scale,progress,phase,optimizer,run,source\n";
}

std::string convergence_row(const ConvergencePoint& p) {
  const std::array fields{sim::csv_text(p.model),
                          sim::csv_text(p.dataset),
                          number_or_empty(p.batch),
                          number_or_empty(p.epoch),
                          number_or_empty(p.metric),
                          p.learning_rate > 0 ? number_or_empty(p.learning_rate) : "",
                          number_or_empty(p.examples),
                          p.reading == Reading::evaluation ? "" : kReadings[static_cast<std::size_t>(p.reading)],
                          number_or_empty(p.noise_scale),
                          number_or_empty(p.progress),
                          p.phase >= 0 ? fmt::format("{}", p.phase) : "",
                          std::string(p.adaptive ? "adam" : ""),
                          sim::csv_text(p.run),
                          sim::csv_text(p.source)};
  return fmt::format("{}\n", fmt::join(fields, ","));
}

namespace {

constexpr ConvergenceFormat kConvergenceFormats[] = {
    {"pollux", "validation-BATCH.csv of Pollux's applications (OSDI 2021), or folders of them", read_pollux_convergence},
    {"zeus", "summary_train.csv of Zeus (NSDI 2023): epochs to targets", read_zeus_convergence},
};

}  // namespace

std::span<const ConvergenceFormat> convergence_formats() { return kConvergenceFormats; }

}  // namespace rehearse::traces
