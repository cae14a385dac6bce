#include "policies/search/search_jobs.hpp"

#include <algorithm>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

std::string number_text(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}

}  // namespace

SearchJobs::SearchJobs(const Inputs& inputs, SearchJobsSettings settings)
    : inputs_(inputs), settings_(std::move(settings)), ledger_({.evaluations = settings_.budget.evaluations}) {
  for (std::size_t p = 0; p < inputs_.cluster->pools.size(); ++p)
    free_.push_back(inputs_.cluster->pools[p].nodes * sim::workers_per_node(*inputs_.cluster, static_cast<sim::PoolId>(p)));
  ask(settings_.submit_s);
}

std::optional<sim::Job> SearchJobs::next() {
  if (pending_.empty()) return std::nullopt;
  sim::Job job = std::move(pending_.front());
  pending_.pop_front();
  return job;
}

sim::Job SearchJobs::job_of(const Evaluation& e, double now_s) const {
  const double before = e.share_before > 0 ? inputs_.space->epochs(e.share_before) : 0;
  sim::Job job = inputs_.space->job(e.trial.genes, std::max(1.0, inputs_.space->epochs(e.trial.share) - before));
  job.name = settings_.user + "-" + number_text(submitted_);
  job.user = settings_.user;
  job.priority = settings_.priority;
  job.submit_s = now_s;
  return job;
}

bool SearchJobs::is_affordable(const Evaluation& next) const {
  double hours = device_s_ / 3600, usd = usd_;
  const auto add = [&](const Evaluation& e) {
    hours += (e.trial.share - e.share_before) * e.measures.gpu_hours;
    usd += (e.trial.share - e.share_before) * e.measures.cost_usd;
  };
  for (const auto& [name, evaluation] : open_) add(evaluation);
  add(next);
  return hours <= settings_.budget.gpu_hours && usd <= settings_.budget.usd;
}

/// What does not fit into memory is known without a job.
bool SearchJobs::submit(const Trial& trial, double now_s) {
  const Measures measures = inputs_.space->measure_with(*inputs_.truth, trial.genes, trial.share);
  const std::optional<Evaluation> entered = ledger_.enter(trial, measures);
  if (!entered) return false;
  if (!measures.fits) {
    inputs_.method->tell(trial, objectives_of(measures, inputs_.goals));
    return true;
  }
  if (!is_affordable(*entered)) return false;
  pending_.push_back(job_of(*entered, now_s));
  open_.emplace(pending_.back().name, *entered);
  ++submitted_;
  return true;
}

void SearchJobs::ask(double now_s) {
  while (!is_over_) {
    const std::vector<Trial> asked = inputs_.method->ask();
    if (asked.empty()) return;
    for (const Trial& trial : asked) {
      is_over_ = !submit(trial, now_s);
      if (is_over_) return;
    }
  }
}

bool SearchJobs::on_end(const sim::JobRecord& record) {
  if (!is_own(*record.job)) return false;
  Evaluation e = open_.extract(record.job->name).mapped();
  device_s_ += record.device_s;
  usd_ += record.cost.total();
  e.measures.fits = e.measures.fits && record.state == sim::JobState::finished;
  trained_ += e.trial.share - e.share_before;
  e.evaluations = trained_;
  e.gpu_hours = device_s_ / 3600;
  e.time_s = record.end_s - settings_.submit_s;
  evaluations_.push_back(e);
  is_over_ = is_over_ || device_s_ / 3600 >= settings_.budget.gpu_hours || usd_ >= settings_.budget.usd;
  if (is_over_) return false;
  inputs_.method->tell(e.trial, objectives_of(e.measures, inputs_.goals));
  ask(record.end_s);
  return true;
}

sim::Menu SearchJobs::configure(const sim::Job& job, double now_s) {
  if (!is_own(job)) return inputs_.others->configure(job, now_s);
  const Genes& genes = open_.at(job.name).trial.genes;
  const sim::Configuration wanted = inputs_.space->configuration(genes);
  std::vector<sim::Configuration> ranked{wanted};
  for (const sim::PoolId pool : inputs_.space->pools()) {
    if (pool == wanted.groups.front().pool) continue;
    sim::Configuration other = wanted;
    other.groups.front().pool = pool;
    if (inputs_.space->fits(genes, other)) ranked.push_back(other);
  }
  const auto has_room = [&](const sim::Configuration& c) {
    return free_[static_cast<std::size_t>(c.groups.front().pool)] >= c.workers();
  };
  if (settings_.adapts)
    if (const auto room = std::find_if(ranked.begin(), ranked.end(), has_room); room != ranked.end())
      std::rotate(ranked.begin(), room, room + 1);
  if (has_room(ranked.front())) free_[static_cast<std::size_t>(ranked.front().groups.front().pool)] -= ranked.front().workers();
  sim::Menu menu;
  for (const sim::Configuration& configuration : ranked) menu.ranked.push_back(inputs_.space->predicted(job, configuration));
  return menu;
}

sim::Menu SearchJobs::configure_again(const sim::Job& job, std::span<const sim::StageSeen> seen, double now_s) {
  return is_own(job) ? sim::Menu() : inputs_.others->configure_again(job, seen, now_s);
}

void SeeingQueue::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  inner_.decide(view, answer);
  std::vector<int> free(view.free_devices.begin(), view.free_devices.end());
  for (const sim::Start& start : answer.starts) {
    const sim::QueueJob& job = view.jobs[start.job];
    for (const sim::Group& group : job.menu.ranked[static_cast<std::size_t>(start.entry)].configuration.groups)
      free[static_cast<std::size_t>(group.pool)] -= group.workers;
  }
  search_.see_free(free);
}

}  // namespace rehearse::policies
