#include "traces/jobs/trace_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/jobs/configuration.hpp"

namespace rehearse::traces {

namespace {

bool begins_alike(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return shorter > 1 && std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shorter), b.begin(),
                                   [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

void TraceRow::refuse(std::string_view column, std::string expected, std::string found) {
  mistakes.push_back({.line = line, .pointer = std::string(column), .expected = std::move(expected), .found = std::move(found)});
}

double gpu_seconds(const TraceJob& job) {
  const double gpus = gpus_held(job), length_s = is_given(job.duration_s) ? job.duration_s : job.measured_s;
  return gpus > 0 && length_s > 0 ? gpus * length_s : 0;
}

Written TraceReader::written(std::string_view column, double value) { return {column, fmt::format("{}", value)}; }

std::span<const std::string> precision_names() {
  static const std::vector<std::string> names{"fp32", "fp16", "bf16", "tf32", "tf32-convolutions"};
  return names;
}

std::span<const std::string> lr_rule_names() {
  static const std::vector<std::string> names{"adascale", "linear-warmup", "sqrt", "fixed"};
  return names;
}

std::span<const std::string> objective_names() {
  static const std::vector<std::string> names{"min-cost", "max-accuracy", "min-time"};
  return names;
}

std::span<const std::string> stop_names() {
  static const std::vector<std::string> names{"target", "budget"};
  return names;
}

std::span<const std::string> on_deadline_names() {
  static const std::vector<std::string> names{"continue", "stop"};
  return names;
}

std::span<const std::string> after_failed_names() {
  static const std::vector<std::string> names{"fail", "run"};
  return names;
}

std::vector<JobMistake> job_mistakes(const TraceJob& job) {
  std::vector<JobMistake> mistakes;
  const auto add = [&mistakes](std::string_view column, std::string_view expected) { mistakes.push_back({column, expected}); };
  const bool has_duration = is_given(job.duration_s), has_steps = is_given(job.steps), has_epochs = is_given(job.epochs);
  const bool has_target = is_given(job.target_accuracy), has_model = !job.model.empty();
  const bool has_type = !job.job_type.empty();
  const bool needs_part = is_given(job.gpu_fraction) && job.gpu_fraction < 1;
  if (!has_model && !(job.dataset.empty() && job.precision.empty() && job.lr_rule.empty() && !is_given(job.max_accumulation)))
    add("model", "the model that dataset, precision, lr_rule or max_accumulation is for");
  if (!has_model && !job.recipe.empty()) add("model", "the model that the recipe is for");
  if (job.job_id.empty()) add("job_id", "a name");
  if (has_type && has_model) add("model", "nothing beside job_type");
  if (has_type && !has_steps) add("steps", "the number of steps of a job with a job_type");

  if (!has_duration && !has_steps && !has_epochs && !has_target)
    add("duration_s", "the job's work: duration_s, or steps, or epochs and/or target_accuracy");
  if (has_duration && has_steps) add("steps", "nothing beside duration_s");
  if (has_epochs && (has_duration || has_steps)) add("epochs", "nothing beside duration_s or steps");
  if (has_target && (has_duration || has_steps)) add("target_accuracy", "nothing beside duration_s or steps");

  if (needs_part && !has_duration && job.gpus > 1)
    add("gpu_fraction", "a part of one GPU: only a job with duration_s has several");
  if (has_duration && !is_given(job.gpus) && !needs_part) add("gpus", "how many GPUs it held for duration_s");
  if (has_steps && !is_given(job.batch_size)) add("batch_size", "the global batch of its steps");
  if (!has_model && !has_type && (has_steps || has_epochs || has_target)) add("model", "what it trains");

  if (!has_target && job.stop == stop_names()[1]) add("target_accuracy", "the target that the budget is for");
  if (job.after.empty() && job.after_failed == after_failed_names()[1]) add("after", "the jobs that it waits for");
  if (!is_given(job.deadline_s) && job.on_deadline == on_deadline_names()[1]) add("deadline_s", "the deadline to stop at");
  return mistakes;
}

double gpus_held(const TraceJob& job) {
  if (!is_given(job.gpu_fraction)) return job.gpus;
  return (is_given(job.gpus) ? job.gpus : 1) * job.gpu_fraction;
}

double gpus_alone(const TraceJob& job) {
  const double gpus = is_given(job.gpus) ? job.gpus : 1;
  if (!is_given(job.gpu_fraction)) return gpus;
  return sim::DeviceShare{.fraction = sim::on_share_grid(job.gpu_fraction), .parts = static_cast<int>(gpus)}.devices();
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    if (end > 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

void trim_names(std::vector<std::string>& names) {
  for (std::string& name : names) {
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    name.erase(name.find_last_not_of(' ') + 1);
  }
  std::erase(names, std::string());
}

std::string ClusterLimits::too_many(double gpus, const std::vector<int>& pools) const {
  if (pool_gpus.empty()) return {};
  int most = 0;
  for (const int pool : pools) most = std::max(most, pool_gpus[static_cast<std::size_t>(pool)]);
  if (pools.empty()) most = *std::max_element(pool_gpus.begin(), pool_gpus.end());
  if (gpus <= most) return {};
  return fmt::format("at most {} GPUs, all of {} pool", most,
                     pools.empty()       ? "the largest"
                     : pools.size() == 1 ? "its"
                                         : "its largest");
}

bool ClusterLimits::has_nodes(double nodes, double gpus_of_node, const std::vector<int>& pools) const {
  for (std::size_t pool = 0; pool < pool_nodes.size(); ++pool) {
    if (!pools.empty() && std::find(pools.begin(), pools.end(), static_cast<int>(pool)) == pools.end()) continue;
    if (nodes <= pool_nodes[pool] && gpus_of_node * pool_nodes[pool] <= pool_gpus[pool]) return true;
  }
  return pool_nodes.empty();
}

std::string ClusterLimits::too_many_for_a_node(double gpus) const {
  if (node_gpus == 0 || gpus <= node_gpus) return {};
  return fmt::format("at most {} GPUs, all of the largest node: spread over several", node_gpus);
}

bool ClusterLimits::has_gpu_type(std::string_view theirs) const {
  if (gpu_types.empty()) return true;
  for (std::size_t begin = 0; begin <= theirs.size();) {
    const std::size_t end = std::min(theirs.find('|', begin), theirs.size());
    const std::string_view one = theirs.substr(begin, end - begin);
    if (std::any_of(gpu_types.begin(), gpu_types.end(), [&](const std::string& ours) { return begins_alike(one, ours); }))
      return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace rehearse::traces
