#include "sim/nodes/nodes.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

IndexSet::IndexSet(int capacity) {
  auto words = static_cast<std::size_t>(capacity);
  do {
    words = (words + 63) / 64;
    levels_.emplace_back(words, 0);
  } while (words > 1);
}

void IndexSet::insert(int index) {
  auto at = static_cast<std::size_t>(index);
  for (auto& level : levels_) {
    level[at / 64] |= std::uint64_t{1} << (at % 64);
    at /= 64;
  }
}

void IndexSet::erase(int index) {
  auto at = static_cast<std::size_t>(index);
  for (auto& level : levels_) {
    level[at / 64] &= ~(std::uint64_t{1} << (at % 64));
    if (level[at / 64] != 0) return;
    at /= 64;
  }
}

int IndexSet::smallest() const {
  std::size_t at = 0;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level)
    at = at * 64 + static_cast<std::size_t>(std::countr_zero((*level)[at]));
  return static_cast<int>(at);
}

Nodes::Nodes(int nodes, int devices_per_node, const std::vector<int>& rack_of_node)
    : per_node_(devices_per_node),
      free_total_(nodes * devices_per_node),
      free_(static_cast<std::size_t>(nodes), devices_per_node),
      count_(static_cast<std::size_t>(devices_per_node) + 1, 0) {
  for (int f = 0; f <= devices_per_node; ++f) with_free_.emplace_back(nodes);
  count_.back() = nodes;
  for (int node = 0; node < nodes; ++node) with_free_[static_cast<std::size_t>(devices_per_node)].insert(node);
  std::map<int, int> index;  // of each rack that the pool has nodes in
  for (const int rack : rack_of_node) index.emplace(rack, static_cast<int>(index.size()));
  if (index.size() < 2) return;
  nodes_of_rack_.resize(index.size());
  free_in_rack_.resize(index.size(), 0);
  for (int node = 0; node < nodes; ++node) {
    rack_of_node_.push_back(index.at(rack_of_node[static_cast<std::size_t>(node)]));
    nodes_of_rack_[static_cast<std::size_t>(rack_of_node_.back())].push_back(node);
    count_free(node, devices_per_node);
  }
}

/// Of nodes that are not out.
void Nodes::count_free(int node, int delta) {
  if (rack_of_node_.empty()) return;
  free_in_rack_[static_cast<std::size_t>(rack_of_node_[static_cast<std::size_t>(node)])] += delta;
}

void Nodes::change(int node, int delta) {
  int& free = free_[static_cast<std::size_t>(node)];
  check(free + delta >= 0 && free + delta <= per_node_, "a node's devices are taken or given back twice");
  if (is_out(node)) {
    free += delta;
    return;
  }
  with_free_[static_cast<std::size_t>(free)].erase(node);
  --count_[static_cast<std::size_t>(free)];
  free += delta;
  free_total_ += delta;
  count_free(node, delta);
  with_free_[static_cast<std::size_t>(free)].insert(node);
  ++count_[static_cast<std::size_t>(free)];
}

void Nodes::withdraw(int node) {
  if (withdrawn_.empty()) withdrawn_.resize(free_.size(), 0);
  if (withdrawn_[static_cast<std::size_t>(node)]++ > 0) return;
  const int free = free_[static_cast<std::size_t>(node)];
  with_free_[static_cast<std::size_t>(free)].erase(node);
  --count_[static_cast<std::size_t>(free)];
  free_total_ -= free;
  count_free(node, -free);
  ++nodes_out_;
}

void Nodes::restore(int node) {
  check(is_out(node), "a node is restored that is not out");
  if (--withdrawn_[static_cast<std::size_t>(node)] > 0) return;
  const int free = free_[static_cast<std::size_t>(node)];
  with_free_[static_cast<std::size_t>(free)].insert(node);
  ++count_[static_cast<std::size_t>(free)];
  free_total_ += free;
  count_free(node, free);
  --nodes_out_;
}

void Nodes::take_consolidated(int devices, std::vector<NodeShare>& out) {
  check(devices <= free_total_, "more devices are taken than are free");
  while (devices > 0) {
    // The smallest bucket that holds all that is left, else the emptiest node.
    int bucket = devices;
    while (bucket <= per_node_ && with_free_[static_cast<std::size_t>(bucket)].empty()) ++bucket;
    if (bucket > per_node_) {
      bucket = per_node_;
      while (with_free_[static_cast<std::size_t>(bucket)].empty()) --bucket;
    }
    const int node = with_free_[static_cast<std::size_t>(bucket)].smallest();
    const int taken = bucket < devices ? bucket : devices;
    change(node, -taken);
    out.push_back({node, taken});
    devices -= taken;
  }
}

void Nodes::take_best_fit(int devices, std::vector<NodeShare>& out) {
  check(devices <= free_total_, "more devices are taken than are free");
  while (devices > 0) {
    // The smallest gap that holds all that is left, else the smallest gap: it is closed.
    int bucket = devices;
    while (bucket <= per_node_ && with_free_[static_cast<std::size_t>(bucket)].empty()) ++bucket;
    if (bucket > per_node_) {
      bucket = 1;
      while (with_free_[static_cast<std::size_t>(bucket)].empty()) ++bucket;
    }
    const int node = with_free_[static_cast<std::size_t>(bucket)].smallest();
    const int taken = std::min(bucket, devices);
    change(node, -taken);
    out.push_back({node, taken});
    devices -= taken;
  }
}

void Nodes::take_spread(int devices, std::vector<NodeShare>& out) {
  check(devices <= free_total_, "more devices are taken than are free");
  const std::size_t before = out.size();
  int bucket = per_node_;
  for (; devices > 0; --devices) {
    while (with_free_[static_cast<std::size_t>(bucket)].empty()) --bucket;
    const int node = with_free_[static_cast<std::size_t>(bucket)].smallest();
    change(node, -1);
    out.push_back({node, 1});
  }
  // One share a node.
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(before);
  std::sort(first, out.end(), [](const NodeShare& a, const NodeShare& b) { return a.node < b.node; });
  auto last = first;
  for (auto share = first; share != out.end(); ++share) {
    if (last != first && (last - 1)->node == share->node)
      (last - 1)->devices += share->devices;
    else
      *last++ = *share;
  }
  out.erase(last, out.end());
}

/// The rack with the fewest free devices of those that hold all, else the one with the most.
int Nodes::best_rack(int devices) const {
  int best = 0;
  for (int rack = 1; rack < static_cast<int>(free_in_rack_.size()); ++rack) {
    const int free = free_in_rack_[static_cast<std::size_t>(rack)], least = free_in_rack_[static_cast<std::size_t>(best)];
    const bool better = free >= devices ? least < devices || free < least : least < devices && free > least;
    if (better) best = rack;
  }
  return best;
}

/// As consolidated, among the rack's nodes. How many it took.
int Nodes::take_from_rack(int rack, int devices, std::vector<NodeShare>& out) {
  const int wanted = std::min(devices, free_in_rack_[static_cast<std::size_t>(rack)]);
  for (int left = wanted; left > 0;) {
    int chosen = -1;
    for (const int node : nodes_of_rack_[static_cast<std::size_t>(rack)]) {
      const int free = free_on(node);
      if (free == 0) continue;
      const int least = chosen < 0 ? 0 : free_on(chosen);
      if (free >= left ? least < left || free < least : least < left && free > least) chosen = node;
    }
    const int taken = std::min(left, free_on(chosen));
    change(chosen, -taken);
    out.push_back({chosen, taken});
    left -= taken;
  }
  return wanted;
}

void Nodes::take_network_aware(int devices, std::vector<NodeShare>& out) {
  if (rack_of_node_.empty() || has_node_with(devices)) {
    take_consolidated(devices, out);
    return;
  }
  check(devices <= free_total_, "more devices are taken than are free");
  while (devices > 0) devices -= take_from_rack(best_rack(devices), devices, out);
}

void Nodes::take(Placement placement, int devices, std::vector<NodeShare>& out) {
  switch (placement) {
    case Placement::consolidated:
      take_consolidated(devices, out);
      break;
    case Placement::best_fit:
      take_best_fit(devices, out);
      break;
    case Placement::spread:
      take_spread(devices, out);
      break;
    case Placement::network_aware:
      take_network_aware(devices, out);
      break;
  }
}

void Nodes::take(Placement placement, const Group& group, std::vector<NodeShare>& out) {
  if (group.nodes > 0)
    take_even(placement, group.nodes, group.workers_per_node(), out);
  else
    take(placement, group.workers, out);
}

/// Nodes of which each has enough devices free, in the order in which `placement` takes them.
std::vector<int> Nodes::even_nodes(Placement placement, int nodes, int devices) const {
  std::vector<int> found;
  for (int node = 0; node < node_count(); ++node)
    if (free_on(node) >= devices) found.push_back(node);
  std::stable_sort(found.begin(), found.end(), [&](int a, int b) {
    return placement == Placement::spread ? free_on(a) > free_on(b) : free_on(a) < free_on(b);
  });
  if (placement != Placement::network_aware || rack_of_node_.empty()) return found;
  const auto rack = [this](int node) { return static_cast<std::size_t>(rack_of_node_[static_cast<std::size_t>(node)]); };
  std::vector<int> in_rack(nodes_of_rack_.size());
  for (const int node : found) ++in_rack[rack(node)];
  // The racks with enough of them before the others, of those the one with the fewest; else the one with the most.
  const auto before = [&](std::size_t a, std::size_t b) {
    const bool a_does = in_rack[a] >= nodes, b_does = in_rack[b] >= nodes;
    if (a_does != b_does) return a_does;
    if (in_rack[a] != in_rack[b]) return a_does ? in_rack[a] < in_rack[b] : in_rack[a] > in_rack[b];
    return a < b;
  };
  std::stable_sort(found.begin(), found.end(), [&](int a, int b) { return rack(a) != rack(b) && before(rack(a), rack(b)); });
  return found;
}

void Nodes::take_even(Placement placement, int nodes, int devices, std::vector<NodeShare>& out) {
  check(nodes_with(devices) >= nodes, "more nodes are taken than have so many devices free");
  const bool by_bucket = placement == Placement::consolidated || placement == Placement::best_fit;
  if (!by_bucket) {
    const std::vector<int> found = even_nodes(placement, nodes, devices);
    for (std::size_t n = 0; n < static_cast<std::size_t>(nodes); ++n) {
      change(found[n], -devices);
      out.push_back({found[n], devices});
    }
    return;
  }
  // A node that was taken falls into a bucket that has been passed.
  int left = nodes;
  for (int bucket = devices; left > 0; ++bucket)
    for (const IndexSet& at = with_free_[static_cast<std::size_t>(bucket)]; left > 0 && !at.empty(); --left) {
      const int node = at.smallest();
      change(node, -devices);
      out.push_back({node, devices});
    }
}

int Nodes::nodes_with(int free_devices) const {
  int nodes = 0;
  for (int free = free_devices; free <= per_node_; ++free) nodes += count_[static_cast<std::size_t>(free)];
  return nodes;
}

bool Nodes::has_room_for(const Group& group) const {
  return group.workers <= free_total_ && (group.nodes == 0 || nodes_with(group.workers_per_node()) >= group.nodes);
}

bool Nodes::has_node_with(int free_devices) const {
  for (int bucket = free_devices; bucket <= per_node_; ++bucket)
    if (!with_free_[static_cast<std::size_t>(bucket)].empty()) return true;
  return false;
}

int Nodes::unusable_for(int devices) const {
  const int wanted = std::min(devices, per_node_);
  int unusable = 0;
  for (int free = 1; free < wanted; ++free) unusable += free * count_[static_cast<std::size_t>(free)];
  return unusable;
}

void Nodes::take(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) change(share.node, -share.devices);
}

void Nodes::give_back(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) change(share.node, share.devices);
}

}  // namespace rehearse::sim
