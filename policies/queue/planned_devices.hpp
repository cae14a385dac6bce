// The devices of a pool as disciplines plan them: how many are free over the time to come, and which, by their numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

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

 private:
  std::size_t step_at(double date_s) const;
  std::size_t cut(double date_s);
  void join(std::size_t step);
  // Of each step. Apart, as the search looks for free devices first.
  std::vector<double> begins_s_{0};
  std::vector<int> free_{0};  // until the next step begins; of the last for ever
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
