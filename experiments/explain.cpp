#include "experiments/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <tuple>
#include <utility>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "experiments/run/run_one.hpp"
#include "policies/configure/menu.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kUnset;

/// Ends a replay: the menu that it was started for is there.
struct MenuFound {};

class StoryReader {
 public:
  StoryReader(const ExplainRequest& request, std::string files) : request_(request), files_(std::move(files)) {}

  std::vector<JobStory> read() {
    read_jobs();
    each_row("decisions.csv",
             {"time_s", "decision", "rank", "pool", "workers", "batch_size", "predicted_time_s", "predicted_accuracy",
              "predicted_cost_usd", "note"},
             [](sim::CsvRow& row, JobStory& story) {
               story.decisions.push_back({.time_s = row.date("time_s"),
                                          .decision = std::string(row.text("decision")),
                                          .pool = std::string(row.text("pool")),
                                          .note = std::string(row.text("note")),
                                          .rank = static_cast<int>(row.integer("rank", {}, 0)),
                                          .workers = static_cast<int>(row.integer("workers", {}, 0)),
                                          .batch_size = row.number("batch_size", {}, 0.0),
                                          .predicted_time_s = row.number("predicted_time_s", {}, kUnset),
                                          .predicted_accuracy = row.number("predicted_accuracy", {}, kUnset),
                                          .predicted_cost_usd = row.number("predicted_cost_usd", {}, kUnset)});
             });
    if (std::filesystem::exists(files_ + "/stages.csv"))
      each_row("stages.csv", {"stage", "pool", "workers", "batch_size", "start_s", "end_s", "accuracy", "cost_usd"},
               [](sim::CsvRow& row, JobStory& story) {
                 story.stages.push_back({.stage = static_cast<int>(row.integer("stage", {}, 0)),
                                         .workers = static_cast<int>(row.integer("workers", {}, 0)),
                                         .pool = std::string(row.text("pool")),
                                         .batch_size = row.number("batch_size", {}, 0.0),
                                         .start_s = row.date("start_s"),
                                         .end_s = row.date("end_s"),
                                         .accuracy = row.number("accuracy", {}, kUnset),
                                         .cost_usd = row.number("cost_usd", {}, 0.0)});
               });
    return std::move(stories_);
  }

 private:
  /// Of the job, in the repetition, of the policies that are asked for.
  bool is_wanted(sim::CsvRow& row) const {
    return row.text("job") == request_.job && row.integer("repetition", {}, 0) == request_.repetition &&
           (request_.policy.empty() || row.text("policy") == request_.policy);
  }

  template <class Read>
  void each_row(const std::string& file, std::vector<std::string> columns, Read&& read) {
    sim::CsvReader csv(files_ + "/" + file,
                       {.required = {"policy", "repetition", "job"}, .optional = std::move(columns)});
    while (sim::CsvRow* row = csv.next()) {
      if (!is_wanted(*row)) continue;
      for (JobStory& story : stories_)
        if (story.policy == row->text("policy")) read(*row, story);
      if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
    }
  }

  void read_jobs() {
    sim::CsvReader csv(files_ + "/jobs.csv", {.required = {"policy", "repetition", "job", "submit_s", "start_s", "end_s",
                                                                    "state", "reason", "pool", "workers", "batch_size", "epochs",
                                                                    "accuracy", "cost_usd", "preemptions", "reconfigurations"},
                                                       .optional = {}});
    std::vector<std::string> jobs, policies;
    bool is_job = false, is_policy = false;
    while (sim::CsvRow* row = csv.next()) {
      const std::string job(row->text("job")), policy(row->text("policy"));
      is_job = is_job || job == request_.job;
      is_policy = is_policy || request_.policy.empty() || policy == request_.policy;
      if (!is_job && jobs.size() < kMostNames) jobs.push_back(job);
      if (policies.empty() || policies.back() != policy) policies.push_back(policy);
      if (!is_wanted(*row)) continue;
      stories_.push_back({.policy = policy,
                          .state = std::string(row->text("state")),
                          .reason = std::string(row->text("reason")),
                          .pool = std::string(row->text("pool")),
                          .submit_s = row->date("submit_s"),
                          .start_s = row->date("start_s", kUnset),
                          .end_s = row->date("end_s"),
                          .workers = static_cast<int>(row->integer("workers", {}, 0)),
                          .preemptions = static_cast<int>(row->integer("preemptions", {}, 0)),
                          .reconfigurations = static_cast<int>(row->integer("reconfigurations", {}, 0)),
                          .batch_size = row->number("batch_size", {}, 0.0),
                          .epochs = row->number("epochs", {}, kUnset),
                          .accuracy = row->number("accuracy", {}, kUnset),
                          .cost_usd = row->number("cost_usd", {}, 0.0)});
      if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
    }
    if (!is_job) refuse("a job of these results", request_.job, jobs);
    if (!is_policy) refuse("a policy of these results that did not fail", request_.policy, policies);
    if (stories_.empty()) refuse("a repetition of these results", fmt::format("{}", request_.repetition), {});
  }

  [[noreturn]] void refuse(std::string expected, const std::string& found, std::vector<std::string> names) const {
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string nearest = sim::nearest_name(found, names);
    if (nearest.empty() && !names.empty())
      expected += fmt::format(", such as {}", fmt::join(names | std::views::take(3), ", "));
    throw sim::InputError({.file = request_.folder,
                           .expected = std::move(expected),
                           .found = "\"" + found + "\"",
                           .nearest = std::move(nearest)});
  }

  static constexpr std::size_t kMostNames = 10000;  // of which the nearest is looked for
  const ExplainRequest& request_;
  std::string files_;  ///< the folder of jobs.csv; a study's jobs run again into another than the one that the user names
  std::vector<JobStory> stories_;
};

/// Version of the program that made them, and of which study.
std::pair<std::string, std::string> made_by(const std::string& folder) {
  const sim::JsonDocument document = sim::read_json_file(folder + "/summary.json");
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  const std::string study = in.text("study", std::string());
  const std::string version = in.text("version", std::string());
  mistakes.throw_if_any();
  return {version, study};
}

/// The menu that the policy ranks at the job's arrival, by the replay up to then: what it has learnt until then counts.
void rank_again(const Scenario& scenario, const ExplainRequest& request, JobStory& story) {
  const auto policy = std::find_if(scenario.policies.begin(), scenario.policies.end(),
                                   [&](const policies::PolicySpec& spec) { return spec.name == story.policy; });
  if (policy == scenario.policies.end()) return;
  for (const sim::Job& job : scenario.jobs) {
    if (job.name != request.job || job.work != sim::Work::rigid) continue;
    story.job = job;  // no policy is asked about it
    story.menu = sim::rigid_menu(job, scenario.cluster, scenario.costs);
    return;
  }
  RunTask task{.policy = static_cast<std::size_t>(policy - scenario.policies.begin()), .repetition = request.repetition};
  task.on_menu = [&](const sim::Job& job, const sim::Menu& menu, const workloads::Belief& belief) {
    if (job.name != request.job) return;
    story.job = job;
    story.menu = menu;
    for (const sim::Configuration& c : policies::configuration_grid(job, scenario.cluster, belief))
      if (!policies::fits_memory(job, scenario.cluster, belief, c)) story.too_large.push_back(c);
    throw MenuFound();
  };
  try {
    replay_one(
        scenario, task, [](const sim::ReplayProgress&) {}, sim::run_plain);
  } catch (const MenuFound&) {
  }
}

/// Throws sim::InputError for a file that is not what the run has read.
void require_same_files(sim::JsonValue stored, const Scenario& scenario) {
  for (const sim::JsonMember member : stored.members()) {
    if (member.key.text() != "sha256") continue;
    for (const sim::JsonMember file : member.value.members()) {
      const auto now = scenario.sha256_of_file.find(std::string(file.key.text()));
      if (now != scenario.sha256_of_file.end() && now->second != file.value.text())
        throw sim::InputError({.file = now->first, .expected = "the file that the run has read", .found = "another"});
    }
  }
}

/// The stored scenario. It keeps the paths of its files as they were written, and their sums, but not the folder that they are
/// from: of the folders that may be meant, the first where they are what the run has read.
std::unique_ptr<Scenario> stored_scenario(const ExplainRequest& request) {
  const std::string stored = request.folder + "/scenario.json";
  std::string why;
  std::vector<std::string> folders{std::string(), request.folder + "/"};
  if (!request.inputs.empty()) folders = {request.inputs + "/"};
  for (const std::string& folder : folders) {
    try {
      sim::JsonDocument document = sim::read_json_file(stored);
      auto scenario = load_scenario(document.copy(), folder + "scenario.json", {});
      require_same_files(document.root(), *scenario);
      return scenario;
    } catch (const sim::InputError& error) {
      if (why.empty()) why = to_string(error.mistakes().front());
    }
  }
  throw sim::InputError({.file = stored,
                         .expected = "its files as the run has read them, in the current folder or that of --inputs",
                         .found = why});
}

/// A study keeps no job's story: its scenario's jobs run again under its policies, without it.
std::vector<JobStory> run_again(Scenario& scenario, const ExplainRequest& request) {
  const bool has_jobs = !scenario.jobs.empty() || !scenario.generators.empty();
  if (!has_jobs || scenario.policies.empty() || scenario.cluster.pools.empty())
    throw sim::InputError({.file = request.folder,
                           .expected = "results of policies on jobs",
                           .found = fmt::format("those of the study {}, whose scenario has no {}", scenario.study_name,
                                                !has_jobs                   ? "jobs"
                                                : scenario.policies.empty() ? "policies"
                                                                            : "cluster")});
  if (request.repetition >= scenario.repetitions)
    throw sim::InputError({.file = request.folder,
                           .expected = "a repetition of these results",
                           .found = fmt::format("\"{}\"", request.repetition)});
  scenario.study_name.clear();
  scenario.study.reset();
  scenario.repetitions = request.repetition + 1;
  scenario.output = OutputSettings::of_jobs(false);
  scenario.output.stages = Record::all;
  const sim::ScratchFolder scratch(sim::temporary_stem("rehearse_explain"));
  const std::string files = scratch / "results";
  run_scenario(scenario, {.out = files, .replace = true});
  return StoryReader(request, files).read();
}

}  // namespace

Explained explain_job(const ExplainRequest& request) {
  Explained explained;
  std::tie(explained.made_by, explained.study) = made_by(request.folder);
  if (explained.study.empty()) {
    explained.stories = StoryReader(request, request.folder).read();
    explained.scenario = stored_scenario(request);
  } else {
    explained.scenario = stored_scenario(request);
    explained.stories = run_again(*explained.scenario, request);
  }
  for (JobStory& story : explained.stories) rank_again(*explained.scenario, request, story);
  return explained;
}

}  // namespace rehearse::scenarios
