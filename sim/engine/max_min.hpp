// Max-min fair rates of flows over shared links by progressive filling (Bertsekas and Gallager, Data Networks, 1992, section
// 6.5.2), again only for the connected component that changed. Flows over the same links are one group with one rate.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rehearse::sim {

class MaxMin {
 public:
  /// Capacities must be positive and finite; any unit, which is then the rates'.
  explicit MaxMin(std::span<const double> capacities);

  /// A group without flows. Each link at most once, and one at least if it is ever to have flows; none gets more than `cap`.
  int add_group(std::span<const std::int32_t> links, double cap = std::numeric_limits<double>::infinity());
  /// The group of number `group`, which must be without flows and have as many links, goes over these from now on.
  void change_group(int group, std::span<const std::int32_t> links, double cap);
  /// Changes the number of the group's flows; rates are those of the last solve() until the next.
  void set_flows(int group, int flows);
  int flows(int group) const { return groups_[group].flows; }
  /// The groups with flows whose rates may have changed, in a reproducible order; good until the next call.
  std::span<const std::int32_t> solve();
  /// Of one flow of a group that has some.
  double rate(int group) const { return groups_[group].rate; }
  /// No flows anywhere.
  void clear();

 private:
  struct Group {
    std::int32_t first = 0, end = 0;  // its places: one on each of its links
    std::int32_t flows = 0;
    std::int32_t position = 0;         // in active_, when it has flows
    std::uint32_t met = 0, fixed = 0;  // the solve in which it was met, and got its rate
    double cap = 0, rate = 0;
  };
  struct Load {
    double left = 0, open = 0;  // open: flows that have no rate yet
  };
  void join(int group);
  void leave(int group);
  void meet(int link);
  void take_all();
  void give_alone();
  void gather();
  void fill();
  void sort_capped();
  int narrowest();
  void fix(Group& group, double rate);
  bool fix_capped(double share);

  std::vector<Group> groups_;
  std::vector<std::int32_t> active_;                                  // groups with flows
  std::vector<std::int32_t> place_link_, place_group_, place_index_;  // place_index_: in its link's on_link_
  std::vector<double> capacity_, flows_;                              // of each link
  std::vector<Load> load_;
  std::vector<std::uint32_t> met_;  // of each link: the solve in which it was met
  std::vector<char> is_dirty_;
  std::vector<std::vector<std::int32_t>> on_link_;  // places of groups with flows
  std::vector<std::int32_t> dirty_, component_links_, component_groups_, capped_;
  int caps_ = 0;                          // groups that have one
  int links_left_ = 0, groups_left_ = 0;  // of the component: with open flows, without a rate
  std::uint32_t solve_ = 0;
};

}  // namespace rehearse::sim
