#include "policies/queue/gavel.hpp"

#include <algorithm>

#include "policies/queue/job_plan.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

namespace {

/// By the scenario's billing; of a pool that all pay for, the part that the job's devices are.
double entry_usd_per_s(const sim::QueueView& view, const sim::QueueJob& job, int entry) {
  return sim::share_usd_per_s(*view.cluster, view.costs != nullptr ? *view.costs : sim::CostRules{},
                              configuration_of(job, entry));
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
  account(view);
  changed_ = changed_ || !view.ended.empty();
  for (const sim::JobSlot slot : view.ended)
    for (std::size_t p = 0; p < pools_ && slot * pools_ < on_pool_.size(); ++p) on(slot, p) = {};
  plan_.update(view);
  for (const sim::JobSlot slot : view.queued) {
    changed_ = changed_ || view.jobs[slot].service.device_s == 0;
    meet(view, slot);
  }
  for (const sim::JobSlot slot : view.started) meet(view, slot);
  for (const sim::JobSlot slot : view.changed) meet(view, slot);
}

/// Time due and time had since the last decision. What a job holds is what it has planned, but for the checkpoints on the way.
void Gavel::account(const sim::QueueView& view) {
  const double passed_s = view.now_s - accounted_s_;
  accounted_s_ = view.now_s;
  if (passed_s <= 0) return;
  for (const sim::JobSlot slot : active())
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
      const int entry = on(slot, static_cast<std::size_t>(p)).entry;
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
  std::erase_if(slots, [this](sim::JobSlot slot) {  // several groups: no share of one pool's time, starts when there is room
    for (std::size_t p = 0; p < pools_; ++p)
      if (on(slot, p).entry >= 0) return false;
    return true;
  });
  const GavelProblem problem = problem_of(view, slots);
  const GavelAllocation shares = parameters_.objective == GavelObjective::max_min       ? gavel_max_min(problem)
                                 : parameters_.objective == GavelObjective::makespan    ? gavel_makespan(problem)
                                 : parameters_.objective == GavelObjective::finish_time ? gavel_finish_time(problem)
                                                                                        : gavel_cost(problem);
  for (std::size_t j = 0; j < slots.size(); ++j)
    for (std::size_t p = 0; p < pools_; ++p)
      on(slots[j], p).share = shares(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(p));
}

void Gavel::plan_if_it_fits(const sim::QueueView& view, sim::JobSlot slot, int entry) {
  if (entry >= 0 && plan_.of(slot) < 0 && plan_.fits(slot, configuration_of(view.jobs[slot], entry)))
    plan_.set(view, slot, entry);
}

/// Section 5, algorithm 1: in order of priority, what fits.
void Gavel::round(const sim::QueueView& view) {
  if (changed_) allocate(view);
  changed_ = false;
  struct Claim {
    double priority, due_s;
    std::uint64_t number;
    sim::JobSlot slot;
    std::size_t pool;
    auto operator<=>(const Claim&) const = default;
  };
  std::vector<Claim> claims;
  const std::vector<sim::JobSlot> slots = active();
  for (const sim::JobSlot slot : slots)
    for (std::size_t p = 0; p < pools_; ++p) {
      const OnPool& here = on(slot, p);
      if (here.entry < 0 || here.share <= 0) continue;
      const double due_s = here.due_s + here.share * parameters_.round_s;
      const double priority = here.had_s > 0 ? due_s / here.had_s : sim::kNever;
      claims.push_back({-priority, -due_s, view.jobs[slot].number, slot, p});  // the largest first
    }
  std::sort(claims.begin(), claims.end());
  std::vector<int> was;
  for (const sim::JobSlot slot : slots) was.push_back(plan_.of(slot));
  for (const sim::JobSlot slot : slots)
    if (plan_.of(slot) >= 0) plan_.set(view, slot, -1);
  for (const Claim& claim : claims) plan_if_it_fits(view, claim.slot, on(claim.slot, claim.pool).entry);
  // Who has no share at all runs on rather than being stopped for nothing.
  for (std::size_t i = 0; i < slots.size(); ++i) plan_if_it_fits(view, slots[i], was[i]);
}

/// What is left goes to those who wait, each where it is quickest; under the cost objective only where a dollar does most.
void Gavel::fill(const sim::QueueView& view) {
  if (std::all_of(plan_.left().begin(), plan_.left().end(), [](int devices) { return devices <= 0; })) return;
  std::vector<sim::JobSlot> waiting;
  for (const OrderedQueue::Item& item : plan_.unplanned()) waiting.push_back(item.slot);
  for (const sim::JobSlot slot : waiting) {
    const sim::QueueJob& job = view.jobs[slot];
    std::vector<std::pair<double, int>> ways;
    for (std::size_t p = 0; p < pools_; ++p) {
      const int entry = on(slot, p).entry;
      if (entry < 0) continue;
      const double per_s = parameters_.objective == GavelObjective::cost ? entry_usd_per_s(view, job, entry) : 1;
      ways.emplace_back(remaining_s(view, slot, entry) * per_s, entry);
    }
    if (ways.empty()) ways.emplace_back(0, job.first_fitting_entry);
    std::sort(ways.begin(), ways.end());
    if (parameters_.objective == GavelObjective::cost) ways.resize(1);
    for (const auto& [time, entry] : ways) plan_if_it_fits(view, slot, entry);
  }
}

void Gavel::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  take_up(view);
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
