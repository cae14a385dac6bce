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

sim::Work work_of(const sim::Job& job) {
  if (job.steps > 0) return sim::Work::steps;
  return job.epochs > 0 || job.has_target() ? sim::Work::train : sim::Work::rigid;
}

std::vector<JobMistake> job_mistakes(const sim::Job& job) {
  std::vector<JobMistake> mistakes;
  const auto require = [&mistakes](bool ok, std::string_view column, std::string_view expected) {
    if (!ok) mistakes.push_back({column, expected});
  };
  const bool has_duration = job.duration_s > 0, has_steps = job.steps > 0, has_epochs = job.epochs > 0;
  require(!job.name.empty(), "job_id", "a name");

  require(has_duration || has_steps || has_epochs || job.has_target(), "duration_s",
          "the job's work: duration_s, or steps, or epochs and/or target_accuracy");
  require(!has_duration || !has_steps, "steps", "nothing beside duration_s");
  require(!has_epochs || !(has_duration || has_steps), "epochs", "nothing beside duration_s or steps");
  require(!job.has_target() || !(has_duration || has_steps), "target_accuracy", "nothing beside duration_s or steps");

  require(job.gpu_fraction == 1 || job.gpus == 1, "gpu_fraction", "a part of one GPU, not of several");
  require(!has_duration || job.gpus > 0, "gpus", "how many GPUs it held for duration_s");
  require(!has_steps || job.batch_size > 0, "batch_size", "the global batch of its steps");
  require(!(has_steps || has_epochs || job.has_target()) || job.profile != nullptr, "model", "what it trains");

  require(job.stop != sim::Stop::budget || job.has_target(), "target_accuracy", "the target that the budget is for");
  require(job.after_failed != sim::AfterFailed::run || !job.after.empty(), "after", "the jobs that it waits for");
  require(job.on_deadline != sim::OnDeadline::stop || job.has_deadline(), "deadline_s", "the deadline to stop at");
  return mistakes;
}

void take_gpu_fraction(sim::Job& job, double fraction) {
  if (fraction == 1 || job.gpus > 1) return;
  job.gpus = 1;
  job.gpu_fraction = fraction;
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    std::string_view name = text.substr(0, end);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (!name.empty()) names.emplace_back(name);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

}  // namespace rehearse::traces
