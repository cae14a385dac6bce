#include "traces/jobs/job_rules.hpp"

#include <algorithm>

namespace rehearse::traces {

std::span<const std::string> precision_names() {
  static const std::vector<std::string> names{"fp32", "fp16"};
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

std::vector<JobMistake> job_mistakes(const TraceJob& job, bool of_trace) {
  std::vector<JobMistake> mistakes;
  const auto add = [&mistakes](std::string_view column, std::string_view expected) { mistakes.push_back({column, expected}); };
  const bool has_duration = is_given(job.duration_s), has_steps = is_given(job.steps), has_epochs = is_given(job.epochs);
  const bool has_target = is_given(job.target_accuracy), has_model = !job.model.empty();
  const bool needs_part = is_given(job.gpu_fraction) && job.gpu_fraction < 1;
  if (!has_model && !(job.dataset.empty() && job.precision.empty() && job.lr_rule.empty()))
    add("model", "the model that dataset, precision or lr_rule is for");
  if (job.job_id.empty()) add("job_id", "a name");

  if (!has_duration && !has_steps && !has_epochs && !has_target)
    add("duration_s", "the job's work: duration_s, or steps, or epochs and/or target_accuracy");
  if (has_duration && has_steps) add("steps", "nothing beside duration_s");
  if (has_epochs && (has_duration || has_steps)) add("epochs", "nothing beside duration_s or steps");
  if (has_target && (has_duration || has_steps)) add("target_accuracy", "nothing beside duration_s or steps");

  if (needs_part && !of_trace && job.gpus > 1) add("gpu_fraction", "a part of one GPU, not of several");
  if (has_duration && !is_given(job.gpus) && !needs_part) add("gpus", "how many GPUs it held for duration_s");
  if (has_steps && !is_given(job.batch_size)) add("batch_size", "the global batch of its steps");
  if (!has_model && (has_steps || has_epochs || has_target)) add("model", "what it trains");

  if (!has_target && job.stop == stop_names()[1]) add("target_accuracy", "the target that the budget is for");
  if (job.after.empty() && job.after_failed == after_failed_names()[1]) add("after", "the jobs that it waits for");
  if (!is_given(job.deadline_s) && job.on_deadline == on_deadline_names()[1]) add("deadline_s", "the deadline to stop at");
  return mistakes;
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

}  // namespace rehearse::traces
