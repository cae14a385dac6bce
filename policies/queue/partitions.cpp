#include "policies/queue/partitions.hpp"

#include <algorithm>

#include "sim/money/costs.hpp"

namespace rehearse::policies {

void Partitioned::learn(const sim::Truth& truth) {
  for (Part& part : parts_)
    if (auto* oracle = dynamic_cast<sim::OracleQueue*>(part.queue.get())) oracle->learn(truth);
}

void Partitioned::set_up(const sim::QueueView& view) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part.cluster = *view.cluster;
    for (std::size_t p = 0; p < part.cluster.pools.size(); ++p) {
      sim::Pool& pool = part.cluster.pools[p];
      const auto quota = part.partition.quota.find(pool.name);
      pool.nodes = quota == part.partition.quota.end() ? 0 : quota->second;
      part.left.push_back(pool.nodes * sim::workers_per_node(part.cluster, static_cast<sim::PoolId>(p)));
    }
    for (const std::string& user : part.partition.users) part_of_user_[user] = static_cast<int>(i);
    if (part.partition.users.empty()) part_of_others_ = static_cast<int>(i);
  }
}

int Partitioned::part_of(const std::string& user) const {
  const auto found = part_of_user_.find(user);
  return found == part_of_user_.end() ? part_of_others_ : found->second;
}

/// Settles what the job holds against its partition's quota.
void Partitioned::hold(const sim::QueueJob& job, sim::JobSlot slot) {
  std::vector<int>& left = parts_[static_cast<std::size_t>(jobs_[slot].part)].left;
  std::vector<sim::Group>& held = jobs_[slot].held;
  for (const sim::Group& group : held) left[static_cast<std::size_t>(group.pool)] += group.workers;
  held.clear();
  if (job.service.entry >= 0) held = job.menu.ranked[static_cast<std::size_t>(job.service.entry)].configuration.groups;
  std::vector<sim::Group>& growth = jobs_[slot].growth;
  if (job.service.state != sim::JobState::checkpointing) growth.clear();
  held.insert(held.end(), growth.begin(), growth.end());
  for (const sim::Group& group : held) left[static_cast<std::size_t>(group.pool)] -= group.workers;
}

bool Partitioned::has_room(sim::JobSlot slot, const sim::Configuration& configuration) const {
  const Job& job = jobs_[slot];
  if (job.part < 0) return true;
  std::vector<int> left = parts_[static_cast<std::size_t>(job.part)].left;
  for (const sim::Group& group : job.held) left[static_cast<std::size_t>(group.pool)] += group.workers;
  return std::all_of(configuration.groups.begin(), configuration.groups.end(),
                     [&](const sim::Group& group) { return (left[static_cast<std::size_t>(group.pool)] -= group.workers) >= 0; });
}

void Partitioned::take(sim::JobSlot slot, const sim::Configuration& configuration) {
  Job& job = jobs_[slot];
  if (job.part < 0) return;
  std::vector<int>& left = parts_[static_cast<std::size_t>(job.part)].left;
  for (const sim::Group& group : job.held) left[static_cast<std::size_t>(group.pool)] += group.workers;
  job.held = configuration.groups;
  for (const sim::Group& group : job.held) left[static_cast<std::size_t>(group.pool)] -= group.workers;
}

/// Shows the job as it is now to its partition. False when it has none, or nothing in it that fits.
bool Partitioned::take_up(const sim::QueueView& view, sim::JobSlot slot) {
  if (jobs_.size() <= slot) {
    jobs_.resize(slot + 1);
    shown_.resize(slot + 1);
  }
  const sim::QueueJob& job = view.jobs[slot];
  jobs_[slot].part = part_of(job.job.user);
  if (jobs_[slot].part < 0) return false;
  hold(job, slot);
  const sim::Cluster& cluster = parts_[static_cast<std::size_t>(jobs_[slot].part)].cluster;
  shown_[slot] = job;
  const auto& ranked = job.menu.ranked;
  const auto fitting = std::find_if(ranked.begin(), ranked.end(), [&](const sim::Choice& choice) {
    return sim::could_ever_fit(cluster, choice.configuration);
  });
  shown_[slot].first_fitting_entry = static_cast<int>(fitting - ranked.begin());
  return fitting != ranked.end();
}

void Partitioned::sort_out(const sim::QueueView& view, sim::QueueAnswer& answer) {
  for (Part& part : parts_)
    for (auto* slots : {&part.queued, &part.started, &part.changed, &part.ended}) slots->clear();
  const auto part_of_slot = [this](sim::JobSlot slot) -> Part* {
    return slot < jobs_.size() && jobs_[slot].part >= 0 ? &parts_[static_cast<std::size_t>(jobs_[slot].part)] : nullptr;
  };
  for (const sim::JobSlot slot : view.queued) {
    if (take_up(view, slot)) {
      part_of_slot(slot)->queued.push_back(slot);
    } else {
      answer.rejects.push_back(slot);
      jobs_[slot].part = -1;
    }
  }
  const auto pass_on = [&](std::span<const sim::JobSlot> slots, std::vector<sim::JobSlot> Part::*list) {
    for (const sim::JobSlot slot : slots)
      if (Part* part = part_of_slot(slot)) {
        take_up(view, slot);
        (part->*list).push_back(slot);
      }
  };
  pass_on(view.started, &Part::started);
  pass_on(view.changed, &Part::changed);
  for (const sim::JobSlot slot : view.ended) {
    Part* part = part_of_slot(slot);
    if (part == nullptr) continue;
    for (const sim::Group& group : jobs_[slot].held) part->left[static_cast<std::size_t>(group.pool)] += group.workers;
    part->ended.push_back(slot);
    jobs_[slot] = {};
  }
}

/// A job that grows takes its devices only after its checkpoint: they are set aside now, and where the quota has not so many
/// left, since others have not let go of theirs yet, the job stays as it is.
void Partitioned::keep_to_quota(Part& part) {
  std::vector<int>& left = part.left;
  std::vector<int> spare = left;
  for (const sim::Start& start : inner_.starts)
    for (const sim::Group& group : shown_[start.job].menu.ranked[static_cast<std::size_t>(start.entry)].configuration.groups)
      spare[static_cast<std::size_t>(group.pool)] -= group.workers;
  std::erase_if(inner_.resizes, [&](const sim::Start& resize) {
    const auto& ranked = shown_[resize.job].menu.ranked;
    const sim::Configuration& now = ranked[static_cast<std::size_t>(shown_[resize.job].service.entry)].configuration;
    std::vector<sim::Group> growth = ranked[static_cast<std::size_t>(resize.entry)].configuration.groups;
    for (sim::Group& group : growth) group.workers = std::max(0, group.workers - static_cast<int>(now.workers_of(group.pool)));
    if (std::any_of(growth.begin(), growth.end(),
                    [&](const sim::Group& group) { return group.workers > spare[static_cast<std::size_t>(group.pool)]; }))
      return true;
    for (const sim::Group& group : growth) {
      spare[static_cast<std::size_t>(group.pool)] -= group.workers;
      left[static_cast<std::size_t>(group.pool)] -= group.workers;
    }
    std::vector<sim::Group>& held = jobs_[resize.job].held;
    held.insert(held.end(), growth.begin(), growth.end());
    jobs_[resize.job].growth = std::move(growth);
    return false;
  });
}

/// Asks one partition's discipline; what it starts is no longer free for those after it.
void Partitioned::ask(Part& part, const sim::QueueView& view, sim::QueueAnswer& answer) {
  std::vector<int> free = free_;
  for (std::size_t p = 0; p < free.size(); ++p) free[p] = std::max(0, std::min(free[p], part.left[p]));
  inner_.clear();
  part.queue->decide({.now_s = view.now_s,
                      .cluster = &part.cluster,
                      .queued = part.queued,
                      .started = part.started,
                      .changed = part.changed,
                      .ended = part.ended,
                      .jobs = shown_,
                      .free_devices = free,
                      .nodes = nodes_.empty() ? view.nodes : std::span<const sim::Nodes>(nodes_),
                      .held = view.held},
                     inner_);
  for (auto* starts : {&inner_.starts, &inner_.resizes})  // a quota is of whole devices
    for (sim::Start& start : *starts) start.shares = false;
  keep_to_quota(part);
  if (!inner_.starts.empty() && nodes_.empty()) nodes_.assign(view.nodes.begin(), view.nodes.end());
  for (const sim::Start& start : inner_.starts) {
    const sim::Configuration& configuration = shown_[start.job].menu.ranked[static_cast<std::size_t>(start.entry)].configuration;
    take(start.job, configuration);  // who goes on to another stage may ask for room before the next decision
    const auto& groups = configuration.groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto pool = static_cast<std::size_t>(groups[g].pool);
      free_[pool] -= groups[g].workers;
      std::vector<sim::NodeShare> taken;
      if (start.nodes.empty())
        nodes_[pool].take(start.placement, groups[g], taken);
      else
        nodes_[pool].take(start.nodes[g]);
    }
  }
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(answer.starts, inner_.starts);
  append(answer.preempts, inner_.preempts);
  append(answer.resizes, inner_.resizes);
  append(answer.rejects, inner_.rejects);
  for (double* date_s : {&part.wake_s, &part.acts_s})
    if (*date_s <= view.now_s) *date_s = sim::kNever;
  if (inner_.wake_at_s != sim::kNever) part.wake_s = part.acts_s = inner_.wake_at_s;
  if (inner_.acts_at_s != sim::kNever) part.acts_s = inner_.acts_at_s;
}

void Partitioned::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  if (parts_.front().left.empty()) set_up(view);
  sort_out(view, answer);
  free_.assign(view.free_devices.begin(), view.free_devices.end());
  nodes_.clear();
  for (Part& part : parts_) {
    ask(part, view, answer);
    answer.wake_at_s = std::min(answer.wake_at_s, part.wake_s);
    answer.acts_at_s = std::min(answer.acts_at_s, part.acts_s);
  }
}

}  // namespace rehearse::policies
