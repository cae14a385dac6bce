// The devices of a pool as disciplines plan them: how many are free over the time to come, and which, by their numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/nodes/nodes.hpp"

namespace rehearse::policies {

// The free devices of a pool over the time to come, as far as it is planned: a step function, from which reservations are taken.

class Availability {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// What a reservation must have.
  struct Need {
    double for_s = 0;
    int devices = 0;
    double has_from_s = kInfinity;  ///< a reservation that it has already, at least as long: it may run on into that
  };

  /// From `now_s` on so many are free; what was planned is forgotten.
  void reset(double now_s, int free);
  /// Forgets what lies before.
  void advance(double now_s);
  int free_now() const { return free_.front(); }
  /// `devices` more (or fewer) from one date to another, which may be infinite. Dates before the last `advance` count from there.
  void add(double from_s, double to_s, int devices);
  /// The first date, from `from_s` on and before `before_s`, at which so many are free for so long; infinite when there is none.
  double earliest(double from_s, const Need& need, double before_s = kInfinity) const;
  /// The fewest that are free at any moment of so long a time.
  int fewest(double from_s, double for_s) const;
  /// The first date after this one at which another number is free; infinite when there is none.
  double changes_after(double date_s) const;

 private:
  std::size_t step_at(double date_s) const;
  std::size_t cut(double date_s);
  void join(std::size_t step);
  // Of each step. Apart, as the search looks for free devices first.
  std::vector<double> begins_s_{0};
  std::vector<int> free_{0};  // until the next step begins; of the last for ever
};

// The same by node: how many devices of each of a pool's nodes are free over the time to come.

class NodeAvailability {
 public:
  struct Found {
    double start_s = Availability::kInfinity;
    std::vector<sim::NodeShare> nodes = {};
  };

  /// From `now_s` on so many are free, by node; what was planned is forgotten.
  void reset(double now_s, const std::vector<int>& free);
  void advance(double now_s);
  int free_now(int node) const { return of_node_[static_cast<std::size_t>(node)].free_now(); }
  /// More of these devices from one date to another; fewer with `sign` -1.
  void add(double from_s, double to_s, std::span<const sim::NodeShare> shares, int sign);
  /// The first date, from `from_s` on and before `before_s`, at which there is room for the group for so long, and on which
  /// nodes: the fullest that have enough free all the time, ties to the lowest index. Infinite when there is none.
  Found earliest(double from_s, double for_s, const sim::Group& group, double before_s = Availability::kInfinity) const;

 private:
  double next_start_s(double date_s, double for_s, const sim::Group& group) const;
  std::vector<sim::NodeShare> even(double start_s, double for_s, const sim::Group& group) const;
  std::vector<sim::NodeShare> any(double start_s, double for_s, int devices) const;
  std::vector<Availability> of_node_;
};

// A pool's devices over the time to come, counted or by node, as a plan has them.

/// Devices of a pool from one date to another.
struct Booking {
  double start_s = Availability::kInfinity;
  double end_s = Availability::kInfinity;
  int devices = 0;
  std::vector<sim::NodeShare> nodes = {};  ///< by node: where they are
};

class PoolAvailability {
 public:
  bool is_by_node() const { return is_by_node_; }
  /// From `now_s` on as many are free as `free` says; with `nodes` as on these, by node. What was planned is forgotten.
  void reset(double now_s, int free, const sim::Nodes* nodes);
  void advance(double now_s);
  /// Are those devices free now, once what is booked from now on is counted as free?
  bool is_free_now(int free, const sim::Nodes* nodes, std::span<const Booking* const> due) const;
  /// The booking's devices are free then, or with `sign` -1 not any more.
  void add(const Booking& booking, int sign);
  /// The first date, from `from_s` on, at which a device may be free.
  double first_free_s(double from_s) const;
  /// Room for the group for so long from the first date on, from `from_s` and before `before_s`; its start is infinite when there
  /// is none. It may run on into `own`, which is booked.
  Booking find(double from_s, double for_s, const sim::Group& group, double before_s = Availability::kInfinity,
               const Booking* own = nullptr);
  /// Books what it finds, instead of the booking where that has a start; false when it finds nothing.
  bool book(double from_s, double for_s, const sim::Group& group, double before_s, Booking& booking);

 private:
  Availability counted_;
  NodeAvailability by_node_;
  bool is_by_node_ = false;
};

// Which devices of a pool, by their numbers: for disciplines that plan on devices that they can tell apart.

/// Devices of a pool, numbered in a row: a set of numbers.
class DeviceRow {
 public:
  void insert(std::size_t device);
  void erase(std::size_t device);
  bool has(std::size_t device) const { return device / 64 < words_.size() && (words_[device / 64] >> (device % 64) & 1) != 0; }
  int count() const;
  bool meets(const DeviceRow& other) const;
  void add(const DeviceRow& other);
  void remove(const DeviceRow& other);
  DeviceRow both(const DeviceRow& other) const;
  /// So many of them: the shortest stretch of neighbours that is long enough, else the longest and so on (select/cons_tres
  /// without a topology). There must be as many.
  DeviceRow neighbours(int wanted) const;
  /// The devices that the group gets of them: neighbours; where it needs a number of nodes, the first of each of those that have
  /// enough, the fullest first. A node is `per_node` devices in a row. None when there is no room.
  std::optional<DeviceRow> room_for(const sim::Group& group, int per_node) const;
  /// How many there are on each node.
  std::vector<sim::NodeShare> by_node(int per_node) const;
  /// Calls `visit(device)` for each of them, by number.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
        visit(64 * w + static_cast<std::size_t>(std::countr_zero(left)));
  }

 private:
  std::vector<std::uint64_t> words_;
};

// What plans have promised, when and on which devices.

struct Reservation {
  double start_s, end_s;
  DeviceRow devices;
};

/// Of one pool; no reservation ends before it starts.
class Reservations {
 public:
  void add(Reservation reservation);
  const std::vector<Reservation>& all() const { return all_; }

 private:
  friend class UnreservedDevices;
  std::vector<Reservation> all_;
  std::vector<std::size_t> by_start_, by_end_;  // of all_, in order of these dates
};

/// The devices of a set that nobody has reserved at any moment from a date until so long after it, both included, but not those
/// whose reservation ends at that date; while the date moves to later ones. All moves together look at each reservation twice.
/// All of the set until the first move.
class UnreservedDevices {
 public:
  /// `for_s` at least 0.
  UnreservedDevices(const Reservations& reserved, DeviceRow of, double for_s)
      : reserved_(reserved), for_s_(for_s), of_(std::move(of)), devices_(of_), count_(of_.count()) {}
  /// Not to an earlier date.
  void move_to(double from_s);
  const DeviceRow& devices() const { return devices_; }
  int count() const { return count_; }
  /// The first date after this one at which a reservation starts or ends; infinite: none.
  double next_s() const;

 private:
  const Reservations& reserved_;
  double for_s_;
  DeviceRow of_, devices_;
  int count_;
  std::vector<int> times_;                               // by device: how many reservations of the window hold it
  std::size_t entered_ = 0, left_ = 0, next_start_ = 0;  // of by_start_, of by_end_, of by_start_: the first after the date
};

}  // namespace rehearse::policies
