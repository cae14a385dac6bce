#include "sim/engine/max_min.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::sim {
namespace {

/// Groups and links up to which looking for the component costs more than sharing everything again.
constexpr std::size_t kFew = 64;

}  // namespace

MaxMin::MaxMin(std::span<const double> capacities)
    : capacity_(capacities.begin(), capacities.end()),
      flows_(capacities.size()),
      load_(capacities.size()),
      met_(capacities.size()),
      is_dirty_(capacities.size()),
      on_link_(capacities.size()),
      component_links_(capacities.size()) {
  for (const double capacity : capacities)
    check(capacity > 0 && std::isfinite(capacity), "a link's capacity is positive and finite");
}

int MaxMin::add_group(std::span<const std::int32_t> links, double cap) {
  check(cap > 0, "a flow's cap is positive");
  Group group;
  group.cap = cap;
  group.first = static_cast<std::int32_t>(place_link_.size());
  for (const std::int32_t link : links) {
    check(link >= 0 && link < static_cast<int>(capacity_.size()), "a flow goes over links that there are");
    place_link_.push_back(link);
    place_group_.push_back(static_cast<std::int32_t>(groups_.size()));
    place_index_.push_back(0);
  }
  group.end = static_cast<std::int32_t>(place_link_.size());
  if (std::isfinite(cap)) ++caps_;
  groups_.push_back(group);
  return static_cast<int>(groups_.size()) - 1;
}

void MaxMin::change_group(int index, std::span<const std::int32_t> links, double cap) {
  Group& group = groups_[index];
  check(group.flows == 0 && group.end - group.first == static_cast<int>(links.size()),
        "a group without flows goes over other links, as many as before");
  check(cap > 0, "a flow's cap is positive");
  caps_ += static_cast<int>(std::isfinite(cap)) - static_cast<int>(std::isfinite(group.cap));
  group.cap = cap;
  for (std::size_t i = 0; i < links.size(); ++i) {
    check(links[i] >= 0 && links[i] < static_cast<int>(capacity_.size()), "a flow goes over links that there are");
    place_link_[static_cast<std::size_t>(group.first) + i] = links[i];
  }
}

void MaxMin::join(int index) {
  Group& group = groups_[index];
  group.position = static_cast<std::int32_t>(active_.size());
  active_.push_back(index);
  for (int i = group.first; i < group.end; ++i) {
    std::vector<std::int32_t>& places = on_link_[place_link_[i]];
    place_index_[i] = static_cast<std::int32_t>(places.size());
    places.push_back(i);
  }
}

void MaxMin::leave(int index) {
  const Group& group = groups_[index];
  active_[group.position] = active_.back();
  groups_[active_.back()].position = group.position;
  active_.pop_back();
  for (int i = group.first; i < group.end; ++i) {
    std::vector<std::int32_t>& places = on_link_[place_link_[i]];
    const std::int32_t last = places.back();
    places[place_index_[i]] = last;
    place_index_[last] = place_index_[i];
    places.pop_back();
  }
}

void MaxMin::set_flows(int index, int flows) {
  Group& group = groups_[index];
  if (group.flows == flows) return;
  check(flows >= 0 && group.first < group.end, "a flow goes over a link");
  if (group.flows == 0) join(index);
  if (flows == 0) leave(index);
  for (int i = group.first; i < group.end; ++i) {
    const std::int32_t link = place_link_[i];
    flows_[link] += flows - group.flows;
    if (is_dirty_[link]) continue;
    is_dirty_[link] = 1;
    dirty_.push_back(link);
  }
  group.flows = flows;
}

void MaxMin::clear() {
  for (const std::int32_t group : active_) groups_[group].flows = 0;
  active_.clear();
  std::fill(flows_.begin(), flows_.end(), 0);
  for (std::vector<std::int32_t>& places : on_link_) places.clear();
  for (const std::int32_t link : dirty_) is_dirty_[link] = 0;
  dirty_.clear();
}

void MaxMin::meet(int link) {
  if (met_[link] == solve_) return;
  met_[link] = solve_;
  load_[link] = {.left = capacity_[link], .open = flows_[link]};
  component_links_[links_left_++] = link;
}

void MaxMin::take_all() {
  component_groups_.assign(active_.begin(), active_.end());
  for (std::size_t link = 0; link < capacity_.size(); ++link) {  // without a branch that nobody can predict
    load_[link] = {.left = capacity_[link], .open = flows_[link]};
    component_links_[links_left_] = static_cast<std::int32_t>(link);
    links_left_ += flows_[link] > 0;
  }
}

/// One group has all its links to itself.
void MaxMin::give_alone() {
  component_groups_.assign(active_.begin(), active_.end());
  Group& group = groups_[active_[0]];
  group.rate = group.cap;
  for (int i = group.first; i < group.end; ++i) group.rate = std::min(group.rate, capacity_[place_link_[i]] / group.flows);
}

/// The links and groups that hang together with the changed links.
void MaxMin::gather() {
  component_groups_.clear();
  for (const std::int32_t link : dirty_) meet(link);
  for (int next = 0; next < links_left_; ++next)
    for (const std::int32_t place : on_link_[component_links_[next]]) {
      Group& group = groups_[place_group_[place]];
      if (group.met == solve_) continue;
      group.met = solve_;
      component_groups_.push_back(place_group_[place]);
      for (int i = group.first; i < group.end; ++i) meet(place_link_[i]);
    }
}

void MaxMin::fix(Group& group, double rate) {
  group.rate = rate;
  group.fixed = solve_;
  --groups_left_;
  const double flows = group.flows;
  for (int i = group.first; i < group.end; ++i) {
    Load& load = load_[place_link_[i]];
    load.open -= flows;
    load.left = std::max(0.0, load.left - rate * flows);
  }
}

/// The link that gives each of its open flows the least. Drops the links that are done.
int MaxMin::narrowest() {
  int best = -1;
  Load least;
  for (int i = 0; i < links_left_;) {
    const Load load = load_[component_links_[i]];
    if (load.open == 0) {
      component_links_[i] = component_links_[--links_left_];
      continue;
    }
    if (best < 0 || load.left * least.open < least.left * load.open) {
      best = component_links_[i];
      least = load;
    }
    ++i;
  }
  return best;
}

/// Gives the groups whose caps are at most what every link gives their caps: what is left to the others is then no less. False
/// when there is no such group.
bool MaxMin::fix_capped(double share) {
  bool any = false;
  while (!capped_.empty()) {
    Group& group = groups_[capped_.back()];
    if (group.fixed != solve_) {
      if (group.cap > share) break;
      fix(group, group.cap);
      any = true;
    }
    capped_.pop_back();
  }
  return any;
}

/// Largest first.
void MaxMin::sort_capped() {
  capped_.clear();
  if (caps_ == 0) return;
  for (const std::int32_t index : component_groups_)
    if (std::isfinite(groups_[index].cap)) capped_.push_back(index);
  std::sort(capped_.begin(), capped_.end(),
            [&](int a, int b) { return groups_[a].cap != groups_[b].cap ? groups_[a].cap > groups_[b].cap : a > b; });
}

void MaxMin::fill() {
  sort_capped();
  groups_left_ = static_cast<int>(component_groups_.size());
  while (groups_left_ > 0) {
    const int link = narrowest();
    const double share = load_[link].left / load_[link].open;
    if (fix_capped(share)) continue;  // more is left on every link now
    for (const std::int32_t place : on_link_[link])
      if (Group& group = groups_[place_group_[place]]; group.fixed != solve_) fix(group, share);
  }
}

std::span<const std::int32_t> MaxMin::solve() {
  if (dirty_.empty()) return {};
  ++solve_;
  links_left_ = 0;
  if (active_.size() == 1) {
    give_alone();
  } else {
    active_.size() <= kFew&& capacity_.size() <= kFew ? take_all() : gather();
    fill();
  }
  for (const std::int32_t link : dirty_) is_dirty_[link] = 0;
  dirty_.clear();
  return component_groups_;
}

}  // namespace rehearse::sim
