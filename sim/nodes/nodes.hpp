// Which devices of a pool are free: nodes indexed by how many of their devices are, so that placing needs no scan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/jobs/configuration.hpp"

namespace rehearse::sim {

/// A set of small numbers with the smallest in O(log64 n): a bit tree.
class IndexSet {
 public:
  explicit IndexSet(int capacity);  ///< for 0 <= index < capacity; capacity > 0
  void insert(int index);
  void erase(int index);
  bool empty() const { return levels_.back()[0] == 0; }
  /// The set must not be empty.
  int smallest() const;

 private:
  std::vector<std::vector<std::uint64_t>> levels_;  // level 0 has a bit an index; a bit above says that a word below is not 0
};

/// The nodes of one pool and their free devices.
class Nodes {
 public:
  /// `rack_of_node`: of each node, any numbers; empty: all are in one rack.
  Nodes(int nodes, int devices_per_node, const std::vector<int>& rack_of_node = {});
  int devices_per_node() const { return per_node_; }
  int capacity() const { return static_cast<int>(free_.size()) * per_node_; }
  int free_devices() const { return free_total_; }
  int node_count() const { return static_cast<int>(free_.size()); }
  int free_on(int node) const { return is_out(node) ? 0 : free_[static_cast<std::size_t>(node)]; }
  /// The node's free devices, and those that come free, can be taken no more, until it is restored. Once for each withdrawal.
  void withdraw(int node);
  void restore(int node);
  bool is_out(int node) const { return !withdrawn_.empty() && withdrawn_[static_cast<std::size_t>(node)] > 0; }
  int nodes_out() const { return nodes_out_; }
  /// How many nodes have so many devices free, or more?
  int nodes_with(int free_devices) const;
  /// Are the group's workers free now, where it names a number of nodes on so many of them?
  bool has_room_for(const Group& group) const;
  /// Does some node have so many devices free?
  bool has_node_with(int free_devices) const;
  /// Takes `devices` on the fewest nodes: the emptiest first, the rest on the fullest node that holds it; ties to the lowest
  /// index. There must be so many free.
  void take_consolidated(int devices, std::vector<NodeShare>& out);
  /// Takes `devices` as `placement` says; ties to the lowest index. There must be so many free.
  void take(Placement placement, int devices, std::vector<NodeShare>& out);
  /// Takes the group's devices, for which there must be room. Of a number of nodes: the fullest that have enough; with `spread`
  /// the emptiest; with `network_aware` of one rack, if one has enough of them. Ties to the lowest index.
  void take(Placement placement, const Group& group, std::vector<NodeShare>& out);
  /// Takes exactly these; the devices must be free.
  void take(std::span<const NodeShare> shares);
  /// Free devices on nodes that have fewer free than a job of so many workers takes of each whole node it is on, or of the one
  /// that holds all of it. The fragmentation measure of Weng et al., USENIX ATC 2023, section 3, for one kind of job.
  int unusable_for(int devices) const;
  void give_back(std::span<const NodeShare> shares);
  /// The fewest nodes that hold so many devices in an empty pool.
  int nodes_for(int devices) const { return (devices + per_node_ - 1) / per_node_; }

 private:
  void take_best_fit(int devices, std::vector<NodeShare>& out);
  void take_spread(int devices, std::vector<NodeShare>& out);
  void take_network_aware(int devices, std::vector<NodeShare>& out);
  void take_even(Placement placement, int nodes, int devices, std::vector<NodeShare>& out);
  std::vector<int> even_nodes(Placement placement, int nodes, int devices) const;
  int take_from_rack(int rack, int devices, std::vector<NodeShare>& out);
  int best_rack(int devices) const;
  void change(int node, int delta);
  void count_free(int node, int delta);
  int per_node_;
  int free_total_;
  std::vector<int> free_;
  std::vector<int> withdrawn_;  // how often; empty while none ever was
  int nodes_out_ = 0;
  std::vector<IndexSet> with_free_;  // [f]: nodes with f free devices that are not out
  std::vector<int> count_;           // [f]: how many of them
  std::vector<int> rack_of_node_;    // from 0; empty: all are in one
  std::vector<std::vector<int>> nodes_of_rack_;
  std::vector<int> free_in_rack_;  // devices, of nodes that are not out
};

}  // namespace rehearse::sim
