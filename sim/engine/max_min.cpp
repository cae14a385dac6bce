#include "sim/engine/max_min.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

MaxMin::MaxMin(std::span<const double> capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    check(capacities[i] > 0 && std::isfinite(capacities[i]), "a link's capacity is positive and finite");
    links_[i].capacity = capacities[i];
  }
}

int MaxMin::add_group(std::span<const std::int32_t> links, double cap) {
  check(cap > 0, "a flow's cap is positive");
  Group group;
  group.cap = cap;
  group.first = static_cast<std::int32_t>(places_.size());
  for (const std::int32_t link : links) {
    check(link >= 0 && link < static_cast<int>(links_.size()), "a flow goes over links that there are");
    places_.push_back({link, static_cast<std::int32_t>(groups_.size()), 0});
  }
  group.end = static_cast<std::int32_t>(places_.size());
  groups_.push_back(group);
  return static_cast<int>(groups_.size()) - 1;
}

void MaxMin::join(const Group& group) {
  for (int i = group.first; i < group.end; ++i) {
    std::vector<std::int32_t>& active = links_[places_[i].link].active;
    places_[i].position = static_cast<std::int32_t>(active.size());
    active.push_back(i);
  }
}

void MaxMin::leave(const Group& group) {
  for (int i = group.first; i < group.end; ++i) {
    std::vector<std::int32_t>& active = links_[places_[i].link].active;
    const std::int32_t last = active.back(), position = places_[i].position;
    active[position] = last;
    places_[last].position = position;
    active.pop_back();
  }
}

void MaxMin::set_flows(int index, int flows) {
  Group& group = groups_[index];
  if (group.flows == flows) return;
  check(flows >= 0 && group.first < group.end, "a flow goes over a link");
  if (group.flows == 0) join(group);
  if (flows == 0) leave(group);
  group.flows = flows;
  for (int i = group.first; i < group.end; ++i)
    if (Link& link = links_[places_[i].link]; !link.dirty) {
      link.dirty = true;
      dirty_.push_back(places_[i].link);
    }
}

void MaxMin::clear() {
  for (Group& group : groups_) group.flows = 0;
  for (Link& link : links_) {
    link.active.clear();
    link.dirty = false;
  }
  dirty_.clear();
}

void MaxMin::meet(int index) {
  Link& link = links_[index];
  if (link.met == solve_) return;
  link.met = solve_;
  link.left = link.capacity;
  link.open = 0;
  component_links_.push_back(index);
}

/// The links and groups that hang together with the changed links.
void MaxMin::gather() {
  component_links_.clear();
  component_groups_.clear();
  for (const std::int32_t index : dirty_) {
    links_[index].dirty = false;
    meet(index);
  }
  dirty_.clear();
  for (std::size_t next = 0; next < component_links_.size(); ++next)
    for (const std::int32_t place : links_[component_links_[next]].active) {
      const std::int32_t index = places_[place].group;
      Group& group = groups_[index];
      if (group.met == solve_) continue;
      group.met = solve_;
      component_groups_.push_back(index);
      for (int i = group.first; i < group.end; ++i) {
        meet(places_[i].link);
        links_[places_[i].link].open += group.flows;
      }
    }
}

void MaxMin::fix(Group& group, double rate) {
  group.rate = rate;
  group.fixed = solve_;
  for (int i = group.first; i < group.end; ++i) {
    Link& link = links_[places_[i].link];
    link.open -= group.flows;
    link.left = std::max(0.0, link.left - rate * group.flows);
  }
}

/// The link that gives each of its open flows the least; -1 when no flow is open. Drops the links that are done.
int MaxMin::narrowest() {
  int best = -1;
  double best_left = 0, best_open = 0;
  for (std::size_t i = 0; i < component_links_.size();) {
    const Link& link = links_[component_links_[i]];
    if (link.open == 0) {
      component_links_[i] = component_links_.back();
      component_links_.pop_back();
      continue;
    }
    if (best < 0 || link.left * best_open < best_left * link.open) {
      best = component_links_[i];
      best_left = link.left;
      best_open = link.open;
    }
    ++i;
  }
  return best;
}

/// Gives the group with the smallest cap its cap, when no link would give it less. False when there is none.
bool MaxMin::fix_capped(double share) {
  while (!capped_.empty() && groups_[capped_.back()].fixed == solve_) capped_.pop_back();
  if (capped_.empty() || groups_[capped_.back()].cap > share) return false;
  Group& group = groups_[capped_.back()];
  fix(group, group.cap);
  return true;
}

void MaxMin::fill() {
  capped_.clear();
  for (const std::int32_t index : component_groups_)
    if (std::isfinite(groups_[index].cap)) capped_.push_back(index);
  std::sort(capped_.begin(), capped_.end(),
            [&](int a, int b) { return groups_[a].cap != groups_[b].cap ? groups_[a].cap > groups_[b].cap : a > b; });
  for (int index = narrowest(); index >= 0; index = narrowest()) {
    const Link& link = links_[index];
    const double share = link.left / link.open;
    if (fix_capped(share)) continue;
    for (const std::int32_t place : link.active)
      if (Group& group = groups_[places_[place].group]; group.fixed != solve_) fix(group, share);
  }
}

std::span<const std::int32_t> MaxMin::solve() {
  if (dirty_.empty()) return {};
  ++solve_;
  gather();
  fill();
  return component_groups_;
}

}  // namespace rehearse::sim
