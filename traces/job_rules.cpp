#include "traces/job_rules.hpp"

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
  const auto require = [&mistakes](bool ok, std::string_view column, std::string_view expected) {
    if (!ok) mistakes.push_back({column, expected});
  };
  const bool has_duration = is_given(job.duration_s), has_steps = is_given(job.steps), has_epochs = is_given(job.epochs);
  const bool has_target = is_given(job.target_accuracy), has_model = !job.model.empty();
  require(has_model || (job.dataset.empty() && job.precision.empty() && job.lr_rule.empty()), "model",
          "the model that dataset, precision or lr_rule is for");
  require(!job.job_id.empty(), "job_id", "a name");

  require(has_duration || has_steps || has_epochs || has_target, "duration_s",
          "the job's work: duration_s, or steps, or epochs and/or target_accuracy");
  require(!has_duration || !has_steps, "steps", "nothing beside duration_s");
  require(!has_epochs || !(has_duration || has_steps), "epochs", "nothing beside duration_s or steps");
  require(!has_target || !(has_duration || has_steps), "target_accuracy", "nothing beside duration_s or steps");

  const bool needs_part = is_given(job.gpu_fraction) && job.gpu_fraction < 1;
  require(!needs_part || of_trace || !(job.gpus > 1), "gpu_fraction", "a part of one GPU, not of several");
  require(!has_duration || is_given(job.gpus) || needs_part, "gpus", "how many GPUs it held for duration_s");
  require(!has_steps || is_given(job.batch_size), "batch_size", "the global batch of its steps");
  require(!(has_steps || has_epochs || has_target) || has_model, "model", "what it trains");

  require(job.stop != stop_names()[1] || has_target, "target_accuracy", "the target that the budget is for");
  require(job.after_failed != after_failed_names()[1] || !job.after.empty(), "after", "the jobs that it waits for");
  require(job.on_deadline != on_deadline_names()[1] || is_given(job.deadline_s), "deadline_s", "the deadline to stop at");
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
