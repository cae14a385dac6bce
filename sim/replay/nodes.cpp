#include "sim/replay/nodes.hpp"

#include <bit>

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

Nodes::Nodes(int nodes, int devices_per_node)
    : per_node_(devices_per_node),
      free_total_(nodes * devices_per_node),
      free_(static_cast<std::size_t>(nodes), devices_per_node) {
  for (int f = 0; f <= devices_per_node; ++f) with_free_.emplace_back(nodes);
  for (int node = 0; node < nodes; ++node) with_free_[static_cast<std::size_t>(devices_per_node)].insert(node);
}

void Nodes::change(int node, int delta) {
  int& free = free_[static_cast<std::size_t>(node)];
  check(free + delta >= 0 && free + delta <= per_node_, "a node's devices are taken or given back twice");
  if (is_out(node)) {
    free += delta;
    return;
  }
  with_free_[static_cast<std::size_t>(free)].erase(node);
  free += delta;
  free_total_ += delta;
  with_free_[static_cast<std::size_t>(free)].insert(node);
}

void Nodes::withdraw(int node) {
  if (withdrawn_.empty()) withdrawn_.resize(free_.size(), 0);
  if (withdrawn_[static_cast<std::size_t>(node)]++ > 0) return;
  const int free = free_[static_cast<std::size_t>(node)];
  with_free_[static_cast<std::size_t>(free)].erase(node);
  free_total_ -= free;
  ++nodes_out_;
}

void Nodes::restore(int node) {
  check(is_out(node), "a node is restored that is not out");
  if (--withdrawn_[static_cast<std::size_t>(node)] > 0) return;
  const int free = free_[static_cast<std::size_t>(node)];
  with_free_[static_cast<std::size_t>(free)].insert(node);
  free_total_ += free;
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

void Nodes::take(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) change(share.node, -share.devices);
}

void Nodes::give_back(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) change(share.node, share.devices);
}

}  // namespace rehearse::sim
