// A search whose evaluations are jobs of a replay: it submits what its method asks, learns what became of it when it has ended,
// and asks again. Closed loop: what comes next hangs on what came back.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "policies/search/search_method.hpp"
#include "policies/search/spaces.hpp"

namespace rehearse::policies {

struct SearchJobsSettings {
  std::string user = "search";  ///< of its jobs, and the beginning of their names
  double submit_s = 0;          ///< of the first of them
  double priority = 0;
  bool adapts = true;  ///< to the devices at hand: jobs whose pool is full go to another that has room
  /// A job is submitted when it, those that have not ended (by what each takes alone) and those that have (by what the cluster
  /// counted) keep it. What is submitted is finished, though it may take longer than alone.
  SearchBudget budget;
};

/// A job's pool, workers and batch are its candidate's genes; a trial that trains on takes up where the shorter one of the same
/// candidate ended, and trains the epochs between them. Accuracy is that of the whole training.
class SearchJobs final : public sim::JobSource, public sim::Configurator {
 public:
  /// All must outlive it. `truth` runs candidates alone in the replay's world: what their evaluations find out. Other jobs are
  /// configured by `others`.
  struct Inputs {
    const sim::Cluster* cluster = nullptr;
    const ChainSpace* space = nullptr;
    SearchMethod* method = nullptr;
    std::vector<SearchGoal> goals;
    sim::AloneRunner* truth = nullptr;
    sim::Configurator* others = nullptr;
  };
  SearchJobs(const Inputs& inputs, SearchJobsSettings settings);

  std::optional<sim::Job> next() override;
  bool on_end(const sim::JobRecord& record) override;
  sim::Menu configure(const sim::Job& job, double now_s) override;
  sim::Menu configure_again(const sim::Job& job, std::span<const sim::StageSeen> seen, double now_s) override;

  /// Devices that were free after the last decision, by pool.
  void see_free(std::span<const int> devices) { free_.assign(devices.begin(), devices.end()); }

  bool is_own(const sim::Job& job) const { return job.user == settings_.user && open_.count(job.name) > 0; }
  /// By the date at which they ended, seconds since the search began; GPU hours as the cluster counted them.
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  double device_s() const { return device_s_; }
  double usd() const { return usd_; }

 private:
  void ask(double now_s);
  /// False when the budget does not hold it.
  bool submit(const Trial& trial, double now_s);
  bool is_affordable(const Evaluation& evaluation) const;
  sim::Job job_of(const Evaluation& evaluation, double now_s) const;

  Inputs inputs_;
  SearchJobsSettings settings_;
  SearchLedger ledger_;
  std::map<std::string, Evaluation> open_;  ///< by their jobs' names
  std::size_t submitted_ = 0;               ///< jobs
  std::deque<sim::Job> pending_;
  bool is_over_ = false;  ///< nothing more is asked
  std::vector<int> free_;
  std::vector<Evaluation> evaluations_;
  double device_s_ = 0, usd_ = 0;
  double trained_ = 0;  ///< full trainings, shares summed
};

/// Lets the search see what is free, and decides as the queue that it stands before.
class SeeingQueue final : public sim::Queue {
 public:
  SeeingQueue(sim::Queue& inner, SearchJobs& search) : inner_(inner), search_(search) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  sim::Queue& inner_;
  SearchJobs& search_;
};

}  // namespace rehearse::policies
