#include "sim/nodes/autoscaler.hpp"

#include "sim/base/errors.hpp"

namespace rehearse::sim {

Autoscaler::Autoscaler(const Pool& pool) : rules_(*pool.autoscale), nodes_(static_cast<std::size_t>(pool.nodes)) {
  up_ = rules_.min_nodes;
  for (int node = 0; node < rules_.min_nodes; ++node) nodes_[static_cast<std::size_t>(node)].up = true;
}

double Autoscaler::next_release_s() {
  while (!releases_.empty()) {
    const Release& next = releases_.top();
    if (nodes_[static_cast<std::size_t>(next.node)].idle_until_s == next.date_s) return next.date_s;
    releases_.pop();
  }
  return kNever;
}

void Autoscaler::release() {
  check(next_release_s() != kNever, "a node that nobody holds is let go");
  Node& node = nodes_[static_cast<std::size_t>(releases_.top().node)];
  releases_.pop();
  node.up = false;
  node.idle_until_s = kNever;
  --up_;
}

int Autoscaler::take(std::span<const NodeShare> shares) {
  int boots = 0;
  for (const NodeShare& share : shares) {
    Node& node = nodes_[static_cast<std::size_t>(share.node)];
    boots += !node.up;
    node.up = true;
    node.held += share.devices;
    node.idle_until_s = kNever;
  }
  up_ += boots;
  return boots;
}

void Autoscaler::give_back(double now_s, std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) {
    Node& node = nodes_[static_cast<std::size_t>(share.node)];
    node.held -= share.devices;
    check(node.held >= 0, "a node's devices are given back twice", now_s);
    if (node.held > 0 || share.node < rules_.min_nodes) continue;
    node.idle_until_s = now_s + rules_.idle_s;
    releases_.push({node.idle_until_s, share.node});
  }
}

void Autoscaler::lose(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  check(node.held == 0, "a node that is held goes away");
  up_ -= node.up;
  node.up = false;
  node.idle_until_s = kNever;
}

void Autoscaler::replace(int index) {
  if (index >= rules_.min_nodes) return;  // it boots when a job takes it
  nodes_[static_cast<std::size_t>(index)].up = true;
  ++up_;
}

}  // namespace rehearse::sim
