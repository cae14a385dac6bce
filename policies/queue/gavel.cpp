#include "policies/queue/gavel.hpp"

#include <algorithm>
#include <functional>

#include "policies/queue/job_plan.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

namespace {

/// By the scenario's billing; of a pool that all pay for, the part that the job's devices are.
double entry_usd_per_s(const sim::QueueView& view, const sim::QueueJob& job, int entry) {
  return sim::share_usd_per_s(*view.cluster, view.costs != nullptr ? *view.costs : sim::CostRules{},
                              configuration_of(job, entry));
}

bool is_any_free(const std::vector<int>& devices) {
  return std::any_of(devices.begin(), devices.end(), [](int free) { return free > 0; });
}

}  // namespace

std::vector<sim::JobSlot> Gavel::active() const {
  std::vector<sim::JobSlot> slots;
  for (const OrderedQueue* queue : {&plan_.planned(), &plan_.unplanned()})
    for (const OrderedQueue::Item& item : *queue) slots.push_back(item.slot);
  return slots;
}

/// The first entry of the menu on each pool.
void Gavel::meet(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  if (on_pool_.size() < (slot + 1) * pools_) on_pool_.resize((slot + 1) * pools_);
  for (std::size_t p = 0; p < pools_; ++p) on(slot, p).entry = -1;
  for (std::size_t entry = job.menu.ranked.size(); entry-- > 0;) {
    if (!is_usable(*view.cluster, job, static_cast<int>(entry))) continue;
    const int pool = job.menu.ranked[entry].configuration.groups.front().pool;
    on(slot, static_cast<std::size_t>(pool)).entry = static_cast<int>(entry);
  }
}

void Gavel::take_up(const sim::QueueView& view) {
  if (pools_ == 0) pools_ = view.free_devices.size();
  for (const auto slots : {view.started, view.changed})  // whose plan, or whose menu, may become another one
    for (const sim::JobSlot slot : slots) account(slot, view.now_s);
  changed_ = changed_ || !view.ended.empty();
  for (const sim::JobSlot slot : view.ended) {
    for (std::size_t p = 0; p < pools_ && slot * pools_ < on_pool_.size(); ++p) on(slot, p) = {};
    stays_.forget(slot);
  }
  for (const sim::JobSlot slot : view.queued) {
    if (accounted_s_.size() <= slot) accounted_s_.resize(slot + 1, view.now_s);
    account(slot, view.now_s);
  }
  plan_.update(view);
  for (const sim::JobSlot slot : view.queued) {
    changed_ = changed_ || view.jobs[slot].service.device_s == 0;
    meet(view, slot);
  }
  for (const sim::JobSlot slot : view.started) meet(view, slot);
  for (const sim::JobSlot slot : view.changed) meet(view, slot);
}

void Gavel::look_at_pools(const sim::QueueView& view) {
  std::vector<bool> is_there;
  for (const sim::Nodes& nodes : view.nodes) is_there.push_back(nodes.nodes_out() < nodes.node_count());
  changed_ = changed_ || is_there != is_there_;
  is_there_ = std::move(is_there);
}

/// Time due and time had since it was last counted: before anything changes on which they depend. What a job holds is what it has
/// planned, but for the checkpoints on the way.
void Gavel::account(sim::JobSlot slot, double now_s) {
  if (slot >= accounted_s_.size()) return;
  const double passed_s = now_s - accounted_s_[slot];
  accounted_s_[slot] = now_s;
  if (passed_s <= 0 || (slot + 1) * pools_ > on_pool_.size()) return;
  for (std::size_t p = 0; p < pools_; ++p) {
    OnPool& here = on(slot, p);
    here.due_s += here.share * passed_s;
    if (here.entry >= 0 && plan_.of(slot) == here.entry) here.had_s += passed_s;
  }
}

/// With an entry of its menu; the mean over the pools when these are not told apart.
double Gavel::remaining_s(const sim::QueueView& view, sim::JobSlot slot, int entry) {
  const sim::QueueJob& job = view.jobs[slot];
  if (parameters_.aware) return expected_remaining_s(job, entry, view.now_s);
  double sum_s = 0;
  int pools = 0;
  for (std::size_t p = 0; p < pools_; ++p) {
    if (on(slot, p).entry < 0) continue;
    sum_s += expected_remaining_s(job, on(slot, p).entry, view.now_s);
    ++pools;
  }
  return sum_s / pools;
}

/// Of these jobs, as they are now.
GavelProblem Gavel::problem_of(const sim::QueueView& view, const std::vector<sim::JobSlot>& slots) {
  const auto jobs = static_cast<Eigen::Index>(slots.size()), pools = static_cast<Eigen::Index>(pools_);
  GavelProblem problem{.throughput = Eigen::MatrixXd::Zero(jobs, pools),
                       .devices = Eigen::MatrixXd::Zero(jobs, pools),
                       .capacity = Eigen::VectorXd(pools),
                       .weight = Eigen::VectorXd::Ones(jobs),
                       .usd_per_s = Eigen::MatrixXd::Zero(jobs, pools),
                       .least_throughput = Eigen::VectorXd::Zero(jobs)};
  const std::vector<int> sizes = pool_sizes(*view.cluster);
  for (Eigen::Index p = 0; p < pools; ++p) problem.capacity(p) = sizes[static_cast<std::size_t>(p)];
  for (Eigen::Index j = 0; j < jobs; ++j) {
    const sim::JobSlot slot = slots[static_cast<std::size_t>(j)];
    const sim::QueueJob& job = view.jobs[slot];
    for (Eigen::Index p = 0; p < pools; ++p) {
      const int entry = entry_now(slot, static_cast<std::size_t>(p));
      if (entry < 0) continue;
      problem.throughput(j, p) = 1 / remaining_s(view, slot, entry);
      problem.devices(j, p) = configuration_of(job, entry).workers();
      problem.usd_per_s(j, p) = entry_usd_per_s(view, job, entry);
    }
    const double left_s = job.job.submit_s + job.job.deadline_s - view.now_s;
    if (job.job.has_deadline() && left_s > 0) problem.least_throughput(j) = 1 / left_s;
  }
  if (parameters_.objective != GavelObjective::finish_time) return problem;
  const Eigen::VectorXd equal = problem.throughput.cwiseProduct(equal_shares(problem)).rowwise().sum();
  problem.elapsed_s = Eigen::VectorXd(jobs);
  problem.alone_s = Eigen::VectorXd(jobs);
  for (Eigen::Index j = 0; j < jobs; ++j) {
    const sim::QueueJob& job = view.jobs[slots[static_cast<std::size_t>(j)]];
    problem.elapsed_s(j) = view.now_s - job.job.submit_s;
    const OnPool* runs_on = &on(slots[static_cast<std::size_t>(j)], 0);
    while (runs_on->entry < 0) ++runs_on;
    const double whole_s = job.menu.ranked[static_cast<std::size_t>(runs_on->entry)].predicted.time_s;
    const double left_s = expected_remaining_s(job, runs_on->entry, view.now_s);
    problem.alone_s(j) = (whole_s > left_s ? whole_s / left_s : 1) / equal(j);
  }
  return problem;
}

void Gavel::allocate(const sim::QueueView& view) {
  std::vector<sim::JobSlot> slots = active();
  for (const sim::JobSlot slot : slots)
    for (std::size_t p = 0; p < pools_; ++p) on(slot, p).share = 0;
  std::erase_if(slots, [this](sim::JobSlot slot) {  // several groups: no share of one pool's time, starts when there is room
    for (std::size_t p = 0; p < pools_; ++p)
      if (entry_now(slot, p) >= 0) return false;
    return true;
  });
  const GavelProblem problem = problem_of(view, slots);
  const GavelAllocation shares = parameters_.objective == GavelObjective::max_min       ? gavel_max_min(problem, memory_)
                                 : parameters_.objective == GavelObjective::makespan    ? gavel_makespan(problem)
                                 : parameters_.objective == GavelObjective::finish_time ? gavel_finish_time(problem)
                                                                                        : gavel_cost(problem);
  for (std::size_t j = 0; j < slots.size(); ++j)
    for (std::size_t p = 0; p < pools_; ++p)
      on(slots[j], p).share = shares(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(p));
}

void Gavel::change_plan(const sim::QueueView& view, sim::JobSlot slot, int entry) {
  account(slot, view.now_s);
  plan_.set(view, slot, entry);
}

void Gavel::plan_if_it_fits(const sim::QueueView& view, sim::JobSlot slot, int entry) {
  if (entry >= 0 && plan_.of(slot) < 0 && plan_.fits(slot, configuration_of(view.jobs[slot], entry)))
    change_plan(view, slot, entry);
}

/// Section 5, algorithm 1: in order of priority, what fits.
void Gavel::round(const sim::QueueView& view) {
  const std::vector<sim::JobSlot> slots = active();
  for (const sim::JobSlot slot : slots) account(slot, view.now_s);
  if (changed_) allocate(view);
  changed_ = false;
  claims_.clear();
  next_.resize(accounted_s_.size());
  std::vector<int> left = plan_.left();
  for (const sim::JobSlot slot : slots) {
    next_[slot] = -1;
    for (const sim::Group& group : plan_.groups_of(slot)) left[static_cast<std::size_t>(group.pool)] += group.workers;
    for (std::size_t p = 0; p < pools_; ++p) {
      const OnPool& here = on(slot, p);
      if (entry_now(slot, p) < 0 || here.share <= 0) continue;
      const double due_s = here.due_s + here.share * parameters_.round_s;
      const double priority = here.had_s > 0 ? due_s / here.had_s : sim::kNever;
      claims_.push_back({-priority, -due_s, view.jobs[slot].number, slot, p});
    }
  }
  const auto give = [&](sim::JobSlot slot, int entry) {
    if (entry < 0 || next_[slot] >= 0) return;
    const sim::Configuration& wanted = configuration_of(view.jobs[slot], entry);
    for (const sim::Group& group : wanted.groups)
      if (wanted.workers_of(group.pool) > left[static_cast<std::size_t>(group.pool)]) return;
    for (const sim::Group& group : wanted.groups) left[static_cast<std::size_t>(group.pool)] -= group.workers;
    next_[slot] = entry;
  };
  for (const sim::JobSlot slot : slots)
    if (stays_.until_s(view.jobs[slot], slot, parameters_.round_s) > view.now_s) give(slot, plan_.of(slot));
  // A heap, as few of those who wait are reached before the devices are gone.
  std::make_heap(claims_.begin(), claims_.end(), std::greater<>());
  for (auto end = claims_.end(); end != claims_.begin() && is_any_free(left); --end) {
    std::pop_heap(claims_.begin(), end, std::greater<>());
    const Claim& claim = *std::prev(end);
    give(claim.slot, on(claim.slot, claim.pool).entry);
  }
  for (const sim::JobSlot slot : slots) {
    give(slot, plan_.of(slot));  // who has no share at all runs on rather than being stopped for nothing
    if (next_[slot] == plan_.of(slot)) continue;
    if (plan_.of(slot) >= 0) stays_.take(slot);
    plan_.set(view, slot, next_[slot]);
  }
}

/// What is left goes to those who wait, each where it is quickest; under the cost objective only where a dollar does most.
void Gavel::fill(const sim::QueueView& view) {
  for (auto next = plan_.unplanned().begin(); next != plan_.unplanned().end() && is_any_free(plan_.left());) {
    const sim::JobSlot slot = (next++)->slot;  // a plan takes it out of the list
    const sim::QueueJob& job = view.jobs[slot];
    const bool by_cost = parameters_.objective == GavelObjective::cost;
    double least = sim::kNever;
    int best = -1;
    bool on_one_pool = false;
    for (std::size_t p = 0; p < pools_; ++p) {
      const int entry = on(slot, p).entry;
      if (entry < 0) continue;
      on_one_pool = true;
      if (!is_there_[p] || (!by_cost && !plan_.fits(slot, configuration_of(job, entry)))) continue;
      const double time = remaining_s(view, slot, entry) * (by_cost ? entry_usd_per_s(view, job, entry) : 1);
      if (best >= 0 && std::pair(time, entry) > std::pair(least, best)) continue;
      least = time;
      best = entry;
    }
    plan_if_it_fits(view, slot, on_one_pool ? best : job.first_fitting_entry);
  }
}

void Gavel::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  take_up(view);
  look_at_pools(view);
  if (view.now_s >= next_round_s_) {
    round(view);
    next_round_s_ = view.now_s + parameters_.round_s;
    // Who has no share of any pool's time, being on several at once, starts where there is room.
    if (!parameters_.fills) fill(view);
  }
  if (parameters_.fills) fill(view);
  plan_.act(view, answer);
  if (!plan_.empty()) answer.wake_at_s = next_round_s_;
}

}  // namespace rehearse::policies
