#include "traces/measurements/convergence_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"
#include "traces/measurements/convergence_csv.hpp"
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

}  // namespace rehearse::traces
